#include "base/clock.h"

#include <ctime>

namespace waybill::base {
namespace {
Millis read(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<Millis>(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
}
}  // namespace
Millis SystemClock::wall_ms() const { return read(CLOCK_REALTIME); }
Millis SystemClock::boot_ms() const { return read(CLOCK_BOOTTIME); }
}  // namespace waybill::base
