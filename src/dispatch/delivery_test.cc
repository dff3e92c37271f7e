// Publisher, broker and delivered commands: what a message may and may not do.

#include <gtest/gtest.h>

#include "core/message.h"
#include "dispatch/testing/world.h"

namespace waybill::dispatch {
namespace {

using core::CommandStatus;
using core::Event;
using core::TaskStatus;
using store::Injected;

const NodeOptions kPublisher{.broker = true, .consumer = false, .publisher = true, .adjust = {}};
// Delivered commands alone: no idle worker sweeps the outbox.
const NodeOptions kWorker{.broker = true, .adjust = [](Settings& s) { s.sweep_after_ms = 0; }};
const NodeOptions kSweeper{.broker = true, .adjust = {}};

class DeliveryTest : public ::testing::Test {
 protected:
  transport::Message message(core::TaskId id, std::int32_t version, core::Level level = 2) {
    core::CommandMessage what;
    what.execution = {.id = id, .version = version};
    what.event_id = base::make_uuid(world_.random);
    what.kind = core::TaskKind::kAction;
    what.type = kType;
    const core::EncodedMessage encoded = core::build_message(what);
    transport::Message m;
    m.stream = {.lane = kLane, .level = level};
    m.properties = encoded.properties;
    m.payload = encoded.payload;
    return m;
  }
  transport::Stream stream(int level = 2) { return {.lane = kLane, .level = level}; }
  World world_;
};

// D42: settled while the execution still runs, so that no time limit of a broker meets the work.
TEST_F(DeliveryTest, SendsClaimsAndCommits) {
  world_.add("p", kPublisher);
  Node& a = world_.add("a", kWorker);
  const auto id = world_.create();
  world_.run_for(1'000);
  ASSERT_EQ(world_.status(id), TaskStatus::kRunning);
  EXPECT_EQ(world_.broker.unsettled(), 0u) << "I5: acknowledged before the execution ends";
  a.executor().end(0);
  world_.settle();
  EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
}

// I5, D44: acknowledged after the claim has committed and before the execution starts.
TEST_F(DeliveryTest, TheAcknowledgementLiesBetweenClaimAndStart) {
  world_.add("p", kPublisher);
  Node& a = world_.add("a", kWorker);
  bool checked = false;
  a.executor().on_start = [&](const FakeExecutor::Run& run) {
    checked = true;
    EXPECT_EQ(world_.broker.unsettled(), 0u);
    EXPECT_EQ(world_.status(run.task.execution.id), TaskStatus::kRunning);
  };
  world_.create();
  world_.run_for(1'000);
  EXPECT_TRUE(checked);
}

// F5, J16: a claim that fails is no answer. The delivery is held, nothing more is pulled, nothing
// is rejected.
TEST_F(DeliveryTest, AFailingClaimHoldsTheDelivery) {
  world_.add("p", kPublisher);
  Node& a = world_.add("a", kWorker);
  world_.settle();
  a.frozen = true;
  const auto ids = world_.create_many(20);
  world_.run_for(6'000);
  ASSERT_EQ(world_.broker.waiting(), 20u);
  a.frozen = false;
  world_.away("claim_delivered");
  world_.run_for(30'000);
  EXPECT_EQ(a.executor().started(), 0u);
  EXPECT_EQ(world_.broker.unsettled(), 4u) << "held: as many as slots";
  EXPECT_EQ(world_.broker.waiting(), 16u) << "the stream stopped pulling";
  EXPECT_EQ(world_.broker.dead(), 0u);
  EXPECT_EQ(world_.broker.redelivered(), 0);
  world_.back();
  world_.run_for(6'000);
  EXPECT_EQ(a.executor().running(), 4u);
  for (int i = 0; i < 10; ++i) {
    a.executor().end_all();
    world_.run_for(1'000);
  }
  for (const auto id : ids) EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
}

// What was given up is RUNNING in this name and runs nowhere. Its message comes once more, and the
// claim that changes nothing gets no answer: that RUNNING is not this claim's.
TEST_F(DeliveryTest, WhatWasGivenUpIsNotStartedAgain) {
  world_.add("p", kPublisher);
  Node& a = world_.add("a", {.broker = true, .adjust = [](Settings& s) {
                               poll_seldom(s);
                               s.sweep_after_ms = 0;
                             }});
  world_.settle();
  const auto id = world_.create();
  world_.run_for(10'000);
  ASSERT_EQ(a.executor().starts_of(id), 1u);
  world_.away();
  a.executor().end(0);
  world_.run_for(400'000);
  ASSERT_EQ(a.metrics().finish_given_up.value(), 1);
  world_.back();
  ASSERT_EQ(world_.status(id), TaskStatus::kRunning);
  world_.fail_commit("claim_delivered", Injected::kUnknownLost);
  world_.broker.inject(message(id, 1));
  world_.run_for(20'000);
  EXPECT_EQ(a.executor().starts_of(id), 1u);
  EXPECT_EQ(a.dispatch().executions().size(), 0u);
  EXPECT_EQ(world_.broker.unsettled(), 0u);
}

// 09 section 2: the answer of a claim is lost; replayed, and RUNNING in my name is mine.
TEST_F(DeliveryTest, AnUnknownClaimIsResolved) {
  for (const Injected how : {Injected::kUnknownLost, Injected::kUnknownDone}) {
    World world;
    world.add("p", kPublisher);
    Node& a = world.add("a", kWorker);
    world.settle();
    world.fail_commit("claim_delivered", how);
    const auto id = world.create();
    world.run_for(10'000);
    EXPECT_EQ(a.executor().starts_of(id), 1u);
    EXPECT_EQ(world.status(id), TaskStatus::kRunning);
    EXPECT_EQ(world.row(id).attempt_count, 1);
    EXPECT_EQ(world.row(id).dispatch_version, 1);
    EXPECT_EQ(a.executor().run(0).task.execution.id, id);
    EXPECT_EQ(a.executor().run(0).task.type, kType);
    EXPECT_EQ(world.broker.unsettled(), 0u);
    a.executor().end(0);
    world.settle();
    EXPECT_EQ(world.status(id), TaskStatus::kSucceeded);
  }
}

// I4, B2-B8, D39, D50, D76: whatever the task looks like, or when there is none any more, a message
// that fits nothing is acknowledged and changes nothing.
TEST_F(DeliveryTest, MessagesThatFitNothingAreAcknowledged) {
  LogCatcher log;
  Node& a = world_.add("a", kWorker);
  world_.settle();
  // Each task is brought into its state through the store alone.
  const auto claim = [&](core::TaskId id) {
    ASSERT_TRUE(
        world_.store->claim_delivered({.owner = "other", .commands = {{.id = id, .version = 1}}})
            .ok());
  };
  const auto running = world_.create();
  claim(running);
  const auto ended = world_.create();
  claim(ended);
  const std::vector<store::Finish> success{{.execution = {.id = ended, .version = 1},
                                            .event = Event::kSucceed,
                                            .failure_message = {},
                                            .retry_after_ms = {},
                                            .result = {}}};
  ASSERT_TRUE(world_.store->finish("other", success).ok());
  const auto retrying = world_.create();
  claim(retrying);
  const std::vector<store::Finish> failure{{.execution = {.id = retrying, .version = 1},
                                            .event = Event::kRetryLater,
                                            .failure_message = "x",
                                            .retry_after_ms = {},
                                            .result = {}}};
  ASSERT_TRUE(world_.store->finish("other", failure).ok());
  const auto cancelled = world_.create();
  world_.cancel(cancelled);

  world_.broker.inject(message(999'999, 1));  // no such task
  world_.broker.inject(message(running, 1));  // RUNNING elsewhere: never stolen
  world_.broker.inject(message(ended, 1));
  world_.broker.inject(message(retrying, 1));  // the version has moved on
  world_.broker.inject(message(retrying, 2));  // due in a minute
  world_.broker.inject(message(retrying, 3));  // a version the database has not reached
  world_.broker.inject(message(cancelled, 1));
  world_.run_for(2'000);
  EXPECT_EQ(world_.broker.waiting() + world_.broker.unsettled() + world_.broker.dead(), 0u);
  EXPECT_EQ(world_.broker.redelivered(), 0);
  EXPECT_EQ(a.executor().started(), 0u);
  EXPECT_EQ(a.metrics().not_claimed.value(), 7);
  EXPECT_EQ(log.count("delivery.no_such_task", base::LogLevel::kWarn), 1u);
  EXPECT_EQ(world_.row(running).lease_owner, "other");
  EXPECT_EQ(world_.status(ended), TaskStatus::kSucceeded);
  EXPECT_EQ(world_.row(retrying).dispatch_version, 2);
}

// I4 once more, without a claim of any kind in between: the old version of a PENDING task does not
// run.
TEST_F(DeliveryTest, AnOldVersionDoesNotRun) {
  Node& a = world_.add("a", kWorker);
  const auto id = world_.create();
  ASSERT_TRUE(
      world_.store->claim_delivered({.owner = "other", .commands = {{.id = id, .version = 1}}})
          .ok());
  const std::vector<store::Finish> release{{.execution = {.id = id, .version = 1},
                                            .event = Event::kRelease,
                                            .failure_message = {},
                                            .retry_after_ms = {},
                                            .result = {}}};
  ASSERT_TRUE(world_.store->finish("other", release).ok());
  ASSERT_EQ(world_.status(id), TaskStatus::kPending);
  world_.broker.inject(message(id, 1));
  world_.run_for(2'000);
  EXPECT_EQ(a.executor().started(), 0u);
  world_.broker.inject(message(id, 2));
  world_.run_for(2'000);
  EXPECT_EQ(a.executor().started(), 1u);
}

// J12, B20, C6: twice and out of order, to two processes: one execution each.
TEST_F(DeliveryTest, RepeatedAndReorderedMessagesRunOnce) {
  world_.broker.set_faults({.repeat = 1, .reorder = 1, .delay = 0.5, .max_delay_ms = 5'000});
  world_.add("p", kPublisher);
  Node& a = world_.add("a", kWorker);
  Node& b = world_.add("b", kWorker);
  const auto ids = world_.create_many(40);
  for (int i = 0; i < 60; ++i) {
    world_.run_for(1'000);
    a.executor().end_all();
    b.executor().end_all();
  }
  world_.run_for(5'000);
  for (const auto id : ids) {
    EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
    EXPECT_EQ(a.executor().starts_of(id) + b.executor().starts_of(id), 1u);
    EXPECT_EQ(world_.row(id).dispatch_version, 1);
  }
  EXPECT_EQ(a.metrics().fenced_finish.value() + b.metrics().fenced_finish.value(), 0);
}

// The same command twice in one process while the first claim has no answer yet.
TEST_F(DeliveryTest, ASecondDeliveryIsAcknowledgedAtOnce) {
  Node& a = world_.add("a", kWorker);
  const auto id = world_.create();
  world_.settle();
  world_.away("claim_delivered");
  world_.broker.inject(message(id, 1));
  world_.broker.inject(message(id, 1));
  world_.run_for(1'000);
  EXPECT_EQ(world_.broker.unsettled(), 1u);
  EXPECT_EQ(a.metrics().duplicate_deliveries.value(), 1);
  world_.back();
  world_.run_for(6'000);
  EXPECT_EQ(a.executor().starts_of(id), 1u);
}

// D1, D39: only what cannot be read is rejected; after two redeliveries it is a dead letter, and no
// loop.
TEST_F(DeliveryTest, OnlyPoisonIsRejected) {
  Node& a = world_.add("a", kWorker);
  world_.settle();
  transport::Message damaged = message(5, 1);
  damaged.payload = "{\"half";
  world_.broker.inject(damaged);
  transport::Message empty = message(6, 1);
  empty.payload.clear();
  world_.broker.inject(empty);
  transport::Message huge = message(7, 1);
  huge.payload.assign(5'000'000, 'x');
  world_.broker.inject(huge);
  transport::Message lying = message(8, 1);
  lying.properties["dispatchVersion"] = "2";
  world_.broker.inject(lying);
  transport::Message future = message(9, 1);
  future.properties["schemaVersion"] = "99";
  world_.broker.inject(future);
  world_.run_for(10'000);
  EXPECT_EQ(world_.broker.dead(), 5u);
  EXPECT_EQ(world_.broker.waiting() + world_.broker.unsettled(), 0u);
  EXPECT_EQ(a.metrics().poison_rejected.value(), 5 * 3);
  EXPECT_EQ(a.executor().started(), 0u);
}

// I14: a type only newer builds know is acknowledged untouched; one that knows it sweeps it up
// within seconds.
TEST_F(DeliveryTest, AnUnknownTypeIsLeftToWhoKnowsIt) {
  world_.add("p", kPublisher);
  Node& old_build = world_.add("a", kSweeper);
  const auto id = world_.create(2, "t1", "FROM_THE_FUTURE");
  world_.run_for(4'000);
  EXPECT_GE(old_build.metrics().unknown_kind.value(), 1);
  EXPECT_EQ(world_.command_status(id), CommandStatus::kSent);
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
  Node& new_build = world_.add("b", {.broker = true, .types = {"FROM_THE_FUTURE"}, .adjust = {}});
  world_.run_for(10'000);
  EXPECT_EQ(new_build.executor().starts_of(id), 1u);
  EXPECT_EQ(world_.row(id).dispatch_version, 1);
}

// J11, F11: a message that the broker lost is swept up by an idle worker, same version.
TEST_F(DeliveryTest, AnIdleWorkerSweepsWhatTheBrokerLost) {
  world_.broker.set_faults({.lose = 1});
  world_.add("p", kPublisher);
  Node& a = world_.add("a", kSweeper);
  a.frozen = true;
  const auto id = world_.create();
  world_.run_for(1'000);
  ASSERT_EQ(world_.command_status(id), CommandStatus::kSent);
  a.frozen = false;
  world_.run_for(3'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kPending) << "younger than sweep_after";
  world_.run_for(4'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning);
  EXPECT_EQ(world_.row(id).dispatch_version, 1);
}

// With the sweep off the reconciler re-sends after ten minutes; the version stays (C3, I3).
TEST_F(DeliveryTest, WithoutASweepTheReconcilerSendsAgain) {
  world_.broker.set_faults({.lose = 1});
  NodeOptions publisher = kPublisher;
  publisher.reconciler = true;
  publisher.adjust = kWorker.adjust;
  Node& p = world_.add("p", publisher);
  NodeOptions worker = kWorker;
  worker.adjust = [](Settings& s) {
    s.sweep_after_ms = 0;
    s.poll_max_ms = 20'000;
  };
  Node& a = world_.add("a", worker);
  const auto id = world_.create();
  world_.run_for(590'000);
  world_.broker.set_faults({});
  EXPECT_EQ(a.executor().started(), 0u);
  world_.run_for(60'000);
  EXPECT_EQ(a.executor().starts_of(id), 1u);
  EXPECT_EQ(world_.row(id).dispatch_version, 1);
  EXPECT_EQ(p.metrics().redispatch.value(), 1);
}

// C5, J13: all workers busy past ten minutes; what was sent first can still claim, versions
// unchanged.
TEST_F(DeliveryTest, BusyWorkersStarveNobody) {
  NodeOptions publisher = kPublisher;
  publisher.reconciler = true;
  publisher.adjust = poll_seldom;
  world_.add("p", publisher);
  NodeOptions worker = kSweeper;
  worker.adjust = poll_seldom;
  Node& a = world_.add("a", worker);
  const auto ids = world_.create_many(12);
  for (int round = 0; round < 3; ++round) {
    world_.run_for(650'000);
    a.executor().end_all();
    world_.settle();
  }
  for (const auto id : ids) {
    EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
    EXPECT_EQ(world_.row(id).dispatch_version, 1);
    EXPECT_EQ(a.executor().starts_of(id), 1u);
  }
}

// D35, G1: P0 takes the next slot and has reserved ones, whatever is waiting below it.
TEST_F(DeliveryTest, P0IsNeverBehindOthers) {
  world_.add("p", kPublisher);
  Node& a = world_.add("a", kWorker);
  world_.create_many(50, 3);
  world_.run_for(2'000);
  ASSERT_EQ(a.executor().running(), 4u);
  const auto first = world_.create(0);
  const auto second = world_.create(0);
  world_.run_for(1'000);
  EXPECT_EQ(world_.status(first), TaskStatus::kRunning);
  a.executor().end(0);
  world_.run_for(1'000);
  EXPECT_EQ(world_.status(second), TaskStatus::kRunning);
}

// D77 with a broker: the weights hold between the streams too.
TEST_F(DeliveryTest, P3GetsItsShareOfTheStreams) {
  world_.add("p", kPublisher);
  Node& a = world_.add("a", kWorker);
  const auto low = world_.create_many(4, 3);
  for (int round = 0; round < 30; ++round) {
    world_.create_many(6, 1);
    world_.run_for(300);
    a.executor().end_all();
  }
  for (const auto id : low) EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
}

TEST_F(DeliveryTest, APausedLaneIsNeitherSentNorPulled) {
  world_.add("p", kPublisher);
  Node& a = world_.add("a", kWorker);
  world_.settle();
  a.frozen = true;
  const auto sent = world_.create();
  world_.run_for(1'000);
  ASSERT_EQ(world_.broker.waiting(), 1u);
  ASSERT_TRUE(world_.store->set_lane_paused(kLane, true).ok());
  const auto later = world_.create();
  a.frozen = false;
  world_.run_for(20'000);
  EXPECT_EQ(world_.status(sent), TaskStatus::kPending);
  EXPECT_EQ(world_.command_status(later), CommandStatus::kPending);
  EXPECT_EQ(a.executor().started(), 0u);
  ASSERT_TRUE(world_.store->set_lane_paused(kLane, false).ok());
  world_.run_for(10'000);
  EXPECT_EQ(a.executor().running(), 2u);
}

// D44: the unsettled go back to the broker when a process dies between delivery and claim, and run
// at the same version.
TEST_F(DeliveryTest, ADeadProcessLosesNoDelivery) {
  world_.add("p", kPublisher);
  Node& a = world_.add("a", kWorker);
  world_.settle();
  world_.away("claim_delivered");
  const auto ids = world_.create_many(3);
  world_.run_for(2'000);
  ASSERT_EQ(world_.broker.unsettled(), 3u);
  a.kill();
  world_.back();
  Node& b = world_.add("b", kWorker);
  world_.run_for(2'000);
  for (const auto id : ids) {
    EXPECT_EQ(b.executor().starts_of(id), 1u);
    EXPECT_EQ(world_.row(id).dispatch_version, 1);
  }
}

}  // namespace
}  // namespace waybill::dispatch
