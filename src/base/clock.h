// Time as an argument. Rules take `now` as a value; only the edges hold a Clock.

#ifndef WAYBILL_BASE_CLOCK_H_
#define WAYBILL_BASE_CLOCK_H_

#include <atomic>
#include <cstdint>

namespace waybill::base {

// Milliseconds. Wall times count from 1970-01-01T00:00:00Z; boot times from an arbitrary start.
using Millis = std::int64_t;

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // The wall clock, for logs, file names and what a person reads. No decision rests on it.
  [[nodiscard]] virtual Millis wall_ms() const = 0;
  // Monotonic and counting through suspend (CLOCK_BOOTTIME): a machine that slept does not believe
  // an old lease.
  [[nodiscard]] virtual Millis boot_ms() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Millis wall_ms() const override;
  [[nodiscard]] Millis boot_ms() const override;
};

// A clock that stands still until it is told to move. For tests and the simulator. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Millis wall_ms = 1'700'000'000'000) : wall_(wall_ms), boot_(1'000'000) {}
  [[nodiscard]] Millis wall_ms() const override { return wall_.load(); }
  [[nodiscard]] Millis boot_ms() const override { return boot_.load(); }
  void advance(Millis by) {
    wall_ += by;
    boot_ += by;
  }
  // Moves the wall clock alone, as an administrator or NTP would.
  void step_wall(Millis by) { wall_ += by; }

 private:
  std::atomic<Millis> wall_;
  std::atomic<Millis> boot_;
};

}  // namespace waybill::base

#endif  // WAYBILL_BASE_CLOCK_H_
