// The one loop that runs every role. A role reacts: its step() does what is due now and says how
// long to wait at most. Waiting, error back-off, logging, counting and the thread exist here, once.
// A simulator calls the steps itself.

#ifndef WAYBILL_DISPATCH_LOOP_H_
#define WAYBILL_DISPATCH_LOOP_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/spawner.h"
#include "base/wake.h"
#include "dispatch/metrics.h"

namespace waybill::dispatch {

using base::Millis;

// What a step asks for: to be called again at once, or after at most `wait_ms` (earlier when
// woken).
struct Next {
  Millis wait_ms = 0;
  bool again = false;
  static Next at_once() { return {.wait_ms = 0, .again = true}; }
  static Next after(Millis wait) { return {.wait_ms = wait, .again = false}; }
};

using Step = std::function<base::Result<Next>()>;

// A step, the condition that cuts its waiting short, and what must happen when its thread ends.
struct Role {
  std::string name;  // "consumer"; also the thread's name
  Step step;
  base::Wake* wake = nullptr;   // outlives the loop
  std::function<void()> begun;  // optional, before the first step, on the loop's thread
  std::function<void()>
      ended;  // optional, after the last step, on the loop's thread, whatever the reason
};

// Thread-safe. start() and stop() may be called any number of times, in any order, from any thread;
// a second start() of a running loop and a second stop() do nothing. The destructor stops. A step's
// error is logged once per change of its message, counted, and answered with a growing delay (100
// ms, doubling, at most 5 s); the loop goes on for ever.
class Loop {
 public:
  Loop(Role role, base::Spawner& spawner, Metrics& metrics);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // kUnavailable where no thread can be had.
  base::Status start();
  void stop();
  [[nodiscard]] bool running() const { return running_.load(); }
  [[nodiscard]] const std::string& name() const { return role_.name; }

 private:
  void run();

  const Role role_;
  base::Spawner& spawner_;
  Metrics& metrics_;
  std::mutex control_;                     // start and stop, one at a time
  std::unique_ptr<base::Spawned> thread_;  // guarded by control_
  base::Wake stop_wake_;                   // ends an error's delay; other wake-ups do not
  std::atomic<bool> stopping_{false};
  std::atomic<bool> running_{false};
};

// The delays between failing tries: grows from `min` by doubling up to `max`. Not thread-safe.
class Backoff {
 public:
  Backoff(Millis min, Millis max) : min_(min), max_(max) {}
  Millis next() {
    current_ = current_ == 0 ? min_ : (current_ > max_ / 2 ? max_ : current_ * 2);
    return current_;
  }
  void reset() { current_ = 0; }
  [[nodiscard]] bool active() const { return current_ != 0; }

 private:
  Millis min_, max_, current_ = 0;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_LOOP_H_
