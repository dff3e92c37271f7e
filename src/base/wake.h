// A condition that one loop waits for and anybody may raise. Raising before waiting is not lost.

#ifndef WAYBILL_BASE_WAKE_H_
#define WAYBILL_BASE_WAKE_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/clock.h"

namespace waybill::base {

// Thread-safe. One waiter at a time.
class Wake {
 public:
  void raise() {
    {
      const std::lock_guard lock(mutex_);
      raised_ = true;
    }
    condition_.notify_all();
  }
  // The condition now, cleared; never waits. For a scheduler that runs many loops itself.
  bool take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(raised_, false);
  }
  // Waits until raised or for `timeout` milliseconds; clears the condition. True when it was
  // raised.
  bool wait_for(Millis timeout) {
    std::unique_lock lock(mutex_);
    condition_.wait_for(lock, std::chrono::milliseconds(timeout), [this] { return raised_; });
    return std::exchange(raised_, false);
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool raised_ = false;
};

}  // namespace waybill::base

#endif  // WAYBILL_BASE_WAKE_H_
