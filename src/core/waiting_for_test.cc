#include "core/waiting_for.h"

#include <gtest/gtest.h>

#include <string>

namespace waybill::core {
namespace {

constexpr base::Millis kNow = 1'764'483'839'000;  // 06:23:59 UTC

WaitFacts pending() {
  WaitFacts facts;
  facts.now = kNow;
  facts.due_at = kNow - 10;
  facts.has_command = true;
  return facts;
}

WaitingFor ask(const WaitFacts& facts) {
  const auto answer = waiting_for(facts, base::TimeZone());
  EXPECT_TRUE(answer);
  if (answer) {
    EXPECT_FALSE(answer->message_zh.empty());
    EXPECT_FALSE(answer->message_en.empty());
  }
  return answer.value_or(WaitingFor{});
}

TEST(WaitingFor, Queue) {
  WaitFacts facts = pending();
  EXPECT_EQ(ask(facts).message_en, "is about to start");
  facts.ahead = 1;
  EXPECT_EQ(ask(facts).message_en, "queued behind 1 task");
  facts.ahead = 1'000;
  const WaitingFor answer = ask(facts);
  EXPECT_EQ(answer.code, WaitCode::kQueued);
  EXPECT_EQ(answer.message_en, "queued behind 1000+ tasks");
  EXPECT_EQ(answer.message_zh, "排队中，前面还有 1000+ 个任务");
  EXPECT_EQ(answer.ahead, 1'000);
}

TEST(WaitingFor, BackOff) {
  WaitFacts facts = pending();
  facts.due_at = kNow + 60'000;
  const WaitingFor answer = ask(facts);
  EXPECT_EQ(answer.code, WaitCode::kBackoff);
  EXPECT_EQ(answer.until, facts.due_at);
  EXPECT_EQ(answer.message_en, "tries again at 06:24:59");
}

TEST(WaitingFor, UnsentCommands) {
  WaitFacts facts = pending();
  facts.has_command = false;
  EXPECT_EQ(ask(facts).code, WaitCode::kNotSent);
  facts = pending();
  facts.command_fail_count = 2;
  facts.command_next_send_at = kNow + 15'000;
  const WaitingFor answer = ask(facts);
  EXPECT_EQ(answer.code, WaitCode::kNotSent);
  EXPECT_EQ(answer.until, kNow + 15'000);
  EXPECT_EQ(answer.message_en,
            "the message broker is unavailable: the command could not be sent 2 times, next try at "
            "06:24:14");
  facts.command_status = CommandStatus::kSent;
  EXPECT_EQ(ask(facts).code, WaitCode::kQueued) << "sent in the end";
}

TEST(WaitingFor, TheReasonThatHasToGoFirstIsNamed) {
  WaitFacts facts = pending();
  facts.service_down = true;
  EXPECT_EQ(ask(facts).code, WaitCode::kServiceDown);
  facts.command_fail_count = 1;
  EXPECT_EQ(ask(facts).code, WaitCode::kNotSent);
  facts.due_at = kNow + 1;
  EXPECT_EQ(ask(facts).code, WaitCode::kBackoff);
  facts.lane_paused = true;
  EXPECT_EQ(ask(facts).code, WaitCode::kLanePaused);
  facts.unknown_type = true;
  EXPECT_EQ(ask(facts).code, WaitCode::kUnknownType);
}

TEST(WaitingFor, KeysAndLeases) {
  WaitFacts facts = pending();
  facts.status = TaskStatus::kBlocked;
  EXPECT_EQ(ask(facts).code, WaitCode::kSerialKey);
  facts.key_holder = 17;
  EXPECT_EQ(ask(facts).message_en, "its key is held by task 17");
  facts.status = TaskStatus::kRunning;
  facts.lease_owner = "node-1";
  EXPECT_EQ(ask(facts).code, WaitCode::kLease);
  facts.lease_until = kNow + 1'000;
  WaitingFor answer = ask(facts);
  EXPECT_EQ(answer.until, kNow + 1'000);
  EXPECT_EQ(answer.message_en, "running on instance node-1, whose lease ends at 06:24:00");
  facts.lease_until = kNow;
  EXPECT_NE(ask(facts).message_en.find("expired"), std::string::npos);
}

TEST(WaitingFor, EndedTasksWaitForNothing) {
  for (const TaskStatus status : {TaskStatus::kSucceeded, TaskStatus::kFailed,
                                  TaskStatus::kCancelled, TaskStatus::kExpired}) {
    WaitFacts facts = pending();
    facts.status = status;
    EXPECT_FALSE(waiting_for(facts, base::TimeZone()));
  }
}

}  // namespace
}  // namespace waybill::core
