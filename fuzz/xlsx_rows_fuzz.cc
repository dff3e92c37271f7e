// Arbitrary bytes as pages of rows. Whatever comes in, the writer answers with an error or with a
// package that the verifier accepts, that opens and reads without a fault, whose row counts agree,
// and that the same input makes again byte for byte.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "xlsx/reader.h"
#include "xlsx/verify.h"
#include "xlsx/writer.h"

namespace {

using waybill::base::Result;
using waybill::base::Status;
namespace xlsx = waybill::xlsx;

struct Made {
  std::string package;
  xlsx::WriterReport report;
};

std::vector<xlsx::Column> columns() {
  return {{"s", "=Text", xlsx::ColumnType::kString, 0},
          {"i", "No", xlsx::ColumnType::kInteger, 0},
          {"d", "Amount", xlsx::ColumnType::kDecimal, 0},
          {"b", "Flag", xlsx::ColumnType::kBoolean, 0},
          {"day", "Day", xlsx::ColumnType::kDate, 0},
          {"t", "Time", xlsx::ColumnType::kDateTime, 0},
          {"\xC3\xA9\"", "Odd", xlsx::ColumnType::kString, 0}};
}

// The first byte chooses the settings; a zero byte separates pages.
std::optional<Made> make(std::string_view input) {
  const unsigned settings = input.empty() ? 0 : static_cast<unsigned char>(input[0]);
  if (!input.empty()) input.remove_prefix(1);
  xlsx::WriterOptions options;
  options.cell_refs = (settings & 1) == 0;
  options.shared_string_budget_bytes = (settings & 2) != 0   ? 0
                                       : (settings & 4) != 0 ? 1'000
                                                             : 100'000;
  options.formula_guard =
      (settings & 8) != 0 ? xlsx::FormulaGuard::kApostrophe : xlsx::FormulaGuard::kQuotePrefix;
  options.compression = (settings & 16) != 0 ? xlsx::Compression::kSmall : xlsx::Compression::kFast;
  options.max_file_bytes = (settings & 32) != 0 ? 1ull << 40 : 1u << 20;
  options.max_rows = 1'000;
  options.zone_offset_seconds = [](std::int64_t) { return std::int64_t{28'800}; };
  Made made;
  auto writer = xlsx::Writer::open(columns(), options, [&made](std::string_view bytes) {
    made.package += bytes;
    return Status();
  });
  WAYBILL_CHECK(writer.ok(), "open");
  for (bool more = true; more;) {
    const std::size_t end = input.find('\0');
    more = end != std::string_view::npos;
    if (!(*writer)->append_json_rows(input.substr(0, end)).ok()) {
      WAYBILL_CHECK(!(*writer)->close().ok(), "an error must be kept");
      return std::nullopt;
    }
    if (more) input.remove_prefix(end + 1);
  }
  auto report = (*writer)->close();
  if (!report.ok()) return std::nullopt;
  made.report = *report;
  return made;
}

Result<std::size_t> read_at(const std::string& package, std::uint64_t offset,
                            std::span<char> buffer) {
  const std::string_view from = std::string_view(package).substr(offset, buffer.size());
  std::memcpy(buffer.data(), from.data(), from.size());
  return from.size();
}

// Every sheet, to the end.
void check_opens(const xlsx::RandomRead& read, std::size_t size, std::size_t sheets) {
  const auto reader = xlsx::Reader::open(size, read);
  WAYBILL_CHECK(reader.ok() && (*reader)->sheets().size() == sheets, "it opens");
  for (std::size_t i = 0; i < sheets; ++i) {
    const auto rows = (*reader)->open_sheet(i);
    WAYBILL_CHECK(rows.ok(), "its sheets open");
    for (;;) {
      const auto row = (*rows)->next();
      WAYBILL_CHECK(row.ok(), "its rows can be read");
      if (*row == nullptr) break;
      for (const xlsx::Cell& cell : (*row)->cells)
        WAYBILL_CHECK(cell.kind != xlsx::CellKind::kFault, "its cells keep the rules");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::optional<Made> made = make(input);
  if (!made) return 0;
  const xlsx::RandomRead read_package = [&made](std::uint64_t offset, std::span<char> buffer) {
    return read_at(made->package, offset, buffer);
  };
  const auto verified = xlsx::verify_package(made->package.size(), read_package);
  WAYBILL_CHECK(verified.ok(), "the verifier refused what the writer made");
  WAYBILL_CHECK(verified->rows_per_sheet.size() == made->report.rows_per_sheet.size(), "sheets");
  for (std::size_t i = 0; i < verified->rows_per_sheet.size(); ++i) {
    WAYBILL_CHECK(verified->rows_per_sheet[i] == made->report.rows_per_sheet[i] + 1, "rows");
  }
  check_opens(read_package, made->package.size(), made->report.rows_per_sheet.size());
  const std::optional<Made> again = make(input);
  WAYBILL_CHECK(again && again->package == made->package,
                "the same input must give the same bytes");
  return 0;
}
