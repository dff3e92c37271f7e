#include "core/decide.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace waybill::core {

namespace {

constexpr std::array<std::string_view, kEventCount> kEventWords{
    "claim", "succeed", "fail",         "retry_later", "overdue", "release", "stop_observed",
    "lost",  "cancel",  "manual_retry", "quarantine",  "promote", "expire"};

// What one cell of the table does: a rule, or the reason of a refusal.
enum class Rule : std::uint8_t {
  kTake,       // PENDING -> RUNNING
  kCommit,     // RUNNING -> SUCCEEDED
  kEndFailed,  // RUNNING -> FAILED
  kTryAgain,   // RUNNING -> PENDING after a back-off, or FAILED
  kTimeOut,    // the same, with the maximum-duration message
  kGiveBack,   // RUNNING -> PENDING now, the attempt does not count
  kStop,       // RUNNING -> CANCELLED
  kRecover,    // RUNNING -> PENDING now, or FAILED
  kWithdraw,   // PENDING, BLOCKED -> CANCELLED
  kAskToStop,  // RUNNING stays, cancel_requested
  kStartOver,  // FAILED -> PENDING with cleared counters
  kPoison,     // PENDING -> FAILED
  kUnblock,    // BLOCKED -> PENDING
  kFileGone,   // SUCCEEDED -> EXPIRED
  kEnded,      // refused: ended
  kNotRun,     // refused: not_running
  kNotFail,    // refused: not_failed
  kNotPend,    // refused: not_pending
  kNotBlock,   // refused: not_blocked
  kNotDone,    // refused: not_succeeded
};
using enum Rule;
using Row = std::array<Rule, kTaskStatusCount>;

// The life of a task. Rows: Event in its order; columns: TaskStatus in the order of its codes.
// docs/state_machine.md shows the same table with the resulting states.
// clang-format off
constexpr std::array<Row, kEventCount> kTable{{
    // PENDING    RUNNING     SUCCEEDED  FAILED      CANCELLED EXPIRED   BLOCKED
    {kTake,     kNotPend,   kEnded,    kEnded,     kEnded,   kEnded,   kNotPend},  // claim
    {kNotRun,   kCommit,    kEnded,    kEnded,     kEnded,   kEnded,   kNotRun},   // succeed
    {kNotRun,   kEndFailed, kEnded,    kEnded,     kEnded,   kEnded,   kNotRun},   // fail
    {kNotRun,   kTryAgain,  kEnded,    kEnded,     kEnded,   kEnded,   kNotRun},   // retry_later
    {kNotRun,   kTimeOut,   kEnded,    kEnded,     kEnded,   kEnded,   kNotRun},   // overdue
    {kNotRun,   kGiveBack,  kEnded,    kEnded,     kEnded,   kEnded,   kNotRun},   // release
    {kNotRun,   kStop,      kEnded,    kEnded,     kEnded,   kEnded,   kNotRun},   // stop_observed
    {kNotRun,   kRecover,   kEnded,    kEnded,     kEnded,   kEnded,   kNotRun},   // lost
    {kWithdraw, kAskToStop, kEnded,    kEnded,     kEnded,   kEnded,   kWithdraw},  // cancel
    {kNotFail,  kNotFail,   kNotFail,  kStartOver, kNotFail, kNotFail, kNotFail},  // manual_retry
    {kPoison,   kNotPend,   kEnded,    kEnded,     kEnded,   kEnded,   kNotPend},  // quarantine
    {kNotBlock, kNotBlock,  kEnded,    kEnded,     kEnded,   kEnded,   kUnblock},  // promote
    {kNotDone,  kNotDone,   kFileGone, kNotDone,   kNotDone, kNotDone, kNotDone},  // expire
}};
// clang-format on

Change refuse(const TaskFacts& task, Refusal why) {
  Change change;
  change.to = task.status;
  change.refusal = why;
  return change;
}

// A message that every database takes: well-formed UTF-8, no NUL, at most kMaxFailureMessage
// characters.
std::string stored_message(std::string_view message) {
  std::string text = base::to_utf8(base::utf8_prefix(message, kMaxFailureMessage));
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

void set_failure(Change& change, FailureClass failure, std::string_view message) {
  change.failure = FailureUpdate::kSet;
  change.failure_class = failure == FailureClass::kNone ? FailureClass::kSystem : failure;
  change.failure_message = stored_message(message);
}

// Every way to end a task gives its serial key to the next one (I17).
Change end_as(const TaskFacts& task, TaskStatus to) {
  Change change;
  change.to = to;
  change.release_key = task.holds_serial_key;
  return change;
}

// The execution that ends here leaves no file, unless it succeeded (I12).
Change end_without_file(const TaskFacts& task, TaskStatus to) {
  Change change = end_as(task, to);
  change.delete_object = true;
  return change;
}

// A new execution attempt: the three reasons of I3 all come through here. A serial task that lost
// its key waits for it as BLOCKED, without a command.
Change next_attempt(const TaskFacts& task, base::Millis due_at) {
  Change change;
  change.to =
      task.has_serial_key && !task.holds_serial_key ? TaskStatus::kBlocked : TaskStatus::kPending;
  change.raise_version = true;
  change.due_at = due_at;
  change.make_command = change.to == TaskStatus::kPending;
  change.delete_object = true;
  change.reset_result = true;
  change.archive_attempt = true;
  return change;
}

Change take(const TaskFacts& task, base::Millis now) {
  if (task.due_at > now) return refuse(task, Refusal::kEarly);
  Change change;
  change.to = TaskStatus::kRunning;
  change.attempts = AttemptUpdate::kAddOne;
  change.delete_command = true;
  change.failure = FailureUpdate::kClear;
  return change;
}

// An export's success gives way to a cancel; an action's success wins, for its effect is real.
Change commit(const TaskFacts& task, base::Millis now) {
  if (task.kind == TaskKind::kExport && task.cancel_requested)
    return refuse(task, Refusal::kCancelled);
  if (task.execution_deadline_at <= now) return refuse(task, Refusal::kOverdue);
  Change change = end_as(task, TaskStatus::kSucceeded);
  change.failure = FailureUpdate::kClear;
  return change;
}

Change end_failed(const TaskFacts& task, FailureClass failure, std::string_view message) {
  Change change = end_without_file(task, TaskStatus::kFailed);
  set_failure(change, failure, message);
  return change;
}

bool attempts_left(const TaskFacts& task) { return task.attempt_count < task.max_attempts; }

// Without attempts left the task fails with the same reason; with some, it comes back at due_at and
// keeps the reason for the user. A requested cancel comes before both: nobody moves a cancelled
// task back to PENDING.
Change again_or_fail(const TaskFacts& task, base::Millis due_at, FailureClass failure,
                     std::string_view message) {
  if (task.cancel_requested) return end_without_file(task, TaskStatus::kCancelled);
  if (!attempts_left(task)) return end_failed(task, failure, message);
  Change change = next_attempt(task, due_at);
  set_failure(change, failure, message);
  return change;
}

// A wish of the other side is never undercut: jitter is only added to it.
base::Millis retry_delay(const TaskFacts& task, const EventInput& input,
                         const RetryPolicy& policy) {
  const base::Millis own = backoff_ms(policy, std::max(task.attempt_count, 1), input.jitter);
  if (!input.retry_after_ms) return own;
  const base::Millis asked = std::clamp<base::Millis>(*input.retry_after_ms, 0, kMaxRetryAfterMs);
  const double spread = std::max(policy.jitter_fraction, 0.0) * std::clamp(input.jitter, 0.0, 1.0);
  return std::max(own, asked + std::lround(static_cast<double>(asked) * std::min(spread, 1.0)));
}

Change try_again(const TaskFacts& task, const EventInput& input, const RetryPolicy& policy) {
  return again_or_fail(task, input.now + retry_delay(task, input, policy), input.failure_class,
                       input.failure_message);
}

Change time_out(const TaskFacts& task, const EventInput& input, const RetryPolicy& policy) {
  return again_or_fail(task, input.now + retry_delay(task, input, policy), FailureClass::kTimeout,
                       overdue_message(task.max_duration_ms));
}

Change give_back(const TaskFacts& task, const EventInput& input) {
  if (task.cancel_requested) return end_without_file(task, TaskStatus::kCancelled);
  // Due now, unless its owner says that it cannot begin before a while: not even with an attempt
  // that does not count may a task come and go without a pause.
  const base::Millis pause =
      std::clamp<base::Millis>(input.retry_after_ms.value_or(0), 0, kMaxRetryAfterMs);
  Change change = next_attempt(task, input.now + pause);
  change.attempts = AttemptUpdate::kTakeBack;
  set_failure(
      change, input.failure_class,
      input.failure_message.empty() ? kReleasedMessage : std::string_view(input.failure_message));
  return change;
}

// An execution that never noticed its deadline is ended here too, and its user reads the true
// reason.
Change recover(const TaskFacts& task, const EventInput& input) {
  const base::Millis due_at = input.now + std::max<base::Millis>(input.extra_delay_ms, 0);
  if (task.execution_deadline_at <= input.now) {
    return again_or_fail(task, due_at, FailureClass::kTimeout,
                         overdue_message(task.max_duration_ms));
  }
  return again_or_fail(task, due_at, FailureClass::kLost,
                       attempts_left(task) ? kLostRetryMessage : kLostMessage);
}

Change withdraw(const TaskFacts& task) {
  Change change = end_as(task, TaskStatus::kCancelled);
  change.delete_command = task.status == TaskStatus::kPending;  // a BLOCKED task has none (I2)
  return change;
}

Change ask_to_stop(const TaskFacts& task) {
  Change change;
  change.to = task.status;
  change.request_cancel = true;
  return change;
}

Change start_over(const TaskFacts& task, base::Millis now) {
  Change change = next_attempt(task, now);
  change.attempts = AttemptUpdate::kReset;
  change.failure = FailureUpdate::kClear;
  change.clear_cancel = true;
  change.last_in_line = task.has_serial_key;
  return change;
}

// The command stays as evidence: the caller marks it QUARANTINED in the same transaction (I11).
Change poison(const TaskFacts& task) {
  Change change = end_as(task, TaskStatus::kFailed);
  set_failure(change, FailureClass::kPoison, kPoisonMessage);
  return change;
}

// A retry that lost its key keeps its back-off while it waits.
Change unblock(const TaskFacts& task, base::Millis now) {
  Change change;
  change.to = TaskStatus::kPending;
  change.due_at = std::max(task.due_at, now);
  change.make_command = true;
  return change;
}

Change file_gone(const TaskFacts& task) {
  if (task.kind != TaskKind::kExport) return refuse(task, Refusal::kNoFile);
  return end_as(task, TaskStatus::kExpired);
}

}  // namespace

std::string_view to_string(Event event) {
  const auto index = static_cast<std::size_t>(event);
  return index < kEventWords.size() ? kEventWords[index] : "unknown";
}

std::string_view to_string(Refusal refusal) {
  constexpr std::array<std::string_view, 12> kWords{
      "none",          "ended", "not_running", "not_failed", "not_pending", "not_blocked",
      "not_succeeded", "early", "overdue",     "cancelled",  "not_asked",   "no_file"};
  const auto index = static_cast<std::size_t>(refusal);
  return index < kWords.size() ? kWords[index] : "unknown";
}

std::string overdue_message(base::Millis max_duration_ms) {
  // Rounded up: a limit of 90 s reads as 2 minutes, never as 0.
  const base::Millis minutes = std::max<base::Millis>((max_duration_ms + 59'999) / 60'000, 1);
  return "exceeded the maximum duration of " + std::to_string(minutes) +
         (minutes == 1 ? " minute" : " minutes");
}

base::Millis backoff_ms(const RetryPolicy& policy, std::int32_t finished_attempts, double jitter) {
  if (policy.backoff_ms.empty()) return 0;
  const auto step = static_cast<std::size_t>(std::max(finished_attempts, 1) - 1);
  const base::Millis mean = policy.backoff_ms[std::min(step, policy.backoff_ms.size() - 1)];
  const double fraction = std::clamp(policy.jitter_fraction, 0.0, 1.0);
  const double factor = 1.0 + fraction * (2.0 * std::clamp(jitter, 0.0, 1.0) - 1.0);
  return std::max<base::Millis>(std::lround(static_cast<double>(mean) * factor), 0);
}

Change decide(const TaskFacts& task, const EventInput& input, const RetryPolicy& policy) {
  const auto row = static_cast<std::size_t>(input.event);
  const auto column = static_cast<std::size_t>(task.status);
  WAYBILL_CHECK(row < kTable.size() && column < kTable[0].size(), "no such event or state");
  switch (kTable[row][column]) {
    case kTake:
      return take(task, input.now);
    case kCommit:
      return commit(task, input.now);
    case kEndFailed:
      return end_failed(task, input.failure_class, input.failure_message);
    case kTryAgain:
      return try_again(task, input, policy);
    case kTimeOut:
      return time_out(task, input, policy);
    case kGiveBack:
      return give_back(task, input);
    case kStop:
      return task.cancel_requested ? end_without_file(task, TaskStatus::kCancelled)
                                   : refuse(task, Refusal::kNotAsked);
    case kRecover:
      return recover(task, input);
    case kWithdraw:
      return withdraw(task);
    case kAskToStop:
      return ask_to_stop(task);
    case kStartOver:
      return start_over(task, input.now);
    case kPoison:
      return poison(task);
    case kUnblock:
      return unblock(task, input.now);
    case kFileGone:
      return file_gone(task);
    case kEnded:
      return refuse(task, Refusal::kEnded);
    case kNotRun:
      return refuse(task, Refusal::kNotRunning);
    case kNotFail:
      return refuse(task, Refusal::kNotFailed);
    case kNotPend:
      return refuse(task, Refusal::kNotPending);
    case kNotBlock:
      return refuse(task, Refusal::kNotBlocked);
    case kNotDone:
      return refuse(task, Refusal::kNotSucceeded);
  }
  return refuse(task, Refusal::kEnded);
}

}  // namespace waybill::core
