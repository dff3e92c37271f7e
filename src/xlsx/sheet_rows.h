// The rows of one worksheet part.

#ifndef WAYBILL_XLSX_SHEET_ROWS_H_
#define WAYBILL_XLSX_SHEET_ROWS_H_

#include <memory>

#include "xlsx/cell_formats.h"
#include "xlsx/reader.h"
#include "xlsx/shared_string_index.h"
#include "xlsx/zip_reader.h"

namespace waybill::xlsx {

// Everything that a sheet refers to. All of it must outlive the rows.
struct SheetSource {
  const ZipReader& zip;
  const ZipPart& part;
  InflateBudget& budget;
  SharedStringIndex& strings;
  const CellFormats& formats;
  bool date_1904 = false;
};

std::unique_ptr<SheetRows> make_sheet_rows(const SheetSource& source);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_SHEET_ROWS_H_
