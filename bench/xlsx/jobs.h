// The jobs of the spreadsheet benchmark. Row i of a job is a pure function of i, so every program,
// in whatever language, can work on the same data; `orders` is the job that the peers know.

#ifndef WAYBILL_BENCH_XLSX_JOBS_H_
#define WAYBILL_BENCH_XLSX_JOBS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "xlsx/writer.h"

namespace waybill::bench {

enum class Shape : std::uint8_t {
  kOrders,    // 20 columns of all types
  kWide,      // five orders a row: 100 columns
  kNarrow,    // one column of different texts
  kRepeated,  // 20 columns of texts that all repeat
  kUnique,    // 20 columns of texts that never repeat
  kPool,      // 20 columns of texts that come eight times each: they fill every budget
};

std::optional<Shape> shape_of(std::string_view name);
// How many rows make four million cells (of the narrow one: a million).
std::int64_t default_rows(Shape shape);
std::vector<xlsx::Column> columns_of(Shape shape);

// The rows of a job. Not thread-safe.
class Rows {
 public:
  explicit Rows(Shape shape);
  // Row `i` as typed cells, valid until the next call.
  std::span<const xlsx::CellValue> cells(std::int64_t i);
  // The same as a JSON object, appended to `out`.
  void append_json(std::string& out, std::int64_t i);

 private:
  const Shape shape_;
  const std::vector<xlsx::Column> columns_;
  std::vector<xlsx::CellValue> cells_;
  std::vector<std::string> texts_;
};

}  // namespace waybill::bench

#endif  // WAYBILL_BENCH_XLSX_JOBS_H_
