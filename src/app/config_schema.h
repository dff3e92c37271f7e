// Every configuration key of the server in one table: path, type, default, unit, limits, meaning.
// Loading, checking, `config show`, the environment's names and docs/configuration.md are all made
// from it, so a key cannot exist in one of them and not in the others.

#ifndef WAYBILL_APP_CONFIG_SCHEMA_H_
#define WAYBILL_APP_CONFIG_SCHEMA_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waybill::app {

enum class KeyType : std::uint8_t { kBool, kInteger, kNumber, kNumberList, kText, kTextList };

// What a text has to look like beyond being text.
enum class KeyFormat : std::uint8_t {
  kPlain,
  kListen,       // "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:0"
  kHttpUrl,      // "http://host[:port][/path]"
  kDatabaseUrl,  // "sqlite:/path/to/waybill.db"
  kPath,    // relative to the configuration file's folder when it stands there, else to the working
            // folder
  kSecret,  // never shown
  kTimeZone,  // an IANA name
};

struct KeySpec {
  const char* path = "";  // "publisher.poll_seconds"; '*' stands for a name: "lanes.*.workers"
  KeyType type = KeyType::kText;
  // The default as text, items of a list separated by commas; null = none.
  const char* fallback = nullptr;
  const char* unit = "";  // "s", "min", "h", "days", "MiB", "rows", "1/s", ...
  double min = 0;         // of numbers and of each item
  double max = 0;
  const char* choices = "";  // closed set of words, separated by '|'; empty = any
  KeyFormat format = KeyFormat::kPlain;
  const char* description = "";
};

// In the order of the documentation: keys of one section stand together.
std::span<const KeySpec> config_schema();

// The spec whose path matches, '*' standing for any one segment. Null when there is none.
const KeySpec* find_key(std::string_view path);
// True when `path` is a proper prefix of some key: a section ("publisher", "lanes",
// "lanes.export").
bool is_section(std::string_view path);
// The documented key nearest to a misspelt one, empty when none is near.
std::string nearest_key(std::string_view path);

// "publisher.poll_seconds" -> "WAYBILL_PUBLISHER_POLL_SECONDS"; "lanes.*.workers" ->
// "WAYBILL_LANES_NAME_WORKERS".
std::string environment_name(std::string_view path);

// docs/configuration.md, made from the table.
std::string configuration_document();

inline constexpr std::size_t kMaxConfigBytes = 1u << 20;  // of the file
inline constexpr std::size_t kMaxConfigNames = 200;  // of one section of names (services, lanes)
inline constexpr std::size_t kMaxNameLength = 32;    // characters of such a name
inline constexpr std::size_t kMaxListItems = 32;
inline constexpr std::size_t kMaxTextLength = 4'096;  // bytes of one text

}  // namespace waybill::app

#endif  // WAYBILL_APP_CONFIG_SCHEMA_H_
