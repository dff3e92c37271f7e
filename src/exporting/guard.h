// One question for all stages of an execution: do I have to stop, and why?

#ifndef WAYBILL_EXPORTING_GUARD_H_
#define WAYBILL_EXPORTING_GUARD_H_

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "dispatch/executor.h"

namespace waybill::exporting {

// Thread-safe.
class Guard {
 public:
  // `allowed_ms`: what is left until the execution's deadline, <= 0 = no deadline of our own. The
  // watchdog flags the deadline too; looking at it here ends an execution on time even while the
  // watchdog is stuck.
  Guard(std::shared_ptr<const dispatch::StopFlag> stop, const base::Clock& clock,
        base::Millis allowed_ms)
      : stop_(std::move(stop)),
        clock_(clock),
        deadline_boot_ms_(allowed_ms > 0 ? clock.boot_ms() + allowed_ms : 0) {}

  [[nodiscard]] dispatch::StopReason reason() const {
    const auto flagged = stop_->reason();
    if (flagged != dispatch::StopReason::kNone) return flagged;
    const bool overdue = deadline_boot_ms_ != 0 && clock_.boot_ms() >= deadline_boot_ms_;
    return overdue ? dispatch::StopReason::kOverdue : dispatch::StopReason::kNone;
  }
  [[nodiscard]] bool must_stop() const {
    return abandoned_.load(std::memory_order_relaxed) || reason() != dispatch::StopReason::kNone;
  }
  // Nobody wants the rest any more: the other stage has failed. Ends requests and waits, gives no
  // reason.
  void abandon() { abandoned_.store(true, std::memory_order_relaxed); }
  // For calls that take "ask this from time to time". The guard must outlive them.
  [[nodiscard]] std::function<bool()> as_function() const {
    return [this] { return must_stop(); };
  }

 private:
  const std::shared_ptr<const dispatch::StopFlag> stop_;
  const base::Clock& clock_;
  const base::Millis deadline_boot_ms_;
  std::atomic<bool> abandoned_{false};
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_GUARD_H_
