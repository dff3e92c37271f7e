// JSON text that the parser hands over unread: string escapes, repair of ill-formed UTF-8, nested
// values.
//
// simdjson refuses a lone surrogate escape; a page with one bad name must still become a file, so
// strings are resolved here.

#ifndef WAYBILL_XLSX_JSON_TEXT_H_
#define WAYBILL_XLSX_JSON_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "xlsx/cell_text.h"

namespace waybill::xlsx {

inline constexpr std::size_t kMaxJsonNesting = 256;  // levels inside one cell

struct DecodedString {
  PaddedText text;            // lives in the scratch
  std::int64_t replaced = 0;  // lone surrogates that became U+FFFD
  bool valid = true;          // false: an escape that JSON does not know
};

// Resolves the escapes of `raw`, the inside of a JSON string (UTF-8, quotes left out). Stops after
// about `max_bytes` bytes of result, with whole characters.
DecodedString decode_json_string(std::string_view raw, std::size_t max_bytes, TextScratch& scratch);

// Appends `text` with every ill-formed byte replaced by U+FFFD to `out`; returns how many there
// were.
std::int64_t append_repaired(std::string& out, std::string_view text);

// Checks that `json` is exactly one JSON value, nested at most kMaxJsonNesting deep, and appends it
// without blanks to `out`, up to about `max_bytes` bytes. Scalars and string escapes are copied as
// they are.
bool append_compact_json(std::string_view json, std::size_t max_bytes, std::string& out);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_JSON_TEXT_H_
