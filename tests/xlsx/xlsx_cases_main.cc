// waybill_xlsx_cases OUT [--column KEY TITLE TYPE WIDTH]... [--option VALUE]... < pages
//
// Writes one workbook from pages of rows (one JSON array per line of the standard input) and prints
// the writer's report as one JSON object. Exit code 3 and the error's category and field on the
// standard error for a refused workbook; the file does not exist then.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "xlsx/verify.h"
#include "xlsx/writer.h"

namespace {

using waybill::base::JsonWriter;
using waybill::base::Result;
using waybill::base::Status;
using waybill::xlsx::ColumnType;

struct Job {
  std::string path;
  std::vector<waybill::xlsx::Column> columns;
  waybill::xlsx::WriterOptions options;
};

const std::map<std::string_view, ColumnType> kTypes = {
    {"STRING", ColumnType::kString},   {"INTEGER", ColumnType::kInteger},
    {"DECIMAL", ColumnType::kDecimal}, {"BOOLEAN", ColumnType::kBoolean},
    {"DATE", ColumnType::kDate},       {"DATETIME", ColumnType::kDateTime}};

bool set_option(waybill::xlsx::WriterOptions& options, std::string_view name, const char* value) {
  if (name == "--sheet") {
    options.sheet_name = value;
  } else if (name == "--title") {
    options.title = value;
  } else if (name == "--guard") {
    options.formula_guard = std::string_view(value) == "apostrophe"
                                ? waybill::xlsx::FormulaGuard::kApostrophe
                                : waybill::xlsx::FormulaGuard::kQuotePrefix;
  } else if (name == "--refs") {
    options.cell_refs = std::string_view(value) == "1";
  } else if (name == "--compression") {
    options.compression = std::string_view(value) == "small" ? waybill::xlsx::Compression::kSmall
                                                             : waybill::xlsx::Compression::kFast;
  } else if (name == "--budget") {
    options.shared_string_budget_bytes = std::strtoull(value, nullptr, 10);
  } else if (name == "--max-bytes") {
    options.max_file_bytes = std::strtoull(value, nullptr, 10);
  } else if (name == "--max-rows") {
    options.max_rows = std::strtoll(value, nullptr, 10);
  } else if (name == "--created") {
    options.created_unix_seconds = std::strtoll(value, nullptr, 10);
  } else if (name == "--zone-seconds") {
    options.zone_offset_seconds = [offset = std::strtoll(value, nullptr, 10)](std::int64_t) {
      return offset;
    };
  } else {
    return false;
  }
  return true;
}

bool parse(int argc, char** argv, Job& job) {
  if (argc < 2) return false;
  job.path = argv[1];
  for (int i = 2; i < argc;) {
    const std::string_view name = argv[i];
    if (name == "--column" && i + 4 < argc && kTypes.contains(argv[i + 3])) {
      job.columns.push_back(
          {argv[i + 1], argv[i + 2], kTypes.at(argv[i + 3]), std::strtod(argv[i + 4], nullptr)});
      i += 5;
    } else if (i + 1 < argc && set_option(job.options, name, argv[i + 1])) {
      i += 2;
    } else {
      return false;
    }
  }
  return true;
}

Result<waybill::xlsx::WriterReport> write(const Job& job) {
  std::ofstream file(job.path, std::ios::binary | std::ios::trunc);
  const auto sink = [&file](std::string_view bytes) -> Status {
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file) return waybill::base::unavailable("cannot write the file");
    return {};
  };
  WAYBILL_ASSIGN(const auto writer, waybill::xlsx::Writer::open(job.columns, job.options, sink));
  for (std::string page; std::getline(std::cin, page);) WAYBILL_TRY(writer->append_json_rows(page));
  WAYBILL_ASSIGN(auto report, writer->close());
  file.close();
  if (!file) return waybill::base::unavailable("cannot write the file");
  return report;
}

Result<waybill::xlsx::Verified> verify(const std::string& path, std::uint64_t size) {
  std::ifstream file(path, std::ios::binary);
  return waybill::xlsx::verify_package(
      size, [&file](std::uint64_t offset, std::span<char> buffer) -> Result<std::size_t> {
        file.clear();
        file.seekg(static_cast<std::streamoff>(offset));
        file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
        return static_cast<std::size_t>(file.gcount());
      });
}

// The largest resident size so far. Not getrusage(): its figure survives exec, so it would be the
// caller's.
std::int64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoll(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

void print(const waybill::xlsx::WriterReport& report) {
  JsonWriter out;
  out.begin_object().field("rows", report.rows).key("rows_per_sheet").begin_array();
  for (const std::int64_t rows : report.rows_per_sheet) out.value(rows);
  out.end_array();
  out.field("cells_cut", report.cells_cut).field("cells_guarded", report.cells_guarded);
  out.field("integers_as_text", report.integers_as_text)
      .field("decimals_as_text", report.decimals_as_text);
  out.field("invalid_as_text", report.invalid_as_text).field("text_repaired", report.text_repaired);
  out.field("undeclared_keys", report.undeclared_keys).field("bytes", report.bytes);
  out.field("peak_kib", peak_kib()).end_object();
  std::puts(out.text().c_str());
}

int refused(const Job& job, const waybill::base::Error& error) {
  std::remove(job.path.c_str());
  const std::string_view category = to_string(error.category);
  std::fprintf(stderr, "%.*s %s %s\n", static_cast<int>(category.size()), category.data(),
               error.field.c_str(), error.message.c_str());
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  Job job;
  if (!parse(argc, argv, job)) {
    std::fputs(
        "usage: waybill_xlsx_cases OUT [--column KEY TITLE TYPE WIDTH]... [--option VALUE]...\n",
        stderr);
    return 2;
  }
  const auto report = write(job);
  if (!report.ok()) return refused(job, report.error());
  const auto verified = verify(job.path, report->bytes);
  if (!verified.ok()) return refused(job, verified.error());
  print(*report);
  return 0;
}
