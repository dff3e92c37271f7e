// A streaming XLSX writer (ECMA-376, transitional): rows in, bytes out, one pass, bounded memory,
// no temporary file. Knows nothing of tasks or providers; could be shipped alone.
//
// The same calls give the same bytes: zip times are fixed and the creation time is an option.

#ifndef WAYBILL_XLSX_WRITER_H_
#define WAYBILL_XLSX_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace waybill::xlsx {

inline constexpr std::size_t kMaxColumns = 16'384;  // ECMA-376, and Excel's published limit
inline constexpr std::int64_t kMaxRowsPerSheet = 1'048'576;  // header included
inline constexpr std::size_t kMaxCellUnits = 32'767;         // UTF-16 code units of one cell's text
inline constexpr double kMaxColumnWidth = 255.0;             // characters
inline constexpr std::size_t kMaxSheetNameUnits = 31;        // UTF-16 code units
inline constexpr std::size_t kMaxPageBytes = 64u << 20;      // JSON text of one append_json_rows()

enum class ColumnType : std::uint8_t { kString, kInteger, kDecimal, kBoolean, kDate, kDateTime };

struct Column {
  std::string key;    // the field of a row object that feeds it
  std::string title;  // the header cell
  ColumnType type = ColumnType::kString;
  double width = 0;  // characters; <= 0 or not finite = the default; clamped to kMaxColumnWidth
};

enum class FormulaGuard : std::uint8_t {
  kQuotePrefix,  // text that a spreadsheet would take for a formula keeps its value, with
                 // quotePrefix="1"
  kApostrophe,   // a literal ' in front, for consumers that re-save as CSV
};

enum class Compression : std::uint8_t { kFast, kSmall };

struct WriterOptions {
  std::string sheet_name = "Sheet1";  // made legal and unique; continuation sheets get " (2)", ...
  std::string title;                  // document property
  std::string application = "Waybill";
  std::int64_t created_unix_seconds = 0;
  FormulaGuard formula_guard = FormulaGuard::kQuotePrefix;
  bool cell_refs = true;  // false: smaller; a cell without a value is then an empty <c/>
  Compression compression = Compression::kFast;
  std::size_t shared_string_budget_bytes = 8u << 20;  // 0 = inline strings only
  std::uint64_t max_file_bytes = 50ull << 20;         // counted on compressed bytes while writing
  std::int64_t max_rows = 500'000;                    // data rows over all sheets
  // Seconds to add to a UTC moment, given in seconds: DATETIME values with an offset are shown in
  // this zone.
  std::function<std::int64_t(std::int64_t)> zone_offset_seconds;
};

// What the receipt shows.
struct WriterReport {
  std::vector<std::int64_t> rows_per_sheet;  // data rows
  std::int64_t rows = 0;
  std::int64_t cells_cut = 0;         // text longer than kMaxCellUnits
  std::int64_t cells_guarded = 0;     // text that looks like a formula
  std::int64_t integers_as_text = 0;  // more than 15 significant digits
  std::int64_t decimals_as_text = 0;  // 15 digits would not hold the value
  std::int64_t invalid_as_text = 0;   // not a number / date / boolean of its column's type, or a
                                      // date outside 1900-03-01..9999-12-31
  std::int64_t text_repaired = 0;     // ill-formed bytes and lone surrogates, now U+FFFD
  std::int64_t undeclared_keys = 0;   // fields without a column, each name counted once (to 1,000)
  std::uint64_t bytes = 0;            // of the finished file
};

// A moment as a wall clock shows it, in no zone: seconds since 1970-01-01T00:00:00.
struct LocalTime {
  std::int64_t unix_seconds = 0;
};

// A typed value. Its own type decides what the cell becomes, by the rules that hold for JSON values
// of a column of that type (docs/formats_xlsx.md); text need not be well-formed UTF-8. monostate is
// no value. A LocalTime shows its day only in a DATE column.
using CellValue =
    std::variant<std::monostate, bool, std::int64_t, double, std::string_view, LocalTime>;

// Where the bytes go. Called from the thread that calls the writer; an error ends the writing with
// that error.
using ByteSink = std::function<base::Status(std::string_view bytes)>;

// Not thread-safe. After any error the file is worthless and every later call returns that error.
// Error categories: kInvalid (columns), kLimit (field "max_file_bytes", "max_rows"; "rows" for a
// page over kMaxPageBytes), kUnavailable (a page that is not rows), kCancelled, whatever the sink
// returns.
class Writer {
 public:
  // Writes the first bytes. REQUIRES: columns.size() in 1..kMaxColumns, no two with the same key
  // (else kInvalid, nothing written).
  static base::Result<std::unique_ptr<Writer>> open(std::vector<Column> columns,
                                                    WriterOptions options, ByteSink sink);
  virtual ~Writer() = default;

  // Appends every object of a JSON array: "[{...},{...}]". `json` needs not be padded; rows may
  // lack columns, carry null (no value, as "" is) or unknown keys (counted). Text that is not JSON
  // or not an array of objects is kUnavailable ("truncated or unparsable": the provider may answer
  // properly next time). `stop`, when set, is asked every kStopCheckRows rows; true ends with
  // kCancelled. Returns the number of rows appended.
  // `readable_behind`: so many bytes behind the end of `json` may be read (their values do not
  // matter); from kJsonPadding on the page is not copied.
  virtual base::Result<std::int64_t> append_json_rows(std::string_view json,
                                                      const std::function<bool()>& stop = {},
                                                      std::size_t readable_behind = 0) = 0;

  // Appends one row. More cells than columns are kInvalid; fewer leave the others empty.
  virtual base::Status append_row(std::span<const CellValue> cells) = 0;

  // Writes the rest of the package. No call may follow.
  virtual base::Result<WriterReport> close() = 0;

  // So far.
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
};

inline constexpr std::size_t kJsonPadding = 64;  // bytes
inline constexpr std::int64_t kStopCheckRows = 10'000;

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_WRITER_H_
