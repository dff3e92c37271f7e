#include "dispatch/reconciler.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace waybill::dispatch {

Reconciler::Reconciler(const Settings& settings, store::RepairStore& store, ObjectRemover* remover,
                       const base::Clock& clock, Metrics& metrics)
    : settings_(settings), store_(store), remover_(remover), clock_(clock), metrics_(metrics) {}

base::Result<Next> Reconciler::step() {
  if (branch_ == Branch::kBegin) {
    pass_started_ = clock_.boot_ms();
    first_error_.reset();
    // Without this note branch 2 could not tell a dead worker from a stalled database, so no pass
    // without it.
    WAYBILL_ASSIGN(grace_, store_.begin_pass(settings_.clock_grace_ms, 2 * settings_.heartbeat_ms));
    if (grace_) base::log(base::LogLevel::kWarn, "reconciler.grace", {});
    next_branch();
    return Next::at_once();
  }
  const auto more = run_page();
  if (!more.ok() && !first_error_) first_error_ = more.error();
  if (more.ok() && *more) return Next::at_once();
  next_branch();
  if (branch_ != Branch::kBegin) return Next::at_once();
  if (first_error_) return *std::exchange(first_error_, std::nullopt);
  return Next::after(
      std::max<Millis>(pass_started_ + settings_.reconciler_period_ms - clock_.boot_ms(), 0));
}

void Reconciler::next_branch() {
  branch_ = branch_ == Branch::kSlots ? Branch::kBegin
                                      : static_cast<Branch>(static_cast<int>(branch_) + 1);
  walk_ = {.after = 0, .limit = settings_.reconciler_batch};
}

bool Reconciler::walked(const store::Walked& page, store::Walk& walk) {
  walk.after = page.last;
  return page.last != 0;
}

base::Result<bool> Reconciler::run_page() {
  const auto page = [this](base::Result<store::Walked> walked_page,
                           Counter& counter) -> base::Result<bool> {
    WAYBILL_ASSIGN(const store::Walked done, std::move(walked_page));
    counter.add(done.changed);
    return walked(done, walk_);
  };
  switch (branch_) {
    case Branch::kBegin:
      return false;
    case Branch::kMissing:
      return page(store_.recreate_missing_commands(walk_, settings_.reconciler_due_for_ms),
                  metrics_.redispatch);
    case Branch::kStale:
      return page(
          store_.resend_stale_commands(walk_, settings_.stale_ms, settings_.reconciler_due_for_ms),
          metrics_.redispatch);
    case Branch::kLeases:
      return recover_leases();
    case Branch::kStuck:
      return page(store_.release_stuck_commands(walk_), metrics_.outbox_release);
    case Branch::kSlots:
      return page(store_.repair_serial_slots(walk_), metrics_.unblock);
  }
  return false;
}

// One page a pass: what a large incident expired comes back in portions (D16).
base::Result<bool> Reconciler::recover_leases() {
  if (grace_) return false;
  WAYBILL_ASSIGN(const auto recovered, store_.recover_expired_leases(settings_.recover_limit,
                                                                     settings_.recovery_spread_ms));
  note_recovered(recovered);
  return false;
}

void Reconciler::note_recovered(std::span<const store::Recovered> recovered) {
  for (const store::Recovered& one : recovered) {
    metrics_.lease_recover.add();
    if (one.owner_alive) metrics_.fenced_alive.add();
    base::log(base::LogLevel::kWarn,
              one.owner_alive ? "reconciler.fenced_alive" : "reconciler.lease_recovered",
              {{"taskId", one.execution.id},
               {"dispatchVersion", one.execution.version},
               {"status", core::to_string(one.to)}});
    if (one.object_key.empty() || remover_ == nullptr) continue;
    const auto removed = remover_->remove(one.storage_id, one.object_key);
    if (removed.ok()) {
      metrics_.objects_removed.add(*removed ? 1 : 0);
      continue;
    }
    metrics_.object_remove_failures.add();
    base::log(base::LogLevel::kWarn, "reconciler.object_not_removed",
              {{"taskId", one.execution.id}, {"message", removed.error().message}});
  }
}

base::Status Reconciler::recover_all_running() {
  for (;;) {
    WAYBILL_ASSIGN(const auto recovered, store_.recover_all_running(settings_.recover_limit));
    note_recovered(recovered);
    if (static_cast<std::int64_t>(recovered.size()) < settings_.recover_limit) return {};
  }
}

}  // namespace waybill::dispatch
