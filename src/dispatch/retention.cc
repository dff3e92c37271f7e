#include "dispatch/retention.h"

#include <algorithm>

namespace waybill::dispatch {
namespace {

constexpr int kKinds = 3;
constexpr Millis kShortestPauseMs = 10;  // between two full batches

}  // namespace

Retention::Retention(const Settings& settings, store::RepairStore& store, const base::Clock& clock,
                     Metrics& metrics)
    : settings_(settings), store_(store), clock_(clock), metrics_(metrics) {}

base::Result<Next> Retention::step() {
  const Millis started = clock_.boot_ms();
  const std::int64_t limit = settings_.retention_batch;
  const auto run = [&]() -> base::Result<std::int64_t> {
    switch (kind_) {
      case 0:
        return store_.delete_old_sent_commands(settings_.sent_keep_ms, limit);
      case 1:
        return store_.delete_old_idempotency(limit);
      default:
        return store_.delete_old_tasks(settings_.history_keep_ms, limit);
    }
  };
  const auto deleted = run();
  // A kind that fails must not keep the others from their turn.
  const bool full = deleted.ok() && *deleted >= limit;
  if (!full) kind_ = (kind_ + 1) % kKinds;
  if (!deleted.ok()) return deleted.error();
  metrics_.retention_deleted.add(*deleted);
  const Millis pause = std::max(clock_.boot_ms() - started, kShortestPauseMs);
  if (full || kind_ != 0) return Next::after(pause);
  return Next::after(settings_.retention_period_ms);
}

}  // namespace waybill::dispatch
