// Progress of all running exports of this process, written together at most once a second (design
// 02: counters go to the database at most once a second). Rows per second are derived by whoever
// reads.

#ifndef WAYBILL_EXPORTING_PROGRESS_WRITER_H_
#define WAYBILL_EXPORTING_PROGRESS_WRITER_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "store/store.h"

namespace waybill::exporting {

inline constexpr base::Millis kProgressIntervalMs = 1'000;

// Thread-safe; step() is meant for one loop of its own.
class ProgressWriter {
 public:
  // The references must outlive the writer. `owner`: this process's lease owner.
  ProgressWriter(store::WorkStore& store, const base::Clock& clock, std::string owner,
                 base::Millis interval_ms = kProgressIntervalMs);

  // Notes how far an execution is; only the newest note is written. Never blocks on the database.
  void report(const core::Execution& execution, std::int64_t processed_rows,
              std::optional<std::int64_t> total_rows);
  // The execution has ended: what was not written yet is dropped (the end itself carries the rows).
  void forget(const core::Execution& execution);

  // Writes what changed since the last time, when the interval has passed. Returns how many notes
  // were written. An error keeps the notes for the next step; the caller backs off.
  base::Result<std::int64_t> step();

 private:
  struct Note {
    std::int64_t processed_rows = 0;
    std::optional<std::int64_t> total_rows;
    friend bool operator==(const Note&, const Note&) = default;
  };

  store::WorkStore& store_;
  const base::Clock& clock_;
  const std::string owner_;
  const base::Millis interval_ms_;
  std::mutex mutex_;
  std::map<core::Execution, Note> changed_;
  std::optional<base::Millis> last_ms_;  // boot time of the last write
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_PROGRESS_WRITER_H_
