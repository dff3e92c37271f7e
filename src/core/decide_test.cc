#include "core/decide.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace waybill::core {
namespace {

constexpr base::Millis kNow = 1'700'000'000'000;
constexpr base::Millis kMinute = 60'000;

TaskFacts facts(TaskStatus status) {
  TaskFacts task;
  task.status = status;
  task.attempt_count = 1;
  task.max_attempts = 3;
  task.due_at = kNow;
  task.execution_deadline_at = status == TaskStatus::kRunning ? kNow + kMinute : 0;
  task.max_duration_ms = 30 * kMinute;
  return task;
}

EventInput input(Event event) {
  EventInput in;
  in.event = event;
  in.now = kNow;
  in.failure_class = FailureClass::kSystem;
  in.failure_message = "provider answered 503";
  return in;
}

Change run(const TaskFacts& task, Event event) { return decide(task, input(event), {}); }

// Every combination of the facts that the rules look at.
std::vector<TaskFacts> all_facts(TaskStatus status) {
  std::vector<TaskFacts> all;
  for (int bits = 0; bits < 128; ++bits) {
    TaskFacts task = facts(status);
    task.kind = bits & 1 ? TaskKind::kAction : TaskKind::kExport;
    task.attempt_count = bits & 2 ? 3 : 1;
    task.due_at = bits & 4 ? kNow + 1 : kNow;
    if (status == TaskStatus::kRunning) task.execution_deadline_at = bits & 8 ? kNow : kNow + 1;
    task.cancel_requested = bits & 16;
    task.has_serial_key = bits & 32;
    task.holds_serial_key = (bits & 96) == 96;
    all.push_back(task);
  }
  return all;
}

std::string result(const Change& change) {
  if (change.refused()) return "-" + std::string(to_string(change.refusal));
  return std::string(to_string(change.to)) + (change.raise_version ? "+1" : "");
}

std::string file_text(const std::string& path) {
  std::ifstream in(std::string(WAYBILL_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// Cells of a line "| a | b |"; empty for other lines.
std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> found;
  if (!line.starts_with("|")) return found;
  auto parts = base::split(line, '|');
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) found.emplace_back(base::trim(parts[i]));
  return found;
}

TEST(StateMachineDocument, EqualsTheCodeForEveryStateAndEvent) {
  const std::string text = file_text("docs/state_machine.md");
  const auto start = text.find("## Table");
  ASSERT_NE(start, std::string::npos);
  std::vector<std::vector<std::string>> rows;
  for (std::string_view line : base::split(std::string_view(text).substr(start), '\n')) {
    if (auto row = cells(line); row.size() == 1 + kTaskStatusCount && row[1].find("---") != 0) {
      rows.push_back(row);
    }
  }
  ASSERT_EQ(rows.size(), 1u + kEventCount);
  int pairs = 0;
  for (int s = 0; s < kTaskStatusCount; ++s) {
    const auto status = static_cast<TaskStatus>(s);
    EXPECT_EQ(rows[0][static_cast<std::size_t>(s) + 1], to_string(status));
    for (int e = 0; e < kEventCount; ++e) {
      const auto event = static_cast<Event>(e);
      const auto& row = rows[static_cast<std::size_t>(e) + 1];
      EXPECT_EQ(row[0], to_string(event));
      std::set<std::string> drawn;
      for (std::string_view word : base::split(row[static_cast<std::size_t>(s) + 1], ',')) {
        drawn.emplace(base::trim(word));
      }
      std::set<std::string> decided;
      for (const TaskFacts& task : all_facts(status)) decided.insert(result(run(task, event)));
      EXPECT_EQ(drawn, decided) << to_string(event) << " on " << to_string(status);
      ++pairs;
    }
  }
  EXPECT_EQ(pairs, 7 * 13);
}

TEST(Decide, KeepsItsPromisesForEveryCombination) {
  for (int s = 0; s < kTaskStatusCount; ++s) {
    for (int e = 0; e < kEventCount; ++e) {
      for (const TaskFacts& task : all_facts(static_cast<TaskStatus>(s))) {
        const auto event = static_cast<Event>(e);
        const Change change = run(task, event);
        SCOPED_TRACE(std::string(to_string(event)) + " on " + std::string(to_string(task.status)));
        if (change.refused()) {
          EXPECT_EQ(change.to, task.status);
          EXPECT_FALSE(change.raise_version || change.make_command || change.delete_command ||
                       change.delete_object || change.release_key || change.archive_attempt ||
                       change.request_cancel || change.clear_cancel || change.reset_result);
          EXPECT_EQ(change.failure, FailureUpdate::kKeep);
          EXPECT_EQ(change.attempts, AttemptUpdate::kKeep);
          continue;
        }
        // I3: the version grows exactly when an execution attempt is given up or a person retries.
        const bool back =
            (change.to == TaskStatus::kPending || change.to == TaskStatus::kBlocked) &&
            task.status != TaskStatus::kBlocked;
        EXPECT_EQ(change.raise_version, back);
        EXPECT_EQ(change.archive_attempt, change.raise_version);
        // I2, I9: exactly a PENDING task has a command.
        EXPECT_EQ(change.make_command, change.to == TaskStatus::kPending);
        // F2: nobody moves a task with a requested cancel out of RUNNING to PENDING.
        if (task.status == TaskStatus::kRunning && task.cancel_requested) {
          EXPECT_FALSE(back);
        }
        // I17: every end frees the key, and nothing else does.
        EXPECT_EQ(change.release_key, is_ended(change.to) && task.holds_serial_key);
        // I12: an execution that ends without success leaves no file.
        if (task.status == TaskStatus::kRunning && change.to != TaskStatus::kRunning) {
          EXPECT_EQ(change.delete_object, change.to != TaskStatus::kSucceeded);
        }
        // I16: back to PENDING only with the key.
        if (back && task.has_serial_key) {
          EXPECT_EQ(change.to == TaskStatus::kPending, task.holds_serial_key);
        }
        if (change.to == TaskStatus::kPending || change.to == TaskStatus::kBlocked) {
          EXPECT_GE(change.due_at, kNow);
        }
        if (change.to == TaskStatus::kFailed) {
          EXPECT_EQ(change.failure, FailureUpdate::kSet);
          EXPECT_NE(change.failure_class, FailureClass::kNone);
          EXPECT_FALSE(change.failure_message.empty());
        }
      }
    }
  }
}

TEST(Decide, ClaimCountsTheAttemptAndConsumesTheCommand) {
  const Change change = run(facts(TaskStatus::kPending), Event::kClaim);
  EXPECT_EQ(change.to, TaskStatus::kRunning);
  EXPECT_EQ(change.attempts, AttemptUpdate::kAddOne);
  EXPECT_EQ(change.failure, FailureUpdate::kClear);
  EXPECT_TRUE(change.delete_command);
  TaskFacts early = facts(TaskStatus::kPending);
  early.due_at = kNow + 1;
  EXPECT_EQ(run(early, Event::kClaim).refusal, Refusal::kEarly);
}

TEST(Decide, AnExportsSuccessGivesWayToCancelAnActionsDoesNot) {
  TaskFacts task = facts(TaskStatus::kRunning);
  task.cancel_requested = true;
  EXPECT_EQ(run(task, Event::kSucceed).refusal, Refusal::kCancelled);
  EXPECT_EQ(run(task, Event::kStopObserved).to, TaskStatus::kCancelled);
  task.kind = TaskKind::kAction;
  EXPECT_EQ(run(task, Event::kSucceed).to, TaskStatus::kSucceeded);
  task.execution_deadline_at = kNow;
  EXPECT_EQ(run(task, Event::kSucceed).refusal, Refusal::kOverdue);
  task.kind = TaskKind::kExport;
  EXPECT_EQ(run(task, Event::kSucceed).refusal, Refusal::kCancelled) << "the cancel is named";
}

TEST(Decide, SuccessNeedsTimeLeft) {
  TaskFacts task = facts(TaskStatus::kRunning);
  task.execution_deadline_at = kNow + 1;
  EXPECT_EQ(run(task, Event::kSucceed).to, TaskStatus::kSucceeded);
  task.execution_deadline_at = kNow;
  EXPECT_EQ(run(task, Event::kSucceed).refusal, Refusal::kOverdue);
}

TEST(Decide, TransientErrorsComeBackAfterOneAndFifteenMinutesThenFail) {
  TaskFacts task = facts(TaskStatus::kRunning);
  Change change = run(task, Event::kRetryLater);
  EXPECT_EQ(change.to, TaskStatus::kPending);
  EXPECT_EQ(change.due_at, kNow + kMinute);
  EXPECT_EQ(change.failure_message, "provider answered 503");
  EXPECT_EQ(change.attempts, AttemptUpdate::kKeep);
  EXPECT_TRUE(change.reset_result);
  task.attempt_count = 2;
  EXPECT_EQ(run(task, Event::kRetryLater).due_at, kNow + 15 * kMinute);
  task.attempt_count = 3;
  change = run(task, Event::kRetryLater);
  EXPECT_EQ(change.to, TaskStatus::kFailed);
  EXPECT_FALSE(change.raise_version);
  EXPECT_EQ(change.failure_class, FailureClass::kSystem);
  task.attempt_count = 9;  // max_attempts was lowered by hand
  EXPECT_EQ(run(task, Event::kRetryLater).to, TaskStatus::kFailed);
}

TEST(Decide, OverdueReportsTheMaximumDuration) {
  TaskFacts task = facts(TaskStatus::kRunning);
  Change change = run(task, Event::kOverdue);
  EXPECT_EQ(change.to, TaskStatus::kPending);
  EXPECT_EQ(change.failure_class, FailureClass::kTimeout);
  EXPECT_EQ(change.failure_message, "exceeded the maximum duration of 30 minutes");
  EXPECT_EQ(change.due_at, kNow + kMinute);
  task.attempt_count = 3;
  EXPECT_EQ(run(task, Event::kOverdue).to, TaskStatus::kFailed);
  EXPECT_EQ(overdue_message(kMinute), "exceeded the maximum duration of 1 minute");
  EXPECT_EQ(overdue_message(90'000), "exceeded the maximum duration of 2 minutes");
}

TEST(Decide, ReleaseTakesTheAttemptBack) {
  TaskFacts task = facts(TaskStatus::kRunning);
  task.attempt_count = 3;
  EventInput in = input(Event::kRelease);
  in.failure_message.clear();
  const Change change = decide(task, in, {});
  EXPECT_EQ(change.to, TaskStatus::kPending);
  EXPECT_EQ(change.attempts, AttemptUpdate::kTakeBack);
  EXPECT_EQ(change.due_at, kNow);
  EXPECT_EQ(change.failure_message, kReleasedMessage);
}

TEST(Decide, AReleaseMayAskForAPause) {
  TaskFacts task = facts(TaskStatus::kRunning);
  task.attempt_count = 3;
  EventInput in = input(Event::kRelease);
  in.failure_message = "no room";
  in.retry_after_ms = kMinute;
  const Change change = decide(task, in, {});
  EXPECT_EQ(change.to, TaskStatus::kPending);
  EXPECT_EQ(change.attempts, AttemptUpdate::kTakeBack);
  EXPECT_EQ(change.due_at, kNow + kMinute);
  EXPECT_EQ(change.failure_message, "no room");
  in.retry_after_ms = 100 * kMaxRetryAfterMs;
  EXPECT_EQ(decide(task, in, {}).due_at, kNow + kMaxRetryAfterMs);
  in.retry_after_ms = -1;
  EXPECT_EQ(decide(task, in, {}).due_at, kNow);
}

TEST(Decide, LostComesBackAtOnceAndFailsAtTheLastAttempt) {
  TaskFacts task = facts(TaskStatus::kRunning);
  EventInput in = input(Event::kLost);
  in.extra_delay_ms = 250;
  Change change = decide(task, in, {});
  EXPECT_EQ(change.to, TaskStatus::kPending);
  EXPECT_EQ(change.due_at, kNow + 250);
  EXPECT_EQ(change.failure_class, FailureClass::kLost);
  task.attempt_count = 3;
  change = decide(task, in, {});
  EXPECT_EQ(change.to, TaskStatus::kFailed);
  EXPECT_EQ(change.failure_message, kLostMessage);
  task.execution_deadline_at = kNow;
  change = decide(task, in, {});
  EXPECT_EQ(change.failure_class, FailureClass::kTimeout);
  EXPECT_EQ(change.failure_message, overdue_message(30 * kMinute));
  task.cancel_requested = true;
  EXPECT_EQ(decide(task, in, {}).to, TaskStatus::kCancelled);
}

TEST(Decide, CancelOfARunningTaskOnlyAsks) {
  const Change change = run(facts(TaskStatus::kRunning), Event::kCancel);
  EXPECT_EQ(change.to, TaskStatus::kRunning);
  EXPECT_TRUE(change.request_cancel);
  EXPECT_TRUE(run(facts(TaskStatus::kPending), Event::kCancel).delete_command);
}

TEST(Decide, ManualRetryStartsOver) {
  TaskFacts task = facts(TaskStatus::kFailed);
  task.attempt_count = 3;
  task.cancel_requested = true;
  Change change = run(task, Event::kManualRetry);
  EXPECT_EQ(change.to, TaskStatus::kPending);
  EXPECT_EQ(change.attempts, AttemptUpdate::kReset);
  EXPECT_EQ(change.failure, FailureUpdate::kClear);
  EXPECT_TRUE(change.clear_cancel && change.delete_object && change.reset_result);
  EXPECT_EQ(change.due_at, kNow);
  EXPECT_FALSE(change.last_in_line);
  task.has_serial_key = true;
  change = run(task, Event::kManualRetry);
  EXPECT_EQ(change.to, TaskStatus::kBlocked);
  EXPECT_FALSE(change.make_command);
  EXPECT_TRUE(change.last_in_line);
}

TEST(Decide, PoisonFailsAPendingTaskAndKeepsTheEvidence) {
  const Change change = run(facts(TaskStatus::kPending), Event::kQuarantine);
  EXPECT_EQ(change.failure_class, FailureClass::kPoison);
  EXPECT_EQ(change.failure_message, kPoisonMessage);
  EXPECT_FALSE(change.delete_command);
}

TEST(Decide, PromoteKeepsARunningBackOff) {
  TaskFacts task = facts(TaskStatus::kBlocked);
  task.due_at = kNow - 5;
  EXPECT_EQ(run(task, Event::kPromote).due_at, kNow);
  task.due_at = kNow + kMinute;
  EXPECT_EQ(run(task, Event::kPromote).due_at, kNow + kMinute);
}

TEST(Decide, CutsMessagesByCharactersAndMakesThemStorable) {
  EventInput in = input(Event::kFail);
  in.failure_message.clear();
  for (std::size_t i = 0; i < kMaxFailureMessage + 5; ++i) in.failure_message += "错";
  Change change = decide(facts(TaskStatus::kRunning), in, {});
  EXPECT_EQ(base::utf8_length(change.failure_message), kMaxFailureMessage);
  in.failure_message = std::string("a\0b\xff", 4);
  change = decide(facts(TaskStatus::kRunning), in, {});
  EXPECT_EQ(change.failure_message, "a b\xEF\xBF\xBD");
}

TEST(Backoff, StaysWithinTwentyPercentAndRepeatsTheLastStep) {
  const RetryPolicy policy;
  EXPECT_EQ(backoff_ms(policy, 1, 0.0), 48'000);
  EXPECT_EQ(backoff_ms(policy, 1, 0.5), 60'000);
  EXPECT_LE(backoff_ms(policy, 1, 0.999999), 72'000);
  EXPECT_EQ(backoff_ms(policy, 2, 0.5), 900'000);
  EXPECT_EQ(backoff_ms(policy, 7, 0.5), 900'000);
  EXPECT_EQ(backoff_ms({{}, 0.2}, 1, 0.5), 0);
}

TEST(Backoff, NeverComesBeforeRetryAfter) {  // D84
  TaskFacts task = facts(TaskStatus::kRunning);
  EventInput in = input(Event::kRetryLater);
  std::set<base::Millis> times;
  for (int i = 0; i < 1000; ++i) {
    in.jitter = i / 1000.0;
    in.retry_after_ms = kMinute;
    const base::Millis delay = decide(task, in, {}).due_at - kNow;
    EXPECT_GE(delay, kMinute);
    EXPECT_LE(delay, 72'000);
    times.insert(delay);
  }
  EXPECT_GT(times.size(), 900u) << "a thousand tasks must not come back in the same moment";
  in.jitter = 0;
  in.retry_after_ms = 3'600'000;
  EXPECT_EQ(decide(task, in, {}).due_at, kNow + kMaxRetryAfterMs);
  in.retry_after_ms = -1;
  EXPECT_EQ(decide(task, in, {}).due_at, kNow + 48'000);
}

}  // namespace
}  // namespace waybill::core
