#include "dispatch/shutdown.h"

#include <algorithm>

#include "base/log.h"

namespace waybill::dispatch {
namespace {

constexpr Millis kLookAgainMs = 200;  // run(): notices `hurry` within this time

}  // namespace

Shutdown::Shutdown(const Settings& settings, Workbench& bench, const base::Clock& clock)
    : settings_(settings), bench_(bench), clock_(clock) {}

Next Shutdown::step() {
  const Millis now = clock_.boot_ms();
  if (phase_ == Phase::kNew) {
    bench_.stop_claiming();
    bench_.announce_free();  // wakes the feeds, so that they drop what they hold
    phase_ = Phase::kGrace;
    phase_ends_ = now + settings_.shutdown_grace_ms;
  }
  if (bench_.quiet()) {
    phase_ = Phase::kDone;
    return Next::after(0);
  }
  if (phase_ == Phase::kGrace && now >= phase_ends_) {
    base::log(base::LogLevel::kInfo, "shutdown.releasing",
              {{"executions", static_cast<std::int64_t>(bench_.map().size())}});
    bench_.map().request_all(StopReason::kShutdown);
    phase_ = Phase::kRelease;
    phase_ends_ = now + settings_.shutdown_release_ms;
  }
  if (phase_ == Phase::kRelease && now >= phase_ends_) {
    // What never reacts is left to its lease: I1 holds, only later.
    base::log(base::LogLevel::kError, "shutdown.executions_left",
              {{"executions", static_cast<std::int64_t>(bench_.map().size())}});
    phase_ = Phase::kDone;
  }
  return Next::after(std::max<Millis>(phase_ends_ - now, 0));
}

void Shutdown::run(const std::atomic<bool>* hurry) {
  for (Next next = step(); !done(); next = step()) {
    if (hurry != nullptr && hurry->load() && phase_ == Phase::kGrace) {
      phase_ends_ = clock_.boot_ms();
      continue;
    }
    bench_.map().drained().wait_for(std::min(next.wait_ms, kLookAgainMs));
  }
}

}  // namespace waybill::dispatch
