#include "exporting/progress_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace waybill::exporting {

ProgressWriter::ProgressWriter(store::WorkStore& store, const base::Clock& clock, std::string owner,
                               base::Millis interval_ms)
    : store_(store), clock_(clock), owner_(std::move(owner)), interval_ms_(interval_ms) {}

void ProgressWriter::report(const core::Execution& execution, std::int64_t processed_rows,
                            std::optional<std::int64_t> total_rows) {
  const std::lock_guard lock(mutex_);
  changed_[execution] = {processed_rows, total_rows};
}

void ProgressWriter::forget(const core::Execution& execution) {
  const std::lock_guard lock(mutex_);
  changed_.erase(execution);
}

base::Result<std::int64_t> ProgressWriter::step() {
  std::vector<store::Progress> batch;
  {
    const std::lock_guard lock(mutex_);
    const base::Millis now = clock_.boot_ms();
    if (last_ms_ && now - *last_ms_ < interval_ms_) return 0;
    for (const auto& [execution, note] : changed_) {
      if (batch.size() == store::kMaxBatch) break;
      batch.push_back({execution, note.processed_rows, note.total_rows});
    }
    if (batch.empty()) return 0;
    last_ms_ = now;
  }
  // No lock while the database works: executions report meanwhile.
  WAYBILL_TRY(store_.save_progress(owner_, batch));
  const std::lock_guard lock(mutex_);
  for (const store::Progress& written : batch) {
    const auto found = changed_.find(written.execution);
    const Note note{written.processed_rows, written.total_rows};
    if (found != changed_.end() && found->second == note) changed_.erase(found);
  }
  return static_cast<std::int64_t>(batch.size());
}

}  // namespace waybill::exporting
