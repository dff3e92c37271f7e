// Dead letters: what is buried, what is only noted, and what happens without a database.

#include <gtest/gtest.h>

#include "core/message.h"
#include "dispatch/testing/world.h"

namespace waybill::dispatch {
namespace {

using core::CommandStatus;
using core::Event;
using core::TaskStatus;
using store::Injected;

constexpr auto kAudit = base::LogLevel::kAudit;

class DeadLetterTest : public ::testing::Test {
 protected:
  DeadLetterTest() {
    NodeOptions options{
        .broker = true, .consumer = false, .publisher = true, .dead_letter = true, .adjust = {}};
    handler_ = &world_.add("handler", options);
    world_.settle();
  }
  // A sent command whose body is damaged on its way.
  core::TaskId poisoned() {
    world_.broker.set_faults({.poison = 1});
    const auto id = world_.create();
    world_.run_for(100);
    world_.broker.set_faults({});
    return id;
  }
  transport::Message take_message() {
    const auto connection = world_.broker.connect();
    const auto got = connection->receive({.lane = kLane, .level = 2}, 1, 0);
    EXPECT_TRUE(got.ok() && got->size() == 1);
    EXPECT_TRUE(connection->settle(std::vector{(*got)[0].token}, transport::Settle::kAck).ok());
    return (*got)[0].message;
  }
  // As if a consumer had rejected it to death.
  void bury(const transport::Message& message) {
    world_.broker.inject(message);
    const auto connection = world_.broker.connect();
    for (int i = 0; i < 3; ++i) {
      const auto got = connection->receive({.lane = kLane, .level = 2}, 1, 0);
      ASSERT_TRUE(got.ok());
      ASSERT_EQ(got->size(), 1u);
      ASSERT_TRUE(
          connection->settle(std::vector{(*got)[0].token}, transport::Settle::kReject).ok());
    }
  }
  World world_;
  LogCatcher log_;
  Node* handler_ = nullptr;
};

// D4, D5, D10, I11, J14: quarantined with its task, for good; a person's retry runs a new version.
TEST_F(DeadLetterTest, AnUnreadableBodyIsBuriedByItsProperties) {
  Node& a = world_.add("a", {.broker = true, .adjust = [](Settings& s) { s.sweep_after_ms = 0; }});
  const auto id = poisoned();
  world_.run_for(5'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kFailed);
  EXPECT_EQ(world_.row(id).failure_class, "POISON");
  EXPECT_EQ(world_.row(id).failure_message, core::kPoisonMessage);
  EXPECT_EQ(world_.command_status(id), CommandStatus::kQuarantined);
  EXPECT_EQ(world_.broker.dead(), 0u);
  EXPECT_EQ(handler_->metrics().dead_letters.value(), 1);
  EXPECT_EQ(handler_->metrics().dead_letters_quarantined.value(), 1);
  EXPECT_EQ(log_.count("action=quarantined", kAudit), 1u);

  NodeOptions reconciler{.consumer = false, .reconciler = true, .adjust = {}};
  world_.add("r", reconciler);
  world_.run_for(700'000);
  EXPECT_EQ(a.executor().started(), 0u) << "it does not come back";
  EXPECT_EQ(world_.command_status(id), CommandStatus::kQuarantined);

  world_.retry(id);
  world_.run_for(2'000);
  EXPECT_EQ(a.executor().starts_of(id), 1u);
  EXPECT_EQ(world_.row(id).dispatch_version, 2);
}

// D6, D9, D76, I4: another version, another event, running, ended, buried before, deleted: noted,
// and nothing changes.
TEST_F(DeadLetterTest, WhatTheTaskHasOutlivedIsOnlyNoted) {
  const auto id = world_.create();
  world_.run_for(100);
  const transport::Message good = take_message();

  transport::Message other_event = good;
  other_event.properties["eventId"] = base::make_uuid(world_.random);
  bury(other_event);
  world_.run_for(2'000);
  EXPECT_EQ(log_.count("another event id", kAudit), 1u);
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);

  ASSERT_TRUE(
      world_.store->claim_delivered({.owner = "w", .commands = {{.id = id, .version = 1}}}).ok());
  bury(good);
  world_.run_for(2'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning);
  EXPECT_EQ(log_.count("moved on", kAudit), 1u);

  transport::Message nobody = good;
  nobody.properties["taskId"] = "987654";
  bury(nobody);
  world_.run_for(2'000);
  EXPECT_EQ(log_.count("no such task", kAudit), 1u);
  EXPECT_EQ(world_.broker.dead() + world_.broker.unsettled(), 0u);
  EXPECT_EQ(handler_->metrics().dead_letters.value(), 3);
  EXPECT_EQ(handler_->metrics().dead_letters_quarantined.value(), 0);
}

TEST_F(DeadLetterTest, TheSameLetterTwiceIsBuriedOnce) {
  const auto id = world_.create();
  world_.run_for(100);
  const transport::Message message = take_message();
  bury(message);
  bury(message);
  world_.run_for(3'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kFailed);
  EXPECT_EQ(handler_->metrics().dead_letters_quarantined.value(), 1);
  EXPECT_EQ(world_.broker.dead() + world_.broker.unsettled(), 0u);
}

// D7, J15: without usable properties nobody knows whose it was: a person is called, the letter is
// done.
TEST_F(DeadLetterTest, WithoutPropertiesAPersonIsCalled) {
  const auto id = world_.create();
  world_.run_for(100);
  const transport::Message good = take_message();
  std::size_t n = 0;
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"taskId", "-1"},
                                          {"dispatchVersion", "first"},
                                          {"eventId", "not-a-uuid\nforged line"},
                                          {"schemaVersion", ""}}) {
    transport::Message missing = good;
    missing.properties.erase(name);
    bury(missing);
    transport::Message malformed = good;
    malformed.properties[name] = value;
    bury(malformed);
    n += 2;
  }
  world_.run_for(5'000);
  EXPECT_EQ(log_.count("dead_letter.unidentifiable", base::LogLevel::kCritical), n);
  EXPECT_EQ(log_.count("brokerMessageId=memory-", base::LogLevel::kCritical), n);
  EXPECT_EQ(log_.count("\n"), 0u) << "text from outside stays in one line";
  EXPECT_EQ(handler_->metrics().dead_letters_malformed.value(), static_cast<std::int64_t>(n));
  EXPECT_EQ(world_.broker.dead() + world_.broker.unsettled(), 0u);
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
}

// D8, D40: without a database it waits, for as long as it takes, and feeds nothing back to its own
// queue.
TEST_F(DeadLetterTest, WithoutADatabaseItWaits) {
  const auto id = world_.create();
  world_.run_for(100);
  bury(take_message());
  world_.away("quarantine");
  world_.run_for(1'200'000);
  EXPECT_EQ(world_.broker.unsettled(), 1u);
  EXPECT_EQ(world_.broker.dead(), 0u);
  EXPECT_EQ(world_.broker.waiting(), 0u);
  EXPECT_EQ(log_.count("dead_letter.held"), 1u) << "said once, not with every try";
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
  world_.back();
  world_.run_for(31'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kFailed);
  EXPECT_EQ(world_.broker.unsettled(), 0u);
}

TEST_F(DeadLetterTest, ALostAnswerIsAskedAgain) {
  for (const Injected how : {Injected::kUnknownLost, Injected::kUnknownDone}) {
    const auto id = world_.create();
    world_.run_for(100);
    bury(take_message());
    world_.fail_commit("quarantine", how);
    world_.run_for(5'000);
    EXPECT_EQ(world_.status(id), TaskStatus::kFailed);
    EXPECT_EQ(world_.command_status(id), CommandStatus::kQuarantined);
    EXPECT_EQ(world_.broker.unsettled(), 0u);
  }
}

// D2: a task that uses up its attempts fails; the dead-letter queue stays empty.
TEST_F(DeadLetterTest, FailingTasksProduceNoDeadLetters) {
  Node& a = world_.add("a", {.broker = true, .adjust = poll_seldom});
  const auto id = world_.create();
  for (const Millis wait : {5'000, 80'000, 1'100'000}) {
    world_.run_for(wait);
    EXPECT_EQ(a.executor().end_all(Event::kRetryLater), 1u);
    world_.settle();
  }
  EXPECT_EQ(world_.status(id), TaskStatus::kFailed);
  EXPECT_EQ(handler_->metrics().dead_letters.value(), 0);
  EXPECT_EQ(world_.broker.dead(), 0u);
}

}  // namespace
}  // namespace waybill::dispatch
