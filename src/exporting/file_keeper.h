// Keeps storage and database in step: files whose time is over go, and so do objects that no task
// records (design 01 reconciler branch 4, 09 F26).

#ifndef WAYBILL_EXPORTING_FILE_KEEPER_H_
#define WAYBILL_EXPORTING_FILE_KEEPER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "exporting/object_remover.h"
#include "exporting/observer.h"
#include "files/files.h"
#include "store/store.h"

namespace waybill::exporting {

// Names the database that this storage belongs to; kept beside the files, never listed as an
// orphan.
inline constexpr std::string_view kOwnerMarkerKey = "waybill/database-id";
struct FileKeeperSettings {
  base::Millis expiry_grace_ms = 900'000;  // between expires_at (downloads refuse) and the deletion
  base::Millis scan_period_ms = 600'000;   // between two orphan scans
  base::Millis orphan_age_ms = 86'400'000;  // younger objects are never touched
  std::function<base::Millis()>
      longest_duration_ms;          // of any export type now; raises the age. Empty = 0
  std::int64_t batch = 500;         // rows or keys per statement, 1..500
  double refuse_share = 0.20;       // a scan that would delete more than this share ...
  std::int64_t refuse_count = 100;  // ... and more than this many deletes nothing
};

struct FileKeeperReport {
  std::int64_t expired = 0;  // tasks that became EXPIRED
  std::int64_t deletions_failed = 0;
  bool scanned = false;  // the orphan scan was due
  std::int64_t objects_listed = 0;
  std::int64_t orphans_removed = 0;  // hidden entries included
  std::string refused;               // why the scan deleted nothing; empty = it did not refuse
};

// Not thread-safe; one loop calls step(). Several processes may run one each: every action is
// idempotent.
class FileKeeper {
 public:
  // The references must outlive the keeper.
  FileKeeper(store::RepairStore& repairs, store::AdminStore& admin, files::Files& files,
             const base::Clock& clock, ObjectRemover& remover, ExportObserver& observer,
             FileKeeperSettings settings);

  // One pass: failed deletions again, expiry to its end, the orphan scan when it is due.
  // kUnavailable while database or storage is away; the next step starts over.
  base::Result<FileKeeperReport> step();

 private:
  struct Scan;

  base::Status expire(FileKeeperReport& report);
  base::Status scan_orphans(FileKeeperReport& report);
  base::Status list_candidates(Scan& scan);
  base::Status classify(Scan& scan);
  // Empty = this database owns the storage; otherwise why the scan has to refuse.
  base::Result<std::string> ownership_problem(const Scan& scan);
  base::Status write_owner_marker(std::string_view database_id);
  base::Status remove_orphans(const Scan& scan, FileKeeperReport& report);
  void deletion_failed(std::string_view key, const base::Error& error, FileKeeperReport& report);

  store::RepairStore& repairs_;
  store::AdminStore& admin_;
  files::Files& files_;
  const base::Clock& clock_;
  ObjectRemover& remover_;
  ExportObserver& observer_;
  const FileKeeperSettings settings_;
  std::optional<base::Millis> last_scan_ms_;  // boot time
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_FILE_KEEPER_H_
