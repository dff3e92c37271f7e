#include "app/database.h"

#include <array>
#include <fstream>

#include "base/text.h"
#include "store/sqlite/open.h"

namespace waybill::app {
namespace {

// https://www.sqlite.org/fileformat.html, "The Database Header".
constexpr std::size_t kHeaderBytes = 100;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kPageCountAt = 28;

constexpr std::size_t kShownCause = 200;  // characters
constexpr std::size_t kShownPath = 300;   // characters

struct FileLook {
  bool empty = true;  // or not there, or unreadable: opening it will say so
  bool sqlite = false;
  bool has_tables = false;  // an SQLite file without tables is one page
};

FileLook look_at(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<char, kHeaderBytes> header{};
  in.read(header.data(), header.size());
  FileLook look;
  look.empty = in.gcount() <= 0;
  look.sqlite = in.gcount() == static_cast<std::streamsize>(header.size()) &&
                std::string_view(header.data(), header.size()).starts_with(kMagic);
  std::uint32_t pages = 0;
  for (std::size_t i = 0; i < 4; ++i)
    pages = pages << 8 | static_cast<unsigned char>(header.at(kPageCountAt + i));
  look.has_tables = look.sqlite && pages > 1;
  return look;
}

base::Error wrong_file(std::string message) {
  base::Error error = base::internal(std::move(message));
  error.field = kDatabaseField;
  return error;
}

// The driver adds the whole statement to its message: nobody can read that at a start.
base::Error short_error(base::Error error, const std::string& name) {
  const std::size_t end =
      std::min(error.message.find('\n'), error.message.find(" while preparing"));
  error.message = base::printable(std::string_view(error.message).substr(0, end), kShownCause);
  if (error.message.find("malformed") != std::string::npos ||
      error.message.find("not a database") != std::string::npos) {
    return wrong_file("the database " + name + " is damaged (" + error.message +
                      "): restore it from a backup");
  }
  if (error.message.find(name) != std::string::npos) return error;
  return error.with_context("the database " + name);
}

}  // namespace

base::Result<std::unique_ptr<store::Store>> open_database(const std::string& path,
                                                          const store::Seams& seams) {
  const std::string name = base::printable(path, kShownPath);
  const FileLook look = look_at(path);
  if (!look.empty && !look.sqlite) return wrong_file(name + " is damaged or no SQLite database");
  auto store = store::open_sqlite({.path = path, .serving = true}, seams);
  if (!store.ok()) return short_error(store.error(), name);
  const auto version = (*store)->schema_version();
  if (!version.ok()) return short_error(version.error(), name);
  if (*version == 0 && look.has_tables) return wrong_file(name + " is not a Waybill database");
  // One process serves the file, so bringing the schema up to date disturbs nobody.
  if (const auto migrated = (*store)->migrate(); !migrated.ok())
    return short_error(migrated.error(), name);
  return store;
}

}  // namespace waybill::app
