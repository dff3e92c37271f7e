// The example of docs/xlsx.md; test_example.py builds on both being the same.

// [example]
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "xlsx/reader.h"
#include "xlsx/writer.h"

using namespace waybill;
using enum xlsx::ColumnType;

base::Status write_and_read(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  const auto sink = [&file](std::string_view bytes) -> base::Status {
    return file << bytes ? base::Status() : base::unavailable("cannot write the file");
  };
  WAYBILL_ASSIGN(const auto writer,
                 xlsx::Writer::open({{"name", "Name"}, {"sum", "Sum", kDecimal}}, {}, sink));
  WAYBILL_TRY(writer->append_json_rows(R"([{"name": "Li", "sum": 12.5}, {"name": "=1+1"}])"));
  WAYBILL_TRY(writer->append_row(std::vector<xlsx::CellValue>{"Wang", 7.25}));
  WAYBILL_TRY(writer->close());
  file.close();

  WAYBILL_ASSIGN(const xlsx::LocalFile source, xlsx::open_local_file(path));
  WAYBILL_ASSIGN(const auto reader, xlsx::Reader::open(source.size, source.read));
  WAYBILL_ASSIGN(const auto rows, reader->open_sheet(reader->default_sheet()));
  for (;;) {
    WAYBILL_ASSIGN(const xlsx::Row* const row, rows->next());
    if (row == nullptr) return {};
    for (const xlsx::Cell& cell : row->cells) std::cout << cell.text << '\t';
    std::cout << '\n';
  }
}

int main(int, char** argv) {
  const base::Status status = write_and_read(argv[1]);
  if (!status.ok()) std::cerr << status.error().message << '\n';
  return status.ok() ? 0 : 1;
}
// [example]
