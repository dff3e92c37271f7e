// Reads a page of rows: the only file that knows the JSON parser. Values are handed on as they
// stand in the page, so nothing is converted that a cell does not need.

#ifndef WAYBILL_XLSX_JSON_ROWS_H_
#define WAYBILL_XLSX_JSON_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "xlsx/cell_text.h"
#include "xlsx/writer.h"

namespace waybill::xlsx {

enum class JsonKind : std::uint8_t {
  kAbsent,  // no such key, or null
  kString,  // the inside of the quotes, escapes unresolved
  kNumber,  // a token that starts like a number; its grammar is not checked yet
  kTrue,
  kFalse,
  kNested,  // an object or array, brackets included, content not checked yet
};

// A view into the page; kTextPadding bytes behind it are readable.
struct JsonValue {
  const char* data = nullptr;
  std::uint32_t size = 0;
  JsonKind kind = JsonKind::kAbsent;
  [[nodiscard]] std::string_view view() const { return {data, size}; }
  [[nodiscard]] PaddedText text() const { return {data, size}; }
};

// Receives the rows in order.
class RowHandler {
 public:
  virtual ~RowHandler() = default;
  // One value per column. An error ends the reading with that error.
  virtual base::Status row(std::span<const JsonValue> values) = 0;
};

// Not thread-safe. Keeps its buffers between pages.
class JsonRows {
 public:
  // `columns` as validated by the writer: no two with the same key.
  explicit JsonRows(const std::vector<Column>& columns);
  ~JsonRows();
  JsonRows(const JsonRows&) = delete;
  JsonRows& operator=(const JsonRows&) = delete;

  // Hands every object of the array `json` to `handler`. kUnavailable for anything that is not an
  // array of objects (rows before the fault were handed over), kLimit over kMaxPageBytes. So many
  // bytes as `readable_behind` says may be read behind `json`.
  base::Status read(std::string_view json, std::size_t readable_behind, RowHandler& handler);

  // Distinct names of fields without a column; counting stops at kMaxUndeclaredNames.
  [[nodiscard]] std::int64_t undeclared_keys() const;
  // Ill-formed bytes of pages that became U+FFFD.
  [[nodiscard]] std::int64_t repaired() const;

  static constexpr std::size_t kMaxUndeclaredNames = 1'000;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Whether `text` is well-formed UTF-8.
bool is_utf8(std::string_view text);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_JSON_ROWS_H_
