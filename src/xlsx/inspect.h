// Says everything that is wrong with a workbook, one sentence each: package, content types,
// relationships, schema, limits, cells. For people and scripts; imports use the Reader.

#ifndef WAYBILL_XLSX_INSPECT_H_
#define WAYBILL_XLSX_INSPECT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "xlsx/random_read.h"
#include "xlsx/reader.h"

namespace waybill::xlsx {

inline constexpr std::size_t kMaxFindings = 100;

struct InspectedSheet {
  std::string name;
  std::int64_t rows = 0;   // with a cell
  std::int64_t cells = 0;  // that are not empty
};

struct Inspection {
  std::vector<InspectedSheet> sheets;
  std::vector<std::string> findings;  // none: nothing is wrong; at most kMaxFindings
  std::int64_t left_out = 0;          // findings beyond that
};

// Bounded as the Reader is. A file that cannot be opened at all has one finding and no sheets. An
// error only where the source or the temporary file fails.
base::Result<Inspection> inspect_workbook(std::uint64_t size, const RandomRead& read,
                                          const ReaderOptions& options = {});

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_INSPECT_H_
