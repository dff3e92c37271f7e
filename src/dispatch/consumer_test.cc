// The consumer's outbox feed and the finisher, by steps, on the real store.

#include <gtest/gtest.h>

#include "dispatch/testing/world.h"

namespace waybill::dispatch {
namespace {

using core::Event;
using core::TaskStatus;
using store::FinishOutcome;
using store::Injected;

class ConsumerTest : public ::testing::Test {
 protected:
  // A node with only its consumer: nothing repairs.
  Node& node(NodeOptions options = {}) { return world_.add("a", options); }
  World world_;
};

TEST_F(ConsumerTest, ClaimsExecutesAndCommits) {
  Node& a = node();
  const auto id = world_.create();
  world_.settle();
  ASSERT_EQ(a.executor().running(), 1u);
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning);
  EXPECT_EQ(world_.row(id).lease_owner, a.owner());
  EXPECT_EQ(world_.row(id).attempt_count, 1);
  EXPECT_FALSE(world_.has_command(id)) << "the claim deletes the command";
  a.executor().end(0);
  world_.settle();
  EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
  EXPECT_EQ(a.executor().run(0).settled, std::vector{FinishOutcome::kCommitted});
  EXPECT_EQ(a.dispatch().executions().size(), 0u);
}

// A22, D54: a create in this process is claimed without asking the database what there is.
TEST_F(ConsumerTest, AHintIsClaimedWithoutAPoll) {
  Node& a = node();
  world_.run_for(10'000);
  world_.create();
  const std::int64_t before = world_.store->statements();
  a.run("consumer");
  EXPECT_EQ(a.executor().running(), 1u);
  const std::int64_t with_hint = world_.store->statements() - before;
  // The claim and its transaction; a poll would come on top.
  EXPECT_LE(with_hint, 6);
}

// Without the wake-up (another process created the task) the poll bounds the delay.
TEST_F(ConsumerTest, APollFindsWhatOthersCreated) {
  Node& a = node();
  world_.store->on_commit(nullptr);
  world_.run_for(30'000);
  const auto id = world_.create();
  world_.settle();
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
  world_.run_for(1'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning);
  EXPECT_EQ(a.executor().running(), 1u);
}

TEST_F(ConsumerTest, AnIdleProcessCostsAtMostTwoStatementsASecond) {
  node({.reconciler = true, .adjust = {}});
  world_.run_for(60'000);
  const std::int64_t before = world_.store->statements();
  world_.run_for(120'000);
  EXPECT_LE(world_.store->statements() - before, 2 * 120);
}

TEST_F(ConsumerTest, ARetryIsStartedTheMomentItIsDue) {
  Node& a = node();
  const auto id = world_.create();
  world_.settle();
  a.executor().end(0, Event::kRetryLater);
  world_.settle();
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
  EXPECT_EQ(world_.row(id).dispatch_version, 2);
  const Millis due_in = world_.row(id).due_at - world_.clock.wall_ms();
  ASSERT_GT(due_in, 40'000);
  world_.run_for(due_in - 1);
  EXPECT_EQ(world_.status(id), TaskStatus::kPending) << "B7: not before it is due";
  world_.run_for(2);
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning);
  EXPECT_EQ(world_.row(id).attempt_count, 2);
}

// B10: the surplus stays PENDING.
TEST_F(ConsumerTest, NothingIsClaimedWithoutASlot) {
  Node& a = node();
  const auto ids = world_.create_many(10);
  world_.run_for(5'000);
  EXPECT_EQ(a.executor().running(), 4u);
  std::size_t pending = 0;
  for (const auto id : ids) pending += world_.status(id) == TaskStatus::kPending ? 1 : 0;
  EXPECT_EQ(pending, 6u);
  a.executor().end(0);
  world_.settle();
  EXPECT_EQ(a.executor().running(), 4u);
  EXPECT_EQ(a.executor().started(), 5u);
}

// G1, D35: P0 has its own slots and the first place.
TEST_F(ConsumerTest, P0StartsWhileOthersWait) {
  Node& a = node();
  world_.create_many(20, 3);
  world_.settle();
  ASSERT_EQ(a.executor().running(), 4u);
  const auto urgent = world_.create(0);
  const auto second = world_.create(0);
  world_.settle();
  EXPECT_EQ(world_.status(urgent), TaskStatus::kRunning);
  EXPECT_EQ(world_.status(second), TaskStatus::kPending) << "one reserved slot";
  a.executor().end(0);
  world_.settle();
  EXPECT_EQ(world_.status(second), TaskStatus::kRunning)
      << "P0 takes the next slot before twenty P3";
}

// D77: under an endless load of P1 the lowest level is still served.
TEST_F(ConsumerTest, P3IsNeverStarved) {
  Node& a = node();
  const auto low = world_.create_many(3, 3);
  for (int round = 0; round < 40; ++round) {
    world_.create_many(5, 1);
    world_.settle();
    a.executor().end_all();
    world_.run_for(100);
  }
  for (const auto id : low) EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
}

// I14: a type that nobody here knows is neither claimed nor changed.
TEST_F(ConsumerTest, UnknownTypesAreLeftAlone) {
  Node& old_build = node();
  const auto id = world_.create(2, "t1", "FROM_THE_FUTURE");
  const auto known = world_.create();
  world_.run_for(10'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
  EXPECT_EQ(world_.row(id).dispatch_version, 1);
  EXPECT_TRUE(world_.has_command(id));
  EXPECT_EQ(world_.status(known), TaskStatus::kRunning);
  Node& new_build = world_.add("b", {.types = {kType, "FROM_THE_FUTURE"}, .adjust = {}});
  world_.run_for(2'000);
  EXPECT_EQ(new_build.executor().starts_of(id), 1u);
  EXPECT_EQ(old_build.executor().starts_of(id), 0u);
}

TEST_F(ConsumerTest, AnExecutorThatKnowsNothingClaimsNothing) {
  node({.types = {}, .adjust = {}});
  const auto id = world_.create();
  world_.run_for(10'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
}

// Claimed, and the type is gone from the registry in the same moment: released as if never claimed.
TEST_F(ConsumerTest, WhatCannotStartIsReleased) {
  struct Forgetful final : Executor {
    bool knows(std::string_view) const override { return false; }
    std::vector<std::string> known_types() const override { return {kType}; }
    void start(store::ClaimedTask, std::shared_ptr<const StopFlag>,
               std::function<void(Outcome)>) override {
      ADD_FAILURE() << "started without knowing the type";
    }
  } forgetful;
  Settings settings;
  settings.owner = "x-1";
  settings.lanes = {{.name = kLane, .workers = 1}};
  Metrics metrics;
  ExecutionMap map;
  Workbench bench(settings.lanes, {&forgetful}, map, metrics);
  Finisher finisher(settings, *world_.store, bench, world_.clock, metrics);
  Consumer consumer(settings, Consumer::Feed::kOutbox, *world_.store, bench, finisher, world_.clock,
                    metrics);
  const auto id = world_.create();
  ASSERT_TRUE(consumer.step().ok());
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning);
  finisher.step();
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
  EXPECT_EQ(world_.row(id).attempt_count, 0);
  EXPECT_EQ(world_.row(id).dispatch_version, 2);
  EXPECT_TRUE(world_.has_command(id));
  EXPECT_EQ(metrics.released.value(), 1);
}

TEST_F(ConsumerTest, APausedLaneStartsNothing) {
  Node& a = node();
  ASSERT_TRUE(world_.store->set_lane_paused(kLane, true).ok());
  world_.run_for(2'000);
  const auto id = world_.create();
  world_.run_for(5'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
  EXPECT_EQ(a.executor().started(), 0u);
  ASSERT_TRUE(world_.store->set_lane_paused(kLane, false).ok());
  world_.run_for(1'100);
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning);
}

// The poll passes cancel requests on; with all slots busy too.
TEST_F(ConsumerTest, ACancelReachesTheExecutionWithinASecond) {
  Node& a = node();
  const auto ids = world_.create_many(4);
  world_.settle();
  EXPECT_EQ(world_.cancel(ids[1]), store::CancelOutcome::kCancelling);
  world_.run_for(1'100);
  const auto run = a.executor().find(ids[1]);
  EXPECT_EQ(a.executor().run(*run).stop->reason(), StopReason::kCancelled);
  EXPECT_FALSE(a.executor().run(*a.executor().find(ids[0])).stop->requested());
  a.executor().obey();
  world_.settle();
  EXPECT_EQ(world_.status(ids[1]), TaskStatus::kCancelled);
}

// D79: cancelled before it was claimed, it never starts.
TEST_F(ConsumerTest, ACancelledTaskDoesNotStart) {
  Node& a = node();
  const auto id = world_.create();
  EXPECT_EQ(world_.cancel(id), store::CancelOutcome::kCancelled);
  world_.run_for(5'000);
  EXPECT_EQ(a.executor().started(), 0u);
  EXPECT_EQ(world_.status(id), TaskStatus::kCancelled);
}

// D78: whoever commits first wins, and the answers agree with the state.
TEST_F(ConsumerTest, CancelAndSuccessAgreeOnTheWinner) {
  Node& a = node();
  const auto first = world_.create();
  world_.settle();
  a.executor().end(0);
  world_.settle();
  EXPECT_EQ(world_.cancel(first), store::CancelOutcome::kAlreadyFinished);
  EXPECT_EQ(world_.status(first), TaskStatus::kSucceeded);

  store::CreateExport create;
  create.task.type = kType;
  create.task.lane = kLane;
  create.task.tenant_id = "t1";
  create.task.app_code = "app";
  create.task.requested_by = "u1";
  create.task_name = "x";
  create.parameters_json = "{}";
  create.parameters_hash = std::string(64, 'a');
  ASSERT_TRUE(world_.store->ensure_type_guards(std::vector<std::string>{kType}).ok());
  const auto created = world_.store->create_export(create);
  ASSERT_TRUE(created.ok()) << created.error().message;
  world_.settle();
  EXPECT_EQ(world_.cancel(created->id), store::CancelOutcome::kCancelling);
  a.executor().end(1);  // it did not look at its flag in time
  world_.settle();
  EXPECT_EQ(world_.status(created->id), TaskStatus::kCancelled);
  EXPECT_EQ(a.executor().run(1).settled, std::vector{FinishOutcome::kCancelled})
      << "its file must go";
}

TEST_F(ConsumerTest, APermanentErrorIsFinalAndATransientOneIsTriedThreeTimes) {
  Node& a = node({.adjust = poll_seldom});
  const auto bad = world_.create();
  world_.settle();
  a.executor().end(0, Event::kFail);
  world_.settle();
  EXPECT_EQ(world_.status(bad), TaskStatus::kFailed);

  const auto id = world_.create();
  for (int attempt = 1; attempt <= 3; ++attempt) {
    world_.run_for(1'200'000);
    EXPECT_EQ(world_.row(id).attempt_count, attempt);
    EXPECT_EQ(a.executor().end_all(Event::kRetryLater), 1u);
    world_.settle();
  }
  EXPECT_EQ(world_.status(id), TaskStatus::kFailed);
  EXPECT_EQ(world_.row(id).dispatch_version, 3);
  world_.run_for(1'200'000);
  EXPECT_EQ(a.executor().starts_of(id), 3u);
}

// An executor that reports twice is believed once.
TEST_F(ConsumerTest, ASecondReportIsIgnored) {
  Node& a = node();
  const auto id = world_.create();
  world_.settle();
  a.executor().end(0);
  a.executor().end(0, Event::kFail);
  world_.settle();
  EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
  EXPECT_EQ(a.metrics().fenced_finish.value(), 0);
}

// B16: the deadline passed between the last check and the commit.
TEST_F(ConsumerTest, ASuccessAfterTheDeadlineBecomesOverdue) {
  Node& a = node();
  const auto id = world_.create();
  world_.settle();
  world_.clock.advance(1'800'000);
  a.executor().end(0);
  a.run("consumer");
  EXPECT_EQ(a.executor().run(0).settled, std::vector{FinishOutcome::kOverdue})
      << "its file must go";
  EXPECT_EQ(world_.row(id).status, TaskStatus::kPending);
  EXPECT_EQ(world_.row(id).dispatch_version, 2);
  EXPECT_NE(world_.row(id).failure_message.find("maximum duration"), std::string::npos);
  EXPECT_EQ(a.metrics().fenced_overdue.value(), 1);
}

// I6: the version moved on while it ran.
TEST_F(ConsumerTest, AFencedOutcomeChangesNothing) {
  Node& a = node();
  const auto id = world_.create();
  world_.settle();
  world_.clock.advance(300'001);
  ASSERT_TRUE(world_.store->recover_expired_leases(10, 0).ok());
  ASSERT_EQ(world_.row(id).dispatch_version, 2);
  a.executor().end(0);
  LogCatcher log;
  ASSERT_TRUE(a.step("consumer").ok());
  EXPECT_EQ(a.executor().run(0).settled, std::vector{FinishOutcome::kFenced});
  EXPECT_EQ(a.metrics().fenced_finish.value(), 1);
  EXPECT_EQ(log.count("execution.fenced", base::LogLevel::kWarn), 1u);
  EXPECT_NE(world_.row(id).status, TaskStatus::kSucceeded);
}

TEST_F(ConsumerTest, ALostExecutionWritesNothing) {
  Node& a = node();
  const auto id = world_.create();
  world_.settle();
  const std::int64_t before = world_.store->statements();
  a.executor().end_lost(0);
  ASSERT_TRUE(a.step("consumer").ok());
  EXPECT_LE(world_.store->statements() - before, 3) << "no finish statement";
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning) << "its lease ends by itself";
  EXPECT_EQ(a.dispatch().executions().size(), 0u);
  EXPECT_EQ(a.executor().run(0).settled, std::vector{FinishOutcome::kFenced});
}

// 09 section 2: an unknown outcome is replayed until it is known, whichever way it went.
TEST_F(ConsumerTest, AnUnknownFinishIsReplayed) {
  for (const Injected how : {Injected::kUnknownLost, Injected::kUnknownDone}) {
    for (const Event event : {Event::kSucceed, Event::kFail, Event::kRetryLater, Event::kRelease}) {
      World world;
      Node& a = world.add("a");
      const auto id = world.create();
      world.settle();
      world.fail_commit("finish", how);
      a.executor().end(0, event);
      world.run_for(1'000);
      const auto settled = a.executor().run(0).settled;
      ASSERT_EQ(settled.size(), 1u);
      EXPECT_EQ(a.metrics().commit_outcome_unknown.value(), 1);
      EXPECT_EQ(a.metrics().fenced_finish.value(), 0) << core::to_string(event);
      const auto row = world.row(id);
      if (event == Event::kSucceed) {
        EXPECT_EQ(settled[0], FinishOutcome::kCommitted) << "its file must stay";
        EXPECT_EQ(row.status, TaskStatus::kSucceeded);
      } else if (event == Event::kFail) {
        EXPECT_EQ(row.status, TaskStatus::kFailed);
      } else {
        EXPECT_EQ(row.dispatch_version, 2) << "once, not twice";
      }
    }
  }
}

TEST_F(ConsumerTest, OutcomesWaitForTheDatabaseWhileTheLeaseLasts) {
  Node& a = node();
  const auto id = world_.create();
  world_.settle();
  world_.away();
  a.executor().end(0);
  world_.run_for(120'000);
  EXPECT_TRUE(a.executor().run(0).settled.empty());
  world_.back();
  world_.run_for(10'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
  EXPECT_EQ(a.executor().run(0).settled, std::vector{FinishOutcome::kCommitted});
}

TEST_F(ConsumerTest, AfterTheLeaseTheyAreGivenUp) {
  Node& a = node({.adjust = poll_seldom});
  world_.create();
  world_.settle();
  world_.away();
  a.executor().end(0);
  world_.run_for(400'000);
  EXPECT_EQ(a.metrics().finish_given_up.value(), 1);
  EXPECT_TRUE(a.executor().run(0).settled.empty()) << "nobody knows: the file is the orphan scan's";
  EXPECT_EQ(a.dispatch().executions().size(), 0u);
  EXPECT_EQ(a.dispatch().workbench()->slots().free(0).total(), 5);
}

// One outcome that the database will never take must not stop the others, nor run for ever.
TEST_F(ConsumerTest, ARefusedOutcomeFailsAlone) {
  Node& a = node();
  const auto bad = world_.create();
  const auto good = world_.create();
  world_.settle();
  world_.fail_commit("finish", Injected::kFatal, 8);
  a.executor().end(*a.executor().find(bad));
  a.executor().end(*a.executor().find(good));
  world_.run_for(60'000);
  EXPECT_EQ(a.dispatch().executions().size(), 0u);
  EXPECT_NE(world_.status(bad), TaskStatus::kRunning);
  EXPECT_NE(world_.status(good), TaskStatus::kRunning);
}

// A success that was committed without an answer, and then refused when it was told again: what it
// made must not be removed, whatever becomes of the second telling.
TEST_F(ConsumerTest, ACommittedSuccessKeepsItsFileWhenItIsRefusedAfterwards) {
  Node& a = node();
  const auto id = world_.create();
  world_.settle();
  world_.fail_commit("finish", Injected::kUnknownDone);
  a.executor().end(0);
  world_.settle();
  EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
  EXPECT_TRUE(a.executor().run(0).settled.empty());
  world_.fail_commit("finish", Injected::kFatal, 2);
  world_.run_for(60'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
  for (const FinishOutcome heard : a.executor().run(0).settled)
    EXPECT_EQ(heard, FinishOutcome::kCommitted);
  EXPECT_EQ(a.dispatch().executions().size(), 0u);
  EXPECT_EQ(a.dispatch().workbench()->slots().free(0).total(), 5);
}

// A claim whose answer is lost: the watchdog finds what is RUNNING in this name and nobody
// executes.
TEST_F(ConsumerTest, AnUnknownClaimIsReleasedByTheWatchdog) {
  Node& a = node();
  const auto id = world_.create();
  world_.fail_commit("claim_next", Injected::kUnknownDone);
  world_.settle();
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning);
  EXPECT_EQ(a.executor().started(), 0u);
  world_.run_for(61'000);
  EXPECT_EQ(world_.row(id).dispatch_version, 1) << "seen once: it may be on its way into the map";
  world_.run_for(61'000);
  EXPECT_EQ(a.metrics().strays_released.value(), 1);
  EXPECT_EQ(world_.row(id).dispatch_version, 2);
  EXPECT_EQ(world_.row(id).attempt_count, 1) << "the lost one is not counted, the new one is";
  EXPECT_EQ(a.executor().starts_of(id), 1u);
}

// J13, D35 in short: a step claims, starts and finishes a whole batch.
TEST_F(ConsumerTest, AThousandInlineTasksInAFewSteps) {
  Node& a = node({.adjust = [](Settings& s) { s.lanes[0].workers = 500; }});
  a.executor().end_at_once = true;
  const std::vector<store::NewTask> tasks(500, new_action());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(world_.store->create_tasks(tasks).ok());
  int steps = 0;
  for (; a.metrics().finished.value() < 1'000 && steps < 20; ++steps)
    ASSERT_TRUE(a.step("consumer").ok());
  EXPECT_EQ(a.metrics().finished.value(), 1'000);
  EXPECT_LE(steps, 6);
  EXPECT_LE(a.metrics().finish_batches.value(), 4);
}

}  // namespace
}  // namespace waybill::dispatch
