// For tests only: writes a workbook into memory and takes it apart again with a ZIP reader of its
// own (central directory + zlib), so that writer and verifier are not judged by their own code.

#ifndef WAYBILL_XLSX_TEST_PACKAGE_H_
#define WAYBILL_XLSX_TEST_PACKAGE_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "xlsx/verify.h"
#include "xlsx/writer.h"

namespace waybill::xlsx::testing {

struct PackedPart {
  std::string name;
  unsigned local_version = 0;
  unsigned version = 0;
  unsigned flags = 0;
  unsigned method = 0;
  std::string content;
};

inline std::uint64_t little(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(text.at(at + i));
  return value;
}

inline std::string inflate_raw(std::string_view packed, std::size_t size) {
  std::string out(size + 1, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, -MAX_WBITS), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

// Parts in the order of the directory. Packages without ZIP64 records.
inline std::vector<PackedPart> unpack(std::string_view package) {
  std::vector<PackedPart> parts;
  const std::size_t end = package.size() - 22;
  EXPECT_EQ(little(package, end, 4), 0x06054b50u);
  const std::size_t count = little(package, end + 10, 2);
  std::size_t at = little(package, end + 16, 4);
  for (std::size_t i = 0; i < count; ++i) {
    PackedPart part;
    EXPECT_EQ(little(package, at, 4), 0x02014b50u);
    part.version = static_cast<unsigned>(little(package, at + 6, 2));
    part.flags = static_cast<unsigned>(little(package, at + 8, 2));
    part.method = static_cast<unsigned>(little(package, at + 10, 2));
    const std::size_t packed = little(package, at + 20, 4);
    const std::size_t size = little(package, at + 24, 4);
    const std::size_t name = little(package, at + 28, 2);
    const std::size_t local = little(package, at + 42, 4);
    part.name = package.substr(at + 46, name);
    part.local_version = static_cast<unsigned>(little(package, local + 4, 2));
    const std::size_t content =
        local + 30 + little(package, local + 26, 2) + little(package, local + 28, 2);
    const std::string_view bytes = package.substr(content, packed);
    part.content = part.method == 8 ? inflate_raw(bytes, size) : std::string(bytes);
    EXPECT_EQ(part.content.size(), size) << part.name;
    EXPECT_EQ(
        ::crc32(0, reinterpret_cast<const Bytef*>(part.content.data()), static_cast<uInt>(size)),
        little(package, at + 16, 4))
        << part.name;
    at += 46 + name + little(package, at + 30, 2) + little(package, at + 32, 2);
    parts.push_back(std::move(part));
  }
  return parts;
}

inline std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

inline base::Result<Verified> verify(std::string_view package) {
  return verify_package(
      package.size(),
      [package](std::uint64_t offset, std::span<char> buffer) -> base::Result<std::size_t> {
        const std::string_view from = package.substr(offset, buffer.size());
        std::memcpy(buffer.data(), from.data(), from.size());
        return from.size();
      });
}

// A finished workbook and what to ask it.
struct Book {
  std::string package;
  WriterReport report;
  std::map<std::string, std::string> parts;

  [[nodiscard]] std::string sheet(int number = 1) const {
    const auto found = parts.find("xl/worksheets/sheet" + std::to_string(number) + ".xml");
    return found == parts.end() ? "" : found->second;
  }
  // The whole <c> element of a cell, "" when there is none.
  [[nodiscard]] std::string cell(std::string_view ref, int number = 1) const {
    const std::string xml = sheet(number);
    const std::size_t at = xml.find("<c r=\"" + std::string(ref) + "\"");
    if (at == std::string::npos) return "";
    const std::size_t tag_end = xml.find('>', at);
    if (xml[tag_end - 1] == '/') return xml.substr(at, tag_end + 1 - at);
    return xml.substr(at, xml.find("</c>", at) + 4 - at);
  }
  [[nodiscard]] std::string attribute(std::string_view ref, std::string_view name,
                                      int number = 1) const {
    const std::string xml = cell(ref, number);
    const std::string tag = xml.substr(0, xml.find('>'));
    const std::string key = " " + std::string(name) + "=\"";
    const std::size_t at = tag.find(key);
    if (at == std::string::npos) return "";
    return tag.substr(at + key.size(), tag.find('"', at + key.size()) - at - key.size());
  }
  [[nodiscard]] std::string style(std::string_view ref, int number = 1) const {
    const std::string s = attribute(ref, "s", number);
    return s.empty() ? "0" : s;
  }
  // The number of a cell without type, "" otherwise.
  [[nodiscard]] std::string number(std::string_view ref, int sheet_number = 1) const {
    return attribute(ref, "t", sheet_number).empty()
               ? between(cell(ref, sheet_number), "<v>", "</v>")
               : "";
  }
  // The <t> element of a text cell, wherever it is stored; "" for other cells.
  [[nodiscard]] std::string text_element(std::string_view ref, int number = 1) const {
    const std::string type = attribute(ref, "t", number);
    if (type == "inlineStr") return between(cell(ref, number), "<is>", "</is>");
    if (type != "s") return "";
    const auto found = parts.find("xl/sharedStrings.xml");
    if (found == parts.end()) return "";
    std::size_t at = found->second.find("<si>");
    for (int index = std::stoi(between(cell(ref, number), "<v>", "</v>")); index > 0; --index) {
      at = found->second.find("<si>", at + 1);
    }
    return between(std::string_view(found->second).substr(at), "<si>", "</si>");
  }
  // The text as it stands in the XML, escapes and all.
  [[nodiscard]] std::string raw_text(std::string_view ref, int number = 1) const {
    const std::string element = text_element(ref, number);
    return element.empty() ? "" : between(element.substr(element.find('>')), ">", "</t>");
  }

  static std::string between(std::string_view text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    if (at == std::string_view::npos) return "";
    const std::size_t start = at + from.size();
    return std::string(text.substr(start, text.find(to, start) - start));
  }
};

inline ByteSink into(std::string& package) {
  return [&package](std::string_view bytes) {
    package += bytes;
    return base::Status();
  };
}

// Writes `pages` (JSON arrays) and proves the package.
inline Book write_book(const std::vector<Column>& columns, const std::vector<std::string>& pages,
                       const WriterOptions& options = {}) {
  Book book;
  auto writer = Writer::open(columns, options, into(book.package));
  EXPECT_TRUE(writer.ok());
  for (const std::string& page : pages) {
    const auto appended = (*writer)->append_json_rows(page);
    EXPECT_TRUE(appended.ok()) << (appended.ok() ? "" : appended.error().message);
    if (!appended.ok()) return book;
  }
  auto report = (*writer)->close();
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  if (!report.ok()) return book;
  book.report = *report;
  EXPECT_EQ(book.report.bytes, book.package.size());
  for (PackedPart& part : unpack(book.package)) book.parts[part.name] = std::move(part.content);
  const auto verified = verify(book.package);
  EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : verified.error().message);
  if (!verified.ok()) return book;
  EXPECT_EQ(verified->rows_per_sheet.size(), book.report.rows_per_sheet.size());
  for (std::size_t i = 0; i < verified->rows_per_sheet.size(); ++i) {
    EXPECT_EQ(verified->rows_per_sheet[i], book.report.rows_per_sheet[i] + 1);
  }
  return book;
}

// One column "v" of a type; one row per JSON value.
inline Book write_values(ColumnType type, const std::vector<std::string>& values,
                         const WriterOptions& options = {}) {
  std::string page = "[";
  for (const std::string& value : values)
    page += (page.size() > 1 ? ",{\"v\":" : "{\"v\":") + value + "}";
  return write_book({{"v", "Value", type, 0}}, {page + "]"}, options);
}

}  // namespace waybill::xlsx::testing

#endif  // WAYBILL_XLSX_TEST_PACKAGE_H_
