#include "exporting/waiter.h"

#include <algorithm>

#include "base/wake.h"

namespace waybill::exporting {

bool ClockWaiter::wait(base::Millis delay_ms, const std::function<bool()>& stop) {
  constexpr base::Millis kAskEveryMs = 100;
  const base::Millis until = clock_.boot_ms() + delay_ms;
  base::Wake never_raised;
  while (!stop()) {
    const base::Millis left = until - clock_.boot_ms();
    if (left <= 0) return true;
    never_raised.wait_for(std::min(left, kAskEveryMs));
  }
  return false;
}

}  // namespace waybill::exporting
