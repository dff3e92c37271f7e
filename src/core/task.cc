#include "core/task.h"

#include <array>
#include <cstddef>
#include <utility>

namespace waybill::core {

namespace {

constexpr std::array<std::string_view, 2> kKindWords{"EXPORT", "ACTION"};
constexpr std::array<std::string_view, kTaskStatusCount> kStatusWords{
    "PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "BLOCKED"};
constexpr std::array<std::string_view, 4> kCommandWords{"PENDING", "CLAIMED", "SENT",
                                                        "QUARANTINED"};
constexpr std::array<std::string_view, 8> kFailureWords{
    "", "BUSINESS", "VALIDATION", "LIMIT", "TIMEOUT", "SYSTEM", "LOST", "POISON"};
constexpr std::array<std::string_view, kLevels> kLevelWords{"P0", "P1", "P2", "P3"};

// A code read from outside may be anything: what has no word is shown as "UNKNOWN", never indexed
// blindly.
template <std::size_t N>
std::string_view word_at(const std::array<std::string_view, N>& words, std::int64_t index) {
  if (index < 0 || index >= static_cast<std::int64_t>(N)) return "UNKNOWN";
  return words[static_cast<std::size_t>(index)];
}

template <std::size_t N>
std::optional<int> index_of(const std::array<std::string_view, N>& words, std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == word) return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(TaskKind kind) {
  return word_at(kKindWords, static_cast<int>(kind) - 1);
}
std::string_view to_string(TaskStatus status) {
  return word_at(kStatusWords, static_cast<int>(status));
}
std::string_view to_string(CommandStatus status) {
  return word_at(kCommandWords, static_cast<int>(status));
}
std::string_view to_string(FailureClass failure) {
  return word_at(kFailureWords, static_cast<int>(failure));
}
std::string_view level_name(Level level) { return word_at(kLevelWords, level); }

std::optional<TaskKind> parse_task_kind(std::string_view word) {
  const auto index = index_of(kKindWords, word);
  if (!index) return std::nullopt;
  return static_cast<TaskKind>(*index + 1);
}

std::optional<TaskStatus> parse_task_status(std::string_view word) {
  const auto index = index_of(kStatusWords, word);
  if (!index) return std::nullopt;
  return static_cast<TaskStatus>(*index);
}

std::optional<FailureClass> parse_failure_class(std::string_view word) {
  const auto index = index_of(kFailureWords, word);
  if (!index) return std::nullopt;
  return static_cast<FailureClass>(*index);
}

std::optional<Level> parse_level(std::string_view word) { return index_of(kLevelWords, word); }

std::optional<TaskStatus> task_status_of(std::int64_t code) {
  if (code < 0 || code >= kTaskStatusCount) return std::nullopt;
  return static_cast<TaskStatus>(code);
}

}  // namespace waybill::core
