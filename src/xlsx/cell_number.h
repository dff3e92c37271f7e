// Numbers as text: which may become number cells. A spreadsheet keeps 15 significant digits; what
// would lose any goes out as text with every digit. No locale, no double unless a value needs one.

#ifndef WAYBILL_XLSX_CELL_NUMBER_H_
#define WAYBILL_XLSX_CELL_NUMBER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace waybill::xlsx {

inline constexpr int kSignificantDigits = 15;

// What the grammar of a JSON number (RFC 8259 §6) says about a token, without converting it.
struct NumberScan {
  bool valid = false;
  bool plain = false;     // no fraction and no exponent
  bool exponent = false;  // has one
  bool zero = false;
  int highest = 0;  // power of ten of the first digit that is not 0
  int lowest = 0;   // of the last one
};
NumberScan scan_number(std::string_view token);

enum class NumberKind : std::uint8_t {
  kNumber,   // a number cell
  kTooLong,  // a value whose digits a spreadsheet would not keep: text
  kInvalid,  // not of this type: text
};

struct NumberCell {
  NumberKind kind = NumberKind::kInvalid;
  // What to write; views into the token or into the scratch. kNumber: an xsd:double. Never E
  // notation for kTooLong.
  std::string_view text;
};

// INTEGER: 1, "1", 1.0 and 1e3 are integers; more than 15 digits are kTooLong; 1.5 is kInvalid.
NumberCell integer_cell(std::string_view token, std::string& scratch);

// DECIMAL: at most 15 significant digits (zeros around them do not count) inside the normal range
// of a double. `from_number`: the page had it unquoted, so 16 or 17 digits are a number too if they
// are exactly those that a double prints.
NumberCell decimal_cell(std::string_view token, bool from_number, std::string& scratch);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_CELL_NUMBER_H_
