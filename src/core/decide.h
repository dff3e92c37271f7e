// The rules of a task's life as one pure table: (state, event) -> change or refusal. No clock, no
// randomness, no I/O: `now` and the jitter are arguments. docs/state_machine.md draws the table; a
// test compares the two.

#ifndef WAYBILL_CORE_DECIDE_H_
#define WAYBILL_CORE_DECIDE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "core/task.h"

namespace waybill::core {

enum class Event : std::uint8_t {
  kClaim,         // a worker takes the task
  kSucceed,       // the execution committed its result
  kFail,          // permanent error of the execution
  kRetryLater,    // transient error of the execution
  kOverdue,       // the execution passed its deadline and says so
  kRelease,       // the owner gives the execution up at shutdown, or claimed and never began it
  kStopObserved,  // the execution saw cancel_requested and stopped
  kLost,          // the lease expired (reconciler), or the serving process of the file restarted
  kCancel,        // a person cancels
  kManualRetry,   // a person retries
  kQuarantine,    // the command's message was unreadable
  kPromote,       // the serial key became free for this BLOCKED task
  kExpire,        // the file's time is over and the object is gone
};
inline constexpr int kEventCount = 13;
std::string_view to_string(Event event);  // "claim", "succeed", ...

// The columns of the task row that the rules look at, as read under its lock.
struct TaskFacts {
  TaskKind kind = TaskKind::kExport;
  TaskStatus status = TaskStatus::kPending;
  std::int32_t attempt_count = 0;
  std::int32_t max_attempts = 3;
  base::Millis due_at = 0;
  base::Millis execution_deadline_at = 0;  // of the running execution, else 0
  base::Millis max_duration_ms = 0;
  bool cancel_requested = false;
  bool has_serial_key = false;
  bool holds_serial_key = false;  // its slot names this task
};

struct EventInput {
  Event event = Event::kClaim;
  base::Millis now = 0;  // the database's, read by the statement that locked the row
  double jitter = 0.5;   // [0, 1)
  FailureClass failure_class = FailureClass::kNone;  // kFail, kRetryLater
  std::string failure_message;  // for the user; cut to kMaxFailureMessage characters
  std::optional<base::Millis>
      retry_after_ms;  // kRetryLater: the other side asked for at least this; kRelease: not before
  base::Millis extra_delay_ms = 0;  // kLost: spreads many recoveries
};

struct RetryPolicy {
  std::vector<base::Millis> backoff_ms{60'000,
                                       900'000};  // before attempt 2, 3, ...; the last repeats
  double jitter_fraction = 0.2;                   // +-; a Retry-After is never undercut
};

inline constexpr std::size_t kMaxFailureMessage = 1000;  // characters
inline constexpr std::string_view kLostMessage =
    "the executing instance was lost and the attempts are used up";
inline constexpr std::string_view kLostRetryMessage = "the executing instance was lost";
inline constexpr std::string_view kReleasedMessage = "the executing instance stopped";
inline constexpr base::Millis kMaxRetryAfterMs =
    900'000;  // a longer wish of the other side is cut to 15 min
inline constexpr std::string_view kPoisonMessage =
    "the export command was damaged, please start it again";
// "exceeded the maximum duration of N minutes"
std::string overdue_message(base::Millis max_duration_ms);

enum class Refusal : std::uint8_t {
  kNone,
  kEnded,       // the task has ended
  kNotRunning,  // only a running task can do this
  kNotFailed,   // only a FAILED task can be retried by a person
  kNotPending,
  kNotBlocked,
  kNotSucceeded,
  kEarly,      // due_at lies in the future
  kOverdue,    // success after the deadline: report kOverdue instead
  kCancelled,  // an export's success while cancel is requested: report kStopObserved instead
  kNotAsked,   // kStopObserved although nobody asked to cancel
  kNoFile,     // an action has no file that could expire
};
std::string_view to_string(Refusal refusal);

enum class FailureUpdate : std::uint8_t { kKeep, kClear, kSet };
enum class AttemptUpdate : std::uint8_t { kKeep, kAddOne, kTakeBack, kReset };

// What to write. Every change is conditional on the facts it was decided from (status, version,
// owner).
struct Change {
  Refusal refusal = Refusal::kNone;  // set: nothing changes
  TaskStatus to = TaskStatus::kPending;
  bool raise_version = false;  // I3: the only three reasons
  AttemptUpdate attempts = AttemptUpdate::kKeep;
  base::Millis due_at = 0;      // when `to` is PENDING or BLOCKED
  bool make_command = false;    // at the new version, due when the task is due
  bool delete_command = false;  // of the old version, unless it is quarantined
  FailureUpdate failure = FailureUpdate::kKeep;
  FailureClass failure_class = FailureClass::kNone;
  std::string failure_message;
  bool request_cancel = false;  // only sets the flag of a running task
  bool clear_cancel = false;
  bool delete_object = false;    // the execution's own file must not survive
  bool reset_result = false;     // progress, totals, object, started/completed times
  bool archive_attempt = false;  // the attempt that ends here becomes a row of `attempt`
  bool release_key = false;      // the serial key is free afterwards: promote the next
  bool last_in_line = false;     // a serial task retried by a person takes a new serial_seq
  [[nodiscard]] bool refused() const { return refusal != Refusal::kNone; }
};

Change decide(const TaskFacts& task, const EventInput& input, const RetryPolicy& policy);

// Delay before execution number `finished_attempts + 1`, jitter included. REQUIRES:
// finished_attempts >= 1.
base::Millis backoff_ms(const RetryPolicy& policy, std::int32_t finished_attempts, double jitter);

}  // namespace waybill::core

#endif  // WAYBILL_CORE_DECIDE_H_
