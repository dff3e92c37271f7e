// Sending: leases, back-off, the window, and marks that come too late.

#include "dispatch/publisher.h"

#include <gtest/gtest.h>

#include "core/message.h"
#include "dispatch/testing/world.h"

namespace waybill::dispatch {
namespace {

using core::CommandStatus;
using core::TaskStatus;
using store::Injected;

const NodeOptions kPublisher{.broker = true, .consumer = false, .publisher = true, .adjust = {}};

class PublisherTest : public ::testing::Test {
 protected:
  store::WaitingFacts facts(core::TaskId id) {
    const auto f = world_.store->waiting_facts(id);
    EXPECT_TRUE(f.ok());
    return f.ok() ? *f : store::WaitingFacts{};
  }
  World world_;
};

// A8, A10, A18, A19.
TEST_F(PublisherTest, SendsIdentifiersOnlyAndMarksSent) {
  world_.add("p", kPublisher);
  const auto id = world_.create(1);
  world_.settle();
  EXPECT_EQ(world_.command_status(id), CommandStatus::kSent);
  const auto transport = world_.broker.connect();
  const auto got = transport->receive({.lane = kLane, .level = 1}, 1, 0);
  ASSERT_TRUE(got.ok());
  ASSERT_EQ(got->size(), 1u);
  const transport::Message& m = (*got)[0].message;
  EXPECT_EQ(m.key, std::to_string(id));
  EXPECT_EQ(m.tag, "ACTION_TASK");
  const auto parsed = core::parse_message(m.payload, m.properties);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->execution, (core::Execution{.id = id, .version = 1}));
  EXPECT_EQ(parsed->type, kType);
  EXPECT_EQ(m.payload.find("t1"), std::string::npos) << "no tenant in a message";
}

// A9: two publishers, one send each.
TEST_F(PublisherTest, TwoPublishersSendEachCommandOnce) {
  Node& p = world_.add("p", kPublisher);
  Node& q = world_.add("q", kPublisher);
  world_.create_many(50);
  world_.run_for(10'000);
  EXPECT_EQ(p.metrics().sent.value() + q.metrics().sent.value(), 50);
  EXPECT_EQ(world_.broker.waiting(), 50u);
}

// A11, A12, A17, I10, I13, J2: failures wait longer and longer, never end, and use up no execution
// attempt.
TEST_F(PublisherTest, SendingNeverGivesUp) {
  world_.broker.set_faults({.refuse = 1});
  Node& p = world_.add("p", kPublisher);
  const auto id = world_.create();
  const Millis waits[] = {5'000, 15'000, 60'000, 300'000, 900'000, 900'000, 900'000};
  world_.settle();
  std::int64_t failures = 1;
  for (const Millis wait : waits) {
    EXPECT_EQ(p.metrics().send_failures.value(), failures);
    EXPECT_EQ(*facts(id).command_next_send_at - world_.clock.wall_ms(), wait);
    EXPECT_EQ(facts(id).command_fail_count, failures);
    EXPECT_FALSE(facts(id).command_last_error.empty());
    EXPECT_EQ(facts(id).command_status, CommandStatus::kPending);
    world_.clock.advance(wait - 1);
    p.run("publisher");
    EXPECT_EQ(p.metrics().send_failures.value(), failures) << "not before its time";
    world_.clock.advance(1);
    p.run("publisher");
    ++failures;
  }
  for (; failures < 30; ++failures) {
    world_.clock.advance(900'000);
    p.run("publisher");
  }
  EXPECT_EQ(facts(id).command_fail_count, 30);
  EXPECT_EQ(world_.row(id).attempt_count, 0);
  EXPECT_EQ(world_.row(id).dispatch_version, 1);
  world_.broker.set_faults({});
  world_.clock.advance(900'000);
  p.run("publisher");
  EXPECT_EQ(world_.command_status(id), CommandStatus::kSent);
}

// D21: commands that can never be sent do not stand in the way of the others.
TEST_F(PublisherTest, UnsendableCommandsDoNotBlockOthers) {
  world_.broker.set_faults({.refuse = 1});
  Node& p = world_.add(
      "p", {.broker = true, .consumer = false, .publisher = true, .adjust = [](Settings& s) {
              s.publisher_batch = 10;
              s.sweep_after_ms = 0;
            }});
  world_.create_many(25);
  world_.settle();
  EXPECT_EQ(p.metrics().send_failures.value(), 25);
  world_.broker.set_faults({});
  const auto normal = world_.create();
  world_.run_for(100);
  EXPECT_EQ(world_.command_status(normal), CommandStatus::kSent);
}

// F15: the broker holds a window, not the backlog.
TEST_F(PublisherTest, OnlyAWindowIsInTheBroker) {
  world_.add("p", kPublisher);
  world_.create_many(200, 2);
  const auto urgent = world_.create(0);
  world_.run_for(20'000);
  EXPECT_EQ(world_.broker.waiting({.lane = kLane, .level = 2}), 64u);
  EXPECT_EQ(world_.command_status(urgent), CommandStatus::kSent) << "each level has its own window";
}

TEST_F(PublisherTest, TheWindowGrowsWithTheWorkersOfLiveInstances) {
  NodeOptions worker{.broker = true, .adjust = [](Settings& s) { s.lanes[0].workers = 40; }};
  Node& a = world_.add("a", worker);
  Node& b = world_.add("b", worker);
  world_.settle();  // both have registered
  a.frozen = true;
  b.frozen = true;
  world_.add("p", kPublisher);
  world_.create_many(400);
  world_.run_for(6'000);
  EXPECT_EQ(world_.broker.waiting(), 320u);
}

// With the sweep off lost messages would fill a window for ever.
TEST_F(PublisherTest, WithoutASweepThereIsNoWindow) {
  world_.add("p", {.broker = true, .consumer = false, .publisher = true, .adjust = [](Settings& s) {
                     s.sweep_after_ms = 0;
                   }});
  world_.create_many(200);
  world_.settle();
  EXPECT_EQ(world_.broker.waiting(), 200u);
}

// F17: full batches follow each other at once.
TEST_F(PublisherTest, LoopsWhileBatchesAreFull) {
  world_.add("p", {.broker = true, .consumer = false, .publisher = true, .adjust = [](Settings& s) {
                     s.sweep_after_ms = 0;
                     s.publisher_batch = 20;
                   }});
  world_.create_many(130);
  world_.settle();
  EXPECT_EQ(world_.broker.waiting(), 130u);
}

// Whatever the order gives one level beyond its window goes to the others.
TEST_F(PublisherTest, AFullLevelLeavesRoomForTheOthers) {
  world_.add("p", kPublisher);
  world_.create_many(300, 1);
  world_.create_many(70, 2);
  world_.create_many(30, 3);
  world_.run_for(6'000);
  EXPECT_EQ(world_.broker.waiting({.lane = kLane, .level = 1}), 64u);
  EXPECT_EQ(world_.broker.waiting({.lane = kLane, .level = 2}), 64u);
  EXPECT_EQ(world_.broker.waiting({.lane = kLane, .level = 3}), 30u);
}

// A13, J3: dies between send and mark; branch 3 releases the lease, the copy runs, one execution.
TEST_F(PublisherTest, ACrashBetweenSendAndMarkIsOneMoreMessage) {
  Node& p = world_.add("p", kPublisher);
  world_.away("settle_commands");
  const auto id = world_.create();
  world_.run_for(100);
  ASSERT_EQ(world_.broker.waiting(), 1u);
  EXPECT_EQ(world_.command_status(id), CommandStatus::kClaimed);
  p.kill();
  world_.back();
  NodeOptions other = kPublisher;
  other.reconciler = true;
  Node& q = world_.add("q", other);
  world_.run_for(120'000);
  EXPECT_EQ(world_.command_status(id), CommandStatus::kSent);
  EXPECT_EQ(world_.broker.waiting(), 2u);
  EXPECT_EQ(q.metrics().outbox_release.value(), 1);
  Node& a = world_.add("a", {.broker = true, .adjust = {}});
  world_.run_for(2'000);
  EXPECT_EQ(a.executor().starts_of(id), 1u);
  EXPECT_EQ(world_.broker.waiting() + world_.broker.unsettled(), 0u);
}

// D27: nothing is sent twice because a mark is slow; it is repeated within its lease, also after a
// lost answer.
TEST_F(PublisherTest, AFailedMarkIsRepeatedNotResent) {
  for (const Injected how : {Injected::kAway, Injected::kUnknownLost, Injected::kUnknownDone}) {
    World world;
    Node& p = world.add("p", kPublisher);
    world.fail_commit("settle_commands", how, 1);
    const auto id = world.create();
    world.run_for(30'000);
    EXPECT_EQ(world.command_status(id), CommandStatus::kSent);
    EXPECT_EQ(p.metrics().sent.value(), 1);
    EXPECT_EQ(world.broker.waiting(), 1u);
  }
}

// A14, F10, I11: the lease was taken over, and the command quarantined meanwhile: the late mark
// changes nothing.
TEST_F(PublisherTest, ALateMarkChangesNothing) {
  Node& p = world_.add("p", kPublisher);
  world_.away("settle_commands");
  const auto id = world_.create();
  world_.run_for(100);
  ASSERT_EQ(world_.broker.waiting(), 1u);
  const auto delivered = world_.broker.connect()->receive({.lane = kLane, .level = 2}, 1, 0);
  ASSERT_TRUE(delivered.ok());
  const auto event_id = (*delivered)[0].message.properties.at("eventId");
  const auto buried = world_.store->quarantine(
      {.execution = {.id = id, .version = 1}, .event_id = event_id, .reason = "damaged"});
  ASSERT_TRUE(buried.ok());
  ASSERT_EQ(*buried, store::DeadLetterOutcome::kQuarantined);
  world_.back();
  world_.run_for(20'000);
  EXPECT_EQ(world_.command_status(id), CommandStatus::kQuarantined);
  EXPECT_EQ(world_.status(id), TaskStatus::kFailed);
  EXPECT_EQ(p.metrics().fenced_settle.value(), 1);
}

// What has no confirmation is a failure, whatever the broker did with it.
TEST_F(PublisherTest, NoConfirmationMeansNotSent) {
  world_.broker.set_faults({.drop_confirm = 1});
  Node& p = world_.add("p", kPublisher);
  const auto id = world_.create();
  world_.settle();
  EXPECT_EQ(world_.command_status(id), CommandStatus::kPending);
  EXPECT_EQ(p.metrics().send_failures.value(), 1);
  EXPECT_EQ(world_.broker.waiting(), 1u);
}

// J1: the broker is away for half an hour; creating goes on, and everything runs afterwards by
// itself.
TEST_F(PublisherTest, AnOutageOfTheBrokerIsOnlyADelay) {
  world_.add("p", kPublisher);
  Node& a = world_.add("a", {.broker = true, .adjust = [](Settings& s) { s.sweep_after_ms = 0; }});
  a.executor().end_at_once = true;
  world_.broker.set_down(true);
  const auto ids = world_.create_many(10);
  for (int i = 0; i < 180; ++i) {
    world_.clock.advance(10'000);
    ASSERT_TRUE(a.step("watchdog").ok());
    world_.settle();
  }
  EXPECT_EQ(a.executor().started(), 0u);
  world_.broker.set_down(false);
  world_.clock.advance(900'000);
  world_.run_for(10'000);
  for (const auto id : ids) {
    EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
    EXPECT_EQ(world_.row(id).dispatch_version, 1);
  }
}

}  // namespace
}  // namespace waybill::dispatch
