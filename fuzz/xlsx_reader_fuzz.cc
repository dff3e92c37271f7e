// Arbitrary bytes as an uploaded workbook. Whatever comes in, the reader answers with rows or with
// an error of the input; rows and cells come in order, texts are UTF-8, and memory and time are
// bounded by the limits.
//
// The first byte chooses: 'Z' and the rest is the package itself; otherwise the rest are parts,
// separated by zero bytes (sheet, strings, styles, workbook, its relationships, those of the
// package), inside an archive that is right, so that the fuzzer reaches what lies behind the CRCs.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "xlsx/reader.h"
#include "xlsx/test_zip.h"

namespace {

using waybill::base::ErrorCategory;
using waybill::base::Status;
namespace xlsx = waybill::xlsx;

constexpr xlsx::ReaderOptions limits() {
  return {.max_part_bytes = 1u << 20, .max_total_bytes = 2u << 20, .max_temp_bytes = 1u << 20};
}

std::string package_of(std::string_view input) {
  if (input.starts_with('Z')) return std::string(input.substr(1));
  if (!input.empty()) input.remove_prefix(1);
  xlsx::testing::BookParts parts;
  for (std::string xlsx::testing::BookParts::* part :
       {&xlsx::testing::BookParts::sheet, &xlsx::testing::BookParts::strings,
        &xlsx::testing::BookParts::styles, &xlsx::testing::BookParts::workbook,
        &xlsx::testing::BookParts::workbook_rels, &xlsx::testing::BookParts::rels}) {
    const std::size_t end = input.find('\0');
    if (const std::string_view text = input.substr(0, end); !text.empty()) parts.*part = text;
    if (end == std::string_view::npos) break;
    input.remove_prefix(end + 1);
  }
  return parts.zip().finish();
}

void check_row(const xlsx::Row& row, std::int64_t before) {
  WAYBILL_CHECK(row.number > before && row.number <= 1'048'576, "rows in order");
  WAYBILL_CHECK(!row.cells.empty() && row.cells.size() <= 16'384, "a row has cells");
  std::int64_t column = -1;
  std::string json;
  for (const xlsx::Cell& cell : row.cells) {
    WAYBILL_CHECK(cell.column > column && cell.column < 16'384, "cells in order");
    column = cell.column;
    WAYBILL_CHECK(waybill::base::is_utf8(cell.text), "texts are UTF-8");
    WAYBILL_CHECK(row.find(cell.column) == &cell, "find");
    json.clear();
    xlsx::append_json(json, cell);
    WAYBILL_CHECK(!json.empty() && waybill::base::is_utf8(json), "JSON");
  }
}

Status read(const std::string& package) {
  WAYBILL_ASSIGN(const auto reader,
                 xlsx::Reader::open(package.size(), xlsx::testing::reading(package), limits()));
  WAYBILL_CHECK(reader->default_sheet() < reader->sheets().size(), "a sheet to begin with");
  for (std::size_t i = 0; i < reader->sheets().size() && i < 4; ++i) {
    WAYBILL_ASSIGN(const auto rows, reader->open_sheet(i));
    for (std::int64_t before = 0;;) {
      WAYBILL_ASSIGN(const xlsx::Row* const row, rows->next());
      if (row == nullptr) break;
      check_row(*row, before);
      before = row->number;
    }
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Status status = read(package_of({reinterpret_cast<const char*>(data), size}));
  WAYBILL_CHECK(status.ok() || status.error().category == ErrorCategory::kInvalid ||
                    status.error().category == ErrorCategory::kLimit,
                "only the input is to blame");
  return 0;
}
