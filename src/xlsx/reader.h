// A streaming XLSX reader (ECMA-376, transitional and strict): bytes in, rows out, in bounded
// memory (32 MiB with one sheet open, whatever the file), with no trust in the file. Knows nothing
// of tasks; could be shipped alone. docs/xlsx.md says what it makes of every kind of cell.

#ifndef WAYBILL_XLSX_READER_H_
#define WAYBILL_XLSX_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "xlsx/date_serial.h"
#include "xlsx/random_read.h"

namespace waybill::xlsx {

inline constexpr std::uint64_t kMaxReadPartBytes = 4ull << 30;   // one part, unpacked
inline constexpr std::uint64_t kMaxReadTotalBytes = 8ull << 30;  // all parts that are read
inline constexpr std::uint64_t kMaxReadTempBytes = 1ull << 30;   // strings that do not fit memory
inline constexpr std::size_t kMaxRowTextBytes = 10u
                                                << 20;  // all texts of a row: 100 of the longest

enum class CellKind : std::uint8_t {
  kText,
  kNumber,
  kBoolean,
  kDate,  // a day without a time
  kTime,  // a time of day without a day
  kDateTime,
  kDuration,  // a span of time in days, from formats such as [h]:mm
  kError,     // an error value of the sheet, such as #N/A
  kFault,     // the cell breaks a rule; the rest of the sheet can still be read
};

// A view: valid until the next row is asked for.
struct Cell {
  std::uint32_t column = 0;  // 0 = A
  CellKind kind = CellKind::kText;
  bool truth = false;     // kBoolean
  DateTime date;          // kDate, kTime, kDateTime
  double number = 0;      // kNumber; days for kDuration; the serial of a date stored as one
  std::string_view text;  // kText; the digits of a kNumber as they stand in the file; the name of a
                          // kError; what is wrong with a kFault
};

// Cells in the order of their columns. Empty ones, formatted or not, are left out, and so are rows
// without a cell: `number` counts as the sheet does. A merged area has a value in its first cell
// only.
struct Row {
  std::int64_t number = 0;  // from 1
  std::span<const Cell> cells;
  [[nodiscard]] const Cell* find(std::uint32_t column) const;  // nullptr where it is empty
};

struct SheetInfo {
  std::string name;
  bool visible = true;
};

struct ReaderOptions {
  std::uint64_t max_part_bytes = kMaxReadPartBytes;
  std::uint64_t max_total_bytes = kMaxReadTotalBytes;
  std::uint64_t max_temp_bytes = kMaxReadTempBytes;
  std::string temp_folder = {};  // empty: $TMPDIR, else /tmp
};

// The rows of one sheet. Not thread-safe; stays on one thread.
class SheetRows {
 public:
  virtual ~SheetRows() = default;
  // The next row that has a cell, nullptr behind the last. An error is final: kInvalid (field
  // "file") for a damaged or hostile file, kLimit (fields "part_bytes", "total_bytes", "row_bytes",
  // "text_bytes"), kUnavailable from the temporary file, whatever the source returned.
  virtual base::Result<const Row*> next() = 0;
};

// An open workbook. Not thread-safe; must outlive its SheetRows.
class Reader {
 public:
  // Reads what the package says about itself, no sheet. kInvalid with field "file" and code
  // "XLSX_ENCRYPTED" (a password), "XLSX_NOT_A_WORKBOOK" (named for what it is) or none (damaged);
  // kLimit; an error of the source as it is.
  static base::Result<std::unique_ptr<Reader>> open(std::uint64_t size, RandomRead read,
                                                    ReaderOptions options = {});
  virtual ~Reader() = default;

  // Worksheets in their order; chart sheets, dialogs and macro sheets are left out. At least one.
  [[nodiscard]] virtual const std::vector<SheetInfo>& sheets() const = 0;
  // The first visible one; the first where none is.
  [[nodiscard]] virtual std::size_t default_sheet() const = 0;
  // The first call reads the string table and the styles. REQUIRES: index < sheets().size().
  virtual base::Result<std::unique_ptr<SheetRows>> open_sheet(std::size_t index) = 0;
};

// The cell's value as one JSON value: text as it is, dates in ISO 8601, numbers digit by digit as
// they stand in the file, errors and faults as {"error":"..."}.
void append_json(std::string& out, const Cell& cell);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_READER_H_
