// Waiting as a seam: the pause before a page is asked for again must end at once when the execution
// has to stop, and must cost a test nothing.

#ifndef WAYBILL_EXPORTING_WAITER_H_
#define WAYBILL_EXPORTING_WAITER_H_

#include <functional>

#include "base/clock.h"

namespace waybill::exporting {

// Thread-safe.
class Waiter {
 public:
  virtual ~Waiter() = default;
  // Waits `delay_ms` or until `stop` says true, whichever comes first. True when the whole delay
  // passed.
  virtual bool wait(base::Millis delay_ms, const std::function<bool()>& stop) = 0;
};

// Real time, by the clock's monotonic side; asks `stop` every 100 ms.
class ClockWaiter final : public Waiter {
 public:
  // `clock` must outlive the waiter.
  explicit ClockWaiter(const base::Clock& clock) : clock_(clock) {}
  bool wait(base::Millis delay_ms, const std::function<bool()>& stop) override;

 private:
  const base::Clock& clock_;
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_WAITER_H_
