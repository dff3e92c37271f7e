// What dispatch asks of whoever can execute a task. Asynchronous: a slot is a place for a running
// execution, not a thread; start() returns at once and the executor calls `done` exactly once, from
// any thread.

#ifndef WAYBILL_DISPATCH_EXECUTOR_H_
#define WAYBILL_DISPATCH_EXECUTOR_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "core/decide.h"
#include "store/types.h"

namespace waybill::dispatch {

// Why an execution has to stop. Set once by the watchdog, the consumer or shutdown; the first
// reason stays.
enum class StopReason : std::uint8_t { kNone, kLostLease, kOverdue, kCancelled, kShutdown };

// Shared by an execution and its guards. Thread-safe. Executions ask it before every page, every
// 10,000 rows, during upload and before committing.
class StopFlag {
 public:
  void request(StopReason reason) {
    StopReason none = StopReason::kNone;
    reason_.compare_exchange_strong(none, reason);
  }
  [[nodiscard]] StopReason reason() const { return reason_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool requested() const { return reason() != StopReason::kNone; }

 private:
  std::atomic<StopReason> reason_{StopReason::kNone};
};

// What `done` carries: the event to commit, and a hook for what must happen once it is known how
// the commit went.
struct Outcome {
  store::Finish finish;  // finish.execution is filled in by dispatch; event kSucceed kFail
                         // kRetryLater kOverdue kRelease kStopObserved. Ignored when `lost`.
  bool lost = false;     // the lease is gone: write nothing
  // Called once from a dispatch thread after the outcome is settled, with how: an executor removes
  // its object unless the answer is kCommitted for a kSucceed. Never called with an unknown
  // outcome: dispatch resolves that first; when it cannot (database away, shutdown), it is not
  // called and the orphan scan cleans up.
  std::function<void(store::FinishOutcome)> settled;
};

// Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  // I14: a type nobody here knows is not claimed.
  [[nodiscard]] virtual bool knows(std::string_view type) const = 0;
  // Everything it knows now, for the claim's filter.
  [[nodiscard]] virtual std::vector<std::string> known_types() const = 0;
  // Begins to execute. `stop` lives until `done` was called. Must not throw; failures go through
  // `done`.
  virtual void start(store::ClaimedTask task, std::shared_ptr<const StopFlag> stop,
                     std::function<void(Outcome)> done) = 0;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_EXECUTOR_H_
