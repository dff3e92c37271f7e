#include "dispatch/loop.h"

#include <algorithm>

#include "base/log.h"

namespace waybill::dispatch {
namespace {

constexpr Millis kErrorDelayMinMs = 100;
constexpr Millis kErrorDelayMaxMs = 5'000;
constexpr Millis kLongestWaitMs =
    60'000;  // whatever a step asks for: a bug must not sleep for ever

}  // namespace

Loop::Loop(Role role, base::Spawner& spawner, Metrics& metrics)
    : role_(std::move(role)), spawner_(spawner), metrics_(metrics) {}

Loop::~Loop() { stop(); }

base::Status Loop::start() {
  const std::lock_guard lock(control_);
  if (thread_ != nullptr) return {};
  stopping_ = false;
  running_ = true;
  thread_ = spawner_.spawn(role_.name, [this] { run(); });
  if (thread_ == nullptr) {
    running_ = false;
    return base::unavailable("no thread for role " + role_.name);
  }
  return {};
}

void Loop::stop() {
  const std::lock_guard lock(control_);
  if (thread_ == nullptr) return;
  stopping_ = true;
  role_.wake->raise();
  stop_wake_.raise();
  thread_->join();
  thread_.reset();
}

void Loop::run() {
  if (role_.begun) role_.begun();
  Backoff delay(kErrorDelayMinMs, kErrorDelayMaxMs);
  std::string last_error;
  while (!stopping_.load()) {
    const base::Result<Next> next = role_.step();
    if (!next.ok()) {
      metrics_.loop_errors.add();
      if (next.error().message != last_error) {
        last_error = next.error().message;
        base::log(base::LogLevel::kError, "role.step_failed",
                  {{"role", role_.name},
                   {"category", base::to_string(next.error().category)},
                   {"message", last_error}});
      }
      // A wake-up must not turn a failing role into a busy loop, so the delay is served in full; a
      // stop cuts it.
      if (!stopping_.load()) stop_wake_.wait_for(delay.next());
      continue;
    }
    if (delay.active()) {
      delay.reset();
      last_error.clear();
      base::log(base::LogLevel::kInfo, "role.recovered", {{"role", role_.name}});
    }
    if (next->again) continue;
    role_.wake->wait_for(std::clamp<Millis>(next->wait_ms, 0, kLongestWaitMs));
  }
  running_ = false;
  if (role_.ended) role_.ended();
}

}  // namespace waybill::dispatch
