// What a finished export tells about itself: stored as export_task.receipt_json and shown to users
// (design 02).

#ifndef WAYBILL_EXPORTING_RECEIPT_H_
#define WAYBILL_EXPORTING_RECEIPT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/time_zone.h"
#include "xlsx/writer.h"

namespace waybill::exporting {

struct Receipt {
  std::int64_t pages = 0;
  std::int64_t rows_received = 0;
  std::optional<std::int64_t> estimated_rows;  // the provider's totalRows
  std::int64_t pages_repaired = 0;             // answers that were not UTF-8
  base::Millis snapshot_at = 0;  // the moment the data stands for: the execution's start
  base::Millis duration_ms = 0;
  std::string sha256;
  xlsx::WriterReport report;
};

// {"pages","rowsReceived","rowsWritten","rowsPerSheet":[],"estimatedRows","snapshotAt",
//  "durationMs","sizeBytes","sha256","cellsCut","cellsGuarded","integersAsText","decimalsAsText",
//  "invalidAsText","textRepaired","pagesRepaired","undeclaredKeys"}
// estimatedRows is null when the provider gave none.
std::string receipt_json(const Receipt& receipt, const base::TimeZone& zone);

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_RECEIPT_H_
