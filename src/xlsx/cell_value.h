// What the parts of a <c> element mean.

#ifndef WAYBILL_XLSX_CELL_VALUE_H_
#define WAYBILL_XLSX_CELL_VALUE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "xlsx/number_format.h"
#include "xlsx/reader.h"

namespace waybill::xlsx {

// The t attribute (ECMA-376 18.18.11).
enum class CellType : std::uint8_t {
  kNumber,
  kSharedString,
  kFormulaString,
  kInlineString,
  kBoolean,
  kError,
  kIsoDate,
  kUnknown,
};
CellType cell_type(std::string_view t);

// xsd:double without NaN and infinities, no blanks. Nothing for other text and for a number that no
// double holds.
std::optional<double> parse_double(std::string_view text);

// Sets kind, number, date and truth of `cell` from the text of its <v>, blanks around it removed,
// not empty. `text` of the cell becomes a view of `value` for numbers and errors, and a sentence
// with static storage for faults.
void set_number(Cell& cell, std::string_view value, NumberClass number_class, bool date_1904);
void set_boolean(Cell& cell, std::string_view value);
void set_iso_date(Cell& cell, std::string_view value);
void set_error(Cell& cell, std::string_view value);
// `why` must have static storage.
void set_fault(Cell& cell, std::string_view why);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_CELL_VALUE_H_
