// Keeps the leases of everything this process executes, and stops what cannot be kept. It knows
// nothing about the work: no progress, page or upload renews a lease (I7).

#ifndef WAYBILL_DISPATCH_WATCHDOG_H_
#define WAYBILL_DISPATCH_WATCHDOG_H_

#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/wake.h"
#include "dispatch/execution_map.h"
#include "dispatch/loop.h"
#include "dispatch/settings.h"
#include "store/store.h"

namespace waybill::dispatch {

// Needs a loop and a thread of its own; begun() and ended() belong into its Role. step() from one
// thread at a time.
class Watchdog {
 public:
  Watchdog(const Settings& settings, store::WorkStore& store, ExecutionMap& map,
           const base::Clock& clock, Metrics& metrics);

  base::Result<Next> step();
  void begun() { map_.set_guarded(true); }
  // The loop is over, for whatever reason: nothing may run unguarded.
  void ended();
  base::Wake& wake() { return wake_; }

 private:
  // The local stop rule; returns the time until it would stop the next one.
  std::optional<Millis> stop_unproved();
  void renew(Millis now);
  void apply(const std::vector<ExecutionMap::Entry>& asked, const store::RenewReport& report,
             Millis request_started);
  void release_strays(const std::vector<core::Execution>& strays);

  const Settings& settings_;
  store::WorkStore& store_;
  ExecutionMap& map_;
  const base::Clock& clock_;
  Metrics& metrics_;
  Millis next_renewal_ = 0;
  bool failing_ = false;
  std::set<core::Execution> seen_strays_;
  base::Wake wake_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_WATCHDOG_H_
