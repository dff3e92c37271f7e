#include "exporting/file_keeper.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "core/object_key.h"

namespace waybill::exporting {
namespace {

// A scan remembers this many candidates; more wait for the next scan.
constexpr std::size_t kMaxCandidates = 10'000;  // objects
constexpr std::size_t kDatabaseIdBytes = 36;

}  // namespace

// What one listing showed.
struct FileKeeper::Scan {
  std::int64_t listed = 0;          // objects with a key of ours
  std::int64_t recorded = 0;        // of the old ones: known to the database
  std::int64_t bytes = 0;           // of all visible objects
  std::int64_t orphans = 0;         // may be more than are remembered
  std::vector<std::string> keys;    // orphans to remove
  std::vector<std::string> hidden;  // old hidden entries
  std::vector<std::string> batch;   // listed, not yet asked about
};

FileKeeper::FileKeeper(store::RepairStore& repairs, store::AdminStore& admin, files::Files& files,
                       const base::Clock& clock, ObjectRemover& remover, ExportObserver& observer,
                       FileKeeperSettings settings)
    : repairs_(repairs),
      admin_(admin),
      files_(files),
      clock_(clock),
      remover_(remover),
      observer_(observer),
      settings_(std::move(settings)) {}

base::Result<FileKeeperReport> FileKeeper::step() {
  FileKeeperReport report;
  report.deletions_failed += static_cast<std::int64_t>(remover_.step());
  WAYBILL_TRY(expire(report));
  const base::Millis now = clock_.boot_ms();
  if (last_scan_ms_ && now - *last_scan_ms_ < settings_.scan_period_ms) return report;
  WAYBILL_TRY(scan_orphans(report));
  last_scan_ms_ = now;
  return report;
}

// EXPIRED is written only after the object is gone for certain: a crash in between repeats the
// deletion, which an absent object answers with success. Downloads refuse from expires_at on, so
// nobody sees the gap.
base::Status FileKeeper::expire(FileKeeperReport& report) {
  WAYBILL_ASSIGN(const std::string storage_id, files_.storage_id());
  store::Walk walk{.after = 0, .limit = settings_.batch};
  while (true) {
    WAYBILL_ASSIGN(const std::vector<store::ExpiredFile> files,
                   repairs_.expired_files(storage_id, settings_.expiry_grace_ms, walk));
    std::vector<core::TaskId> gone;
    for (const store::ExpiredFile& file : files) {
      walk.after = std::max(walk.after, file.id);
      // A task without a key has no object: nothing stands against its end.
      const base::Status removed =
          file.object_key.empty() ? base::Status() : files_.remove(file.object_key);
      if (removed.ok()) {
        gone.push_back(file.id);
      } else {
        deletion_failed(file.object_key, removed.error(), report);
      }
    }
    if (!gone.empty()) {
      WAYBILL_ASSIGN(const std::int64_t marked, repairs_.mark_expired(gone));
      report.expired += marked;
      observer_.on_expired(marked);
    }
    if (static_cast<std::int64_t>(files.size()) < settings_.batch) return {};
  }
}

base::Status FileKeeper::scan_orphans(FileKeeperReport& report) {
  Scan scan;
  WAYBILL_TRY(list_candidates(scan));
  report.scanned = true;
  report.objects_listed = scan.listed;
  observer_.on_storage_bytes(scan.bytes);
  WAYBILL_ASSIGN(report.refused, ownership_problem(scan));
  const auto share = settings_.refuse_share * static_cast<double>(scan.listed);
  if (report.refused.empty() && scan.orphans > settings_.refuse_count &&
      static_cast<double>(scan.orphans) > share) {
    report.refused =
        std::to_string(scan.orphans) + " of " + std::to_string(scan.listed) +
        " objects are unknown to this database; it may be empty, restored or the wrong one";
  }
  if (report.refused.empty()) return remove_orphans(scan, report);
  observer_.on_orphan_scan_refused();
  base::log(base::LogLevel::kError, "export.orphan_scan_refused",
            {{"reason", report.refused}, {"orphans", scan.orphans}, {"listed", scan.listed}});
  return {};
}

base::Status FileKeeper::list_candidates(Scan& scan) {
  // Older than any execution can be: what a running export writes is never looked at, and neither
  // is an object whose row is not committed yet (D91). The database's clock, so that hosts agree.
  WAYBILL_ASSIGN(const base::Millis now, admin_.now());
  const base::Millis longest = settings_.longest_duration_ms ? settings_.longest_duration_ms() : 0;
  const base::Millis old_before = now - std::max(settings_.orphan_age_ms, longest);
  base::Status asked;
  WAYBILL_TRY(files_.list([&](const files::Listed& entry) {
    const bool old = entry.modified_ms < old_before;
    if (entry.hidden) {
      if (old && scan.hidden.size() < kMaxCandidates) scan.hidden.push_back(entry.key);
      return true;
    }
    scan.bytes += static_cast<std::int64_t>(entry.size);
    // What does not look like an object of ours is not ours to delete.
    if (!core::parse_object_key(entry.key)) return true;
    ++scan.listed;
    if (old) scan.batch.push_back(entry.key);
    if (static_cast<std::int64_t>(scan.batch.size()) >= settings_.batch) asked = classify(scan);
    return asked.ok();
  }));
  WAYBILL_TRY(std::move(asked));
  return classify(scan);
}

base::Status FileKeeper::classify(Scan& scan) {
  if (scan.batch.empty()) return {};
  const std::vector<std::string> keys = std::exchange(scan.batch, {});
  WAYBILL_ASSIGN(const std::vector<std::string> recorded, repairs_.recorded_keys(keys));
  const std::unordered_set<std::string> known(recorded.begin(), recorded.end());
  scan.recorded += static_cast<std::int64_t>(known.size());
  for (const std::string& key : keys) {
    if (known.contains(key)) continue;
    ++scan.orphans;
    if (scan.keys.size() < kMaxCandidates) scan.keys.push_back(key);
  }
  return {};
}

base::Result<std::string> FileKeeper::ownership_problem(const Scan& scan) {
  WAYBILL_ASSIGN(const std::string database_id, admin_.database_id());
  auto marker = files_.open(kOwnerMarkerKey);
  if (marker.ok()) {
    std::array<char, kDatabaseIdBytes + 1> buffer{};
    WAYBILL_ASSIGN(const std::size_t size, marker.value()->read(0, buffer));
    if (std::string_view(buffer.data(), size) == database_id) return std::string();
    return std::string("the storage belongs to another database");
  }
  if (marker.error().category != base::ErrorCategory::kNotFound) return marker.error();
  // A storage that has no owner yet is taken over only when it is empty or visibly ours.
  if (scan.orphans > 0 && scan.recorded == 0) {
    return std::string("the storage has no owner marker and holds objects of somebody else");
  }
  WAYBILL_TRY(write_owner_marker(database_id));
  return std::string();
}

base::Status FileKeeper::write_owner_marker(std::string_view database_id) {
  WAYBILL_ASSIGN(const std::unique_ptr<files::Sink> sink, files_.create(kOwnerMarkerKey));
  WAYBILL_TRY(sink->write(database_id));
  return sink->commit();
}

base::Status FileKeeper::remove_orphans(const Scan& scan, FileKeeperReport& report) {
  for (const std::string& key : scan.keys) {
    // Asked again one by one: minutes may lie between the listing and now.
    WAYBILL_ASSIGN(const std::vector<std::string> recorded, repairs_.recorded_keys({{key}}));
    if (!recorded.empty()) continue;
    const base::Status removed = files_.remove(key);
    if (removed.ok()) {
      ++report.orphans_removed;
    } else {
      deletion_failed(key, removed.error(), report);
    }
  }
  for (const std::string& name : scan.hidden) {
    const base::Status removed = files_.remove_hidden(name);
    if (removed.ok()) {
      ++report.orphans_removed;
    } else {
      deletion_failed(name, removed.error(), report);
    }
  }
  if (report.orphans_removed > 0) {
    observer_.on_orphans_removed(report.orphans_removed);
    base::log(base::LogLevel::kWarn, "export.orphans_removed",
              {{"objects", report.orphans_removed}});
  }
  return {};
}

// Not noted anywhere: the next pass finds it again.
void FileKeeper::deletion_failed(std::string_view key, const base::Error& error,
                                 FileKeeperReport& report) {
  ++report.deletions_failed;
  observer_.on_delete_failed();
  base::log(base::LogLevel::kWarn, "export.object_not_deleted",
            {{"objectKey", base::printable(key, files::kMaxKeyBytes)},
             {"error", base::printable(error.message)}});
}

}  // namespace waybill::exporting
