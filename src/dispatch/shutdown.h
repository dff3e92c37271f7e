// How a process stops: no new work; running executions may end within the grace; what is left is
// told to stop and handed back to the others (version + 1, due now, attempt not counted), which
// costs seconds, not a lease (F22).

#ifndef WAYBILL_DISPATCH_SHUTDOWN_H_
#define WAYBILL_DISPATCH_SHUTDOWN_H_

#include <atomic>

#include "base/clock.h"
#include "base/wake.h"
#include "dispatch/execution_map.h"
#include "dispatch/loop.h"
#include "dispatch/workbench.h"

namespace waybill::dispatch {

// Not thread-safe. The consumer's loop must go on running: it commits the outcomes.
class Shutdown {
 public:
  Shutdown(const Settings& settings, Workbench& bench, const base::Clock& clock);

  // From the first call on nothing new starts. Returns how long to wait at most; done() says when
  // to stop asking.
  Next step();
  [[nodiscard]] bool done() const { return phase_ == Phase::kDone; }
  // Everything that ran has been settled. False after done(): something never reacted; its lease
  // will run out.
  [[nodiscard]] bool clean() const { return bench_.quiet(); }
  // Calls step() until done. The grace is cut short when `hurry` is set (a second SIGTERM).
  void run(const std::atomic<bool>* hurry = nullptr);

 private:
  enum class Phase : std::uint8_t { kNew, kGrace, kRelease, kDone };
  const Settings& settings_;
  Workbench& bench_;
  const base::Clock& clock_;
  Phase phase_ = Phase::kNew;
  Millis phase_ends_ = 0;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_SHUTDOWN_H_
