// Proves a finished package before it becomes visible: central directory against local headers, CRC
// of every part by inflating it, and the number of rows of every sheet. Independent of the writer's
// own bookkeeping; bounded memory.

#ifndef WAYBILL_XLSX_VERIFY_H_
#define WAYBILL_XLSX_VERIFY_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "xlsx/random_read.h"

namespace waybill::xlsx {

struct Verified {
  std::vector<std::int64_t> rows_per_sheet;  // <row> elements, header included
};

// kUnavailable with the reason when the package of `size` bytes is not whole: never publish such a
// file, try again.
base::Result<Verified> verify_package(std::uint64_t size, const RandomRead& read);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_VERIFY_H_
