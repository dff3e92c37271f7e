#include "exporting/receipt.h"

#include "base/json_writer.h"

namespace waybill::exporting {

std::string receipt_json(const Receipt& receipt, const base::TimeZone& zone) {
  const xlsx::WriterReport& report = receipt.report;
  base::JsonWriter json;
  json.begin_object();
  json.field("pages", receipt.pages);
  json.field("rowsReceived", receipt.rows_received);
  json.field("rowsWritten", report.rows);
  json.key("rowsPerSheet").begin_array();
  for (const std::int64_t rows : report.rows_per_sheet) json.value(rows);
  json.end_array();
  json.key("estimatedRows");
  if (receipt.estimated_rows) {
    json.value(*receipt.estimated_rows);
  } else {
    json.null();
  }
  json.field("snapshotAt", zone.iso(receipt.snapshot_at));
  json.field("durationMs", receipt.duration_ms);
  json.field("sizeBytes", report.bytes);
  json.field("sha256", receipt.sha256);
  json.field("cellsCut", report.cells_cut);
  json.field("cellsGuarded", report.cells_guarded);
  json.field("integersAsText", report.integers_as_text);
  json.field("decimalsAsText", report.decimals_as_text);
  json.field("invalidAsText", report.invalid_as_text);
  json.field("textRepaired", report.text_repaired);
  json.field("pagesRepaired", receipt.pages_repaired);
  json.field("undeclaredKeys", report.undeclared_keys);
  json.end_object();
  return json.take();
}

}  // namespace waybill::exporting
