// Stored and sent values are frozen here: a failure means that old rows or messages would be
// misread. Never change an expectation; add a new value instead.

#include "core/task.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "core/waiting_for.h"

namespace waybill::core {
namespace {

struct Code {
  int code;
  std::string_view word;
};
constexpr Code kStatuses[] = {{0, "PENDING"},   {1, "RUNNING"}, {2, "SUCCEEDED"}, {3, "FAILED"},
                              {4, "CANCELLED"}, {5, "EXPIRED"}, {6, "BLOCKED"}};
constexpr Code kCommands[] = {{0, "PENDING"}, {1, "CLAIMED"}, {2, "SENT"}, {3, "QUARANTINED"}};
constexpr Code kKinds[] = {{1, "EXPORT"}, {2, "ACTION"}};
constexpr std::string_view kFailures[] = {"BUSINESS", "VALIDATION", "LIMIT", "TIMEOUT",
                                          "SYSTEM",   "LOST",       "POISON"};
constexpr std::string_view kWaits[] = {"QUEUED",   "BACKOFF",     "SERIAL_KEY",   "LEASE",
                                       "NOT_SENT", "LANE_PAUSED", "UNKNOWN_TYPE", "SERVICE_DOWN"};

std::string formats() {
  std::ifstream in(WAYBILL_SOURCE_DIR "/docs/formats.md");
  EXPECT_TRUE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string row(const Code& code) {
  return "| " + std::to_string(code.code) + " | " + std::string(code.word) + " |";
}

TEST(FrozenFormats, TaskStatus) {
  const std::string text = formats();
  for (const Code& c : kStatuses) {
    const auto status = task_status_of(c.code);
    ASSERT_TRUE(status);
    EXPECT_EQ(static_cast<int>(*status), c.code);
    EXPECT_EQ(to_string(*status), c.word);
    EXPECT_EQ(parse_task_status(c.word), status);
    EXPECT_NE(text.find(row(c)), std::string::npos) << c.word;
  }
  EXPECT_EQ(std::size(kStatuses), static_cast<std::size_t>(kTaskStatusCount));
  EXPECT_FALSE(task_status_of(7) || task_status_of(-1) || parse_task_status("pending") ||
               parse_task_status(""));
}

TEST(FrozenFormats, CommandStatusAndKind) {
  const std::string text = formats();
  for (const Code& c : kCommands) {
    EXPECT_EQ(to_string(static_cast<CommandStatus>(c.code)), c.word);
    EXPECT_NE(text.find(row(c)), std::string::npos) << c.word;
  }
  for (const Code& c : kKinds) {
    EXPECT_EQ(to_string(static_cast<TaskKind>(c.code)), c.word);
    EXPECT_EQ(parse_task_kind(c.word), static_cast<TaskKind>(c.code));
    EXPECT_NE(text.find(row(c)), std::string::npos) << c.word;
  }
  EXPECT_EQ(to_string(static_cast<TaskKind>(3)), "UNKNOWN");
  EXPECT_FALSE(parse_task_kind("REPORT"));
}

TEST(FrozenFormats, FailureClassesWaitCodesAndLevels) {
  const std::string text = formats();
  int number = 0;
  for (const auto word : kFailures) {
    const auto parsed = parse_failure_class(word);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(static_cast<int>(*parsed), ++number);
    EXPECT_EQ(to_string(*parsed), word);
    EXPECT_NE(text.find("`" + std::string(word) + "`"), std::string::npos) << word;
  }
  EXPECT_EQ(to_string(FailureClass::kNone), "");
  EXPECT_EQ(parse_failure_class(""), FailureClass::kNone);
  number = 0;
  for (const auto word : kWaits) {
    EXPECT_EQ(to_string(static_cast<WaitCode>(number++)), word);
    EXPECT_NE(text.find("`" + std::string(word) + "`"), std::string::npos) << word;
  }
  for (Level level = 0; level < kLevels; ++level) EXPECT_EQ(parse_level(level_name(level)), level);
  EXPECT_EQ(level_name(0), "P0");
  EXPECT_EQ(level_name(9), "UNKNOWN");
  EXPECT_FALSE(parse_level("P4") || parse_level("p1"));
}

TEST(Task, ActiveAndEnded) {
  for (const Code& c : kStatuses) {
    const auto status = static_cast<TaskStatus>(c.code);
    EXPECT_EQ(is_active(status), c.code <= 1);
    EXPECT_EQ(is_ended(status), c.code >= 2 && c.code <= 5);
  }
}

}  // namespace
}  // namespace waybill::core
