// The nouns of dispatch: what a task and its command can be. The numbers and words below are stored
// and sent; they never change their meaning (docs/formats.md, frozen by a test).

#ifndef WAYBILL_CORE_TASK_H_
#define WAYBILL_CORE_TASK_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace waybill::core {

using TaskId = std::int64_t;

enum class TaskKind : std::int16_t { kExport = 1, kAction = 2 };

// DO NOT CHANGE: column task.status.
enum class TaskStatus : std::int16_t {
  kPending = 0,
  kRunning = 1,
  kSucceeded = 2,
  kFailed = 3,
  kCancelled = 4,
  kExpired = 5,
  kBlocked = 6,
};
inline constexpr int kTaskStatusCount = 7;

// DO NOT CHANGE: column outbox.status.
enum class CommandStatus : std::int16_t { kPending = 0, kClaimed = 1, kSent = 2, kQuarantined = 3 };

// Why a task failed, as users and operators read it. Stored by its word.
enum class FailureClass : std::uint8_t {
  kNone,
  kBusiness,
  kValidation,
  kLimit,
  kTimeout,
  kSystem,
  kLost,
  kPoison,
};

// P0 (0) is the most urgent level, P3 (3) the least.
using Level = int;
inline constexpr Level kLevels = 4;

// One execution attempt of one task: the pair that every write of a running task names.
struct Execution {
  TaskId id = 0;
  std::int32_t version = 0;
  friend auto operator<=>(const Execution&, const Execution&) = default;
};

std::string_view to_string(TaskKind kind);      // "EXPORT", "ACTION"
std::string_view to_string(TaskStatus status);  // "PENDING", ...
std::string_view to_string(CommandStatus status);
std::string_view to_string(FailureClass failure);  // "" for kNone, "BUSINESS", ...
std::string_view level_name(Level level);          // "P0".."P3"

std::optional<TaskKind> parse_task_kind(std::string_view word);
std::optional<TaskStatus> parse_task_status(std::string_view word);
std::optional<FailureClass> parse_failure_class(std::string_view word);
std::optional<Level> parse_level(std::string_view word);
std::optional<TaskStatus> task_status_of(std::int64_t code);

// PENDING or RUNNING: counts against the limits of active tasks.
constexpr bool is_active(TaskStatus s) {
  return s == TaskStatus::kPending || s == TaskStatus::kRunning;
}
// No event but a manual retry or an expiry moves it any more.
constexpr bool is_ended(TaskStatus s) {
  return s == TaskStatus::kSucceeded || s == TaskStatus::kFailed || s == TaskStatus::kCancelled ||
         s == TaskStatus::kExpired;
}

}  // namespace waybill::core

#endif  // WAYBILL_CORE_TASK_H_
