#include "dispatch/watchdog.h"

#include <algorithm>

#include "base/log.h"

namespace waybill::dispatch {

Watchdog::Watchdog(const Settings& settings, store::WorkStore& store, ExecutionMap& map,
                   const base::Clock& clock, Metrics& metrics)
    : settings_(settings),
      store_(store),
      map_(map),
      clock_(clock),
      metrics_(metrics),
      next_renewal_(clock.boot_ms() + settings.heartbeat_ms) {}

base::Result<Next> Watchdog::step() {
  // Before any renewal: a process that was frozen past its leases must not revive executions whose
  // guarantee had ended, even where nobody else has taken them over yet.
  stop_unproved();
  if (clock_.boot_ms() >= next_renewal_) renew(clock_.boot_ms());
  // And after it: a renewal that hung must not hide that the leases have run out meanwhile.
  const std::optional<Millis> next_stop = stop_unproved();
  Millis wait = std::max<Millis>(next_renewal_ - clock_.boot_ms(), 0);
  if (next_stop) wait = std::min(wait, *next_stop);
  return Next::after(wait);
}

std::optional<Millis> Watchdog::stop_unproved() {
  std::optional<Millis> next_stop;
  const std::size_t stopped = map_.stop_unproved(clock_.boot_ms(), settings_.lease_ms, &next_stop);
  if (stopped > 0) {
    metrics_.leases_unproved.add(static_cast<std::int64_t>(stopped));
    base::log(base::LogLevel::kError, "watchdog.leases_unproved",
              {{"executions", static_cast<std::int64_t>(stopped)}});
  }
  return next_stop;
}

void Watchdog::renew(Millis now) {
  const std::vector<ExecutionMap::Entry> asked = map_.leased();
  store::Renew request{.owner = settings_.owner, .lease_ms = settings_.lease_ms, .executions = {}};
  request.executions.reserve(asked.size());
  for (const auto& entry : asked) request.executions.push_back(entry.execution);
  const auto report = store_.renew(request);
  if (!report.ok() || report->outcomes.size() != asked.size()) {
    metrics_.renewal_failures.add();
    if (!failing_) {
      base::log(base::LogLevel::kError, "watchdog.renewal_failed",
                {{"executions", static_cast<std::int64_t>(asked.size())},
                 {"message", report.ok() ? std::string("the answer has another size")
                                         : report.error().message}});
    }
    failing_ = true;
    next_renewal_ = clock_.boot_ms() + settings_.renewal_retry_ms;
    return;
  }
  if (failing_) base::log(base::LogLevel::kInfo, "watchdog.renewal_works_again");
  failing_ = false;
  metrics_.renewals.add();
  next_renewal_ = now + settings_.heartbeat_ms;
  apply(asked, *report, now);
  release_strays(report->strays);
}

void Watchdog::apply(const std::vector<ExecutionMap::Entry>& asked,
                     const store::RenewReport& report, Millis request_started) {
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const core::Execution& execution = asked[i].execution;
    switch (report.outcomes[i]) {
      case store::RenewOutcome::kOk:
        map_.prove(execution, request_started);
        break;
      case store::RenewOutcome::kCancel:
        map_.prove(execution, request_started);
        map_.request(execution, StopReason::kCancelled);
        break;
      case store::RenewOutcome::kOverdue:
        if (map_.request(execution, StopReason::kOverdue)) metrics_.leases_overdue.add();
        break;
      case store::RenewOutcome::kLost:
        // An ending execution may have been committed between our list and the statement; its
        // finish knows better.
        if (asked[i].ending) break;
        if (map_.request(execution, StopReason::kLostLease)) {
          metrics_.leases_lost.add();
          base::log(base::LogLevel::kWarn, "watchdog.lease_lost",
                    {{"taskId", execution.id}, {"dispatchVersion", execution.version}});
        }
        break;
    }
  }
}

// RUNNING in my name, yet nobody here executes it: a claim whose answer was lost. Seen twice,
// because between a claim's commit and its entry into the map lies a moment.
void Watchdog::release_strays(const std::vector<core::Execution>& strays) {
  std::set<core::Execution> seen;
  std::vector<store::Finish> releases;
  for (const core::Execution& stray : strays) {
    if (map_.contains(stray)) continue;
    if (seen_strays_.contains(stray) && releases.size() < store::kMaxBatch) {
      store::Finish finish;
      finish.execution = stray;
      finish.event = core::Event::kRelease;
      releases.push_back(std::move(finish));
    }
    seen.insert(stray);
  }
  seen_strays_ = std::move(seen);
  if (releases.empty()) return;
  // A failure needs no retry of its own: the next renewal sees the same strays.
  const auto outcomes = store_.finish(settings_.owner, releases);
  if (!outcomes.ok()) return;
  metrics_.strays_released.add(static_cast<std::int64_t>(releases.size()));
  base::log(base::LogLevel::kWarn, "watchdog.strays_released",
            {{"executions", static_cast<std::int64_t>(releases.size())}});
}

void Watchdog::ended() {
  const std::size_t left = map_.size();
  map_.set_guarded(false);
  if (left == 0) return;
  base::log(base::LogLevel::kError, "watchdog.ended",
            {{"executions", static_cast<std::int64_t>(left)}});
}

}  // namespace waybill::dispatch
