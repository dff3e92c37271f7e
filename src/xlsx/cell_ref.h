// Cell references such as "B7".

#ifndef WAYBILL_XLSX_CELL_REF_H_
#define WAYBILL_XLSX_CELL_REF_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace waybill::xlsx {

struct CellRef {
  std::size_t column = 0;  // 0 = A
  std::int64_t row = 0;    // from 1
};

// Letters of either case, then digits without leading zero, inside A1..XFD1048576. Nothing for any
// other text.
std::optional<CellRef> parse_cell_ref(std::string_view text);

// "1".."1048576".
std::optional<std::int64_t> parse_row_number(std::string_view text);

// "B7".
std::string cell_name(std::size_t column, std::int64_t row);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_CELL_REF_H_
