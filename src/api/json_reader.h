// Reads one small JSON object from outside, strictly: valid UTF-8, no key twice at any depth, no
// number that would lose digits, nothing after the end.

#ifndef WAYBILL_API_JSON_READER_H_
#define WAYBILL_API_JSON_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace waybill::api {

enum class JsonKind : std::uint8_t { kNull, kBool, kInteger, kNumber, kString, kArray, kObject };

struct JsonField {
  std::string key;
  JsonKind kind = JsonKind::kNull;
  std::string text;  // a string's characters; of everything else its JSON text, without blanks
};

inline constexpr std::size_t kMaxJsonDepth = 16;

// The fields in their order. kInvalid with code BAD_REQUEST; its message never repeats the input's
// values.
base::Result<std::vector<JsonField>> read_json_object(std::string_view text);
// An array of strings. kInvalid when it is anything else.
base::Result<std::vector<std::string>> read_json_strings(std::string_view text);

const JsonField* find_field(const std::vector<JsonField>& fields, std::string_view key);

}  // namespace waybill::api

#endif  // WAYBILL_API_JSON_READER_H_
