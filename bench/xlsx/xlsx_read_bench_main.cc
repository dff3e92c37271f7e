// waybill_xlsx_read_bench FILE: reads every row of the first visible sheet and prints one JSON
// line; the time is measured from outside (see read).

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/json_writer.h"
#include "xlsx/reader.h"

namespace {

namespace base = waybill::base;
namespace xlsx = waybill::xlsx;

base::Status read(const char* path, std::int64_t& rows, std::int64_t& cells) {
  WAYBILL_ASSIGN(const xlsx::LocalFile file, xlsx::open_local_file(path));
  WAYBILL_ASSIGN(const auto reader, xlsx::Reader::open(file.size, file.read));
  WAYBILL_ASSIGN(const auto sheet, reader->open_sheet(reader->default_sheet()));
  for (;;) {
    WAYBILL_ASSIGN(const xlsx::Row* const row, sheet->next());
    if (row == nullptr) return {};
    ++rows;
    cells += static_cast<std::int64_t>(row->cells.size());
  }
}

// The largest resident size so far. Not the parent's getrusage(): that begins with the size of the
// process that forked this one.
std::int64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoll(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: waybill_xlsx_read_bench FILE\n", stderr);
    return 2;
  }
  std::int64_t rows = 0;
  std::int64_t cells = 0;
  const base::Status status = read(argv[1], rows, cells);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  base::JsonWriter out;
  out.begin_object().field("rows", rows).field("cells", cells).field("peak_kib", peak_kib());
  out.end_object();
  std::puts(out.text().c_str());
  return 0;
}
