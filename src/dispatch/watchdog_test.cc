// Leases, deadlines and the local stop rule.

#include <gtest/gtest.h>

#include "dispatch/testing/world.h"

namespace waybill::dispatch {
namespace {

using core::Event;
using core::TaskStatus;

class WatchdogTest : public ::testing::Test {
 protected:
  StopReason reason(Node& node, core::TaskId id) {
    return node.executor().run(*node.executor().find(id)).stop->reason();
  }
  World world_;
};

// I7, D01, D04, B11: an execution far longer than its lease keeps it, whatever the reconciler
// thinks of its age.
TEST_F(WatchdogTest, ALongExecutionKeepsItsLease) {
  Node& a = world_.add("a", {.reconciler = true, .adjust = poll_seldom});
  Node& b = world_.add("b", {.reconciler = true, .adjust = poll_seldom});
  const auto id = world_.create();
  world_.settle();
  Node& runner = a.executor().started() == 1 ? a : b;
  for (int minute = 0; minute < 25; ++minute) {
    world_.run_for(60'000);
    EXPECT_GT(*world_.row(id).lease_until, world_.clock.wall_ms() + 200'000);
  }
  EXPECT_EQ(a.executor().started() + b.executor().started(), 1u);
  EXPECT_EQ(world_.row(id).dispatch_version, 1);
  runner.executor().end(0);
  world_.settle();
  EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
}

// A machine whose wall clock is wrong; time passes as everywhere.
class WrongClock final : public base::Clock {
 public:
  WrongClock(const base::Clock& right, Millis wrong_by) : right_(right), wrong_by_(wrong_by) {}
  Millis wall_ms() const override { return right_.wall_ms() + wrong_by_; }
  Millis boot_ms() const override { return right_.boot_ms(); }
  void jump(Millis by) { wrong_by_ += by; }

 private:
  const base::Clock& right_;
  Millis wrong_by_;
};

// D14: what is due and what has expired the database says, and local deadlines are monotonic, so
// wrong wall clocks take no living lease and keep no dead one.
TEST_F(WatchdogTest, WrongWallClocksTakeNothingAndKeepNothing) {
  WrongClock behind(world_.clock, -600'000);
  WrongClock ahead(world_.clock, 600'000);
  Node& a = world_.add("a", {.adjust = poll_seldom, .clock = &behind});
  const auto id = world_.create();
  world_.settle();
  ASSERT_EQ(a.executor().running(), 1u) << "due now, whatever its clock says";
  Node& b = world_.add("b", {.reconciler = true, .adjust = poll_seldom, .clock = &ahead});
  for (const Millis jump : {0, 1'200'000, -1'200'000}) {
    behind.jump(jump);
    ahead.jump(-jump);
    world_.run_for(400'000);
    EXPECT_EQ(reason(a, id), StopReason::kNone);
    EXPECT_EQ(world_.row(id).dispatch_version, 1);
    EXPECT_GT(*world_.row(id).lease_until, world_.clock.wall_ms() + 200'000);
  }
  a.kill();
  const Millis left = *world_.row(id).lease_until - world_.clock.wall_ms();
  world_.run_for(left - 1);
  EXPECT_EQ(world_.row(id).dispatch_version, 1);
  world_.run_for(60'000);
  EXPECT_EQ(b.executor().starts_of(id), 1u) << "taken over within a pass or two";
}

// B12: nothing but the watchdog renews.
TEST_F(WatchdogTest, ProgressRenewsNothing) {
  Node& a = world_.add("a");
  const auto id = world_.create();
  world_.settle();
  const Millis before = *world_.row(id).lease_until;
  world_.clock.advance(30'000);
  const std::vector<store::Progress> progress{
      {.execution = {.id = id, .version = 1}, .processed_rows = 5, .total_rows = {}}};
  ASSERT_TRUE(world_.store->save_progress(a.owner(), progress).ok());
  EXPECT_EQ(*world_.row(id).lease_until, before);
}

// D02, B13, J6: frozen beyond its lease; another finishes; awake again it changes nothing.
TEST_F(WatchdogTest, AZombieChangesNothing) {
  Node& a = world_.add("a");
  const auto id = world_.create();
  world_.settle();
  ASSERT_EQ(a.executor().running(), 1u);
  a.frozen = true;
  Node& b = world_.add("b", {.reconciler = true, .adjust = poll_seldom});
  world_.run_for(500'000);
  ASSERT_EQ(b.executor().starts_of(id), 1u);
  EXPECT_EQ(world_.row(id).dispatch_version, 2);
  b.executor().end(0);
  world_.settle();
  ASSERT_EQ(world_.status(id), TaskStatus::kSucceeded);
  const auto row = world_.row(id);

  a.frozen = false;
  // It may not even know yet that it slept: it reports a success at once.
  a.executor().end(0);
  world_.run_for(120'000);
  EXPECT_EQ(a.executor().run(0).settled, std::vector{store::FinishOutcome::kFenced});
  EXPECT_EQ(world_.row(id).lease_owner, row.lease_owner);
  EXPECT_EQ(world_.row(id).dispatch_version, row.dispatch_version);
  EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
}

// D09: whoever lost its lease is told to stop at the next renewal.
TEST_F(WatchdogTest, ALostLeaseStopsTheExecution) {
  LogCatcher log;
  Node& a = world_.add("a");
  const auto id = world_.create();
  world_.settle();
  // Taken away while its owner still believes in it.
  const std::vector<store::Finish> release{{.execution = {.id = id, .version = 1},
                                            .event = Event::kRelease,
                                            .failure_message = {},
                                            .retry_after_ms = {},
                                            .result = {}}};
  ASSERT_TRUE(world_.store->finish(a.owner(), release).ok());
  world_.run_for(61'000);
  EXPECT_EQ(a.executor().run(0).stop->reason(), StopReason::kLostLease);
  EXPECT_EQ(reason(a, id), StopReason::kNone) << "the new version runs on";
  EXPECT_EQ(a.metrics().leases_lost.value(), 1);
  EXPECT_EQ(log.count("watchdog.lease_lost", base::LogLevel::kWarn), 1u);
}

// D08, B15: the deadline ends an execution although its renewals succeed.
TEST_F(WatchdogTest, TheDeadlineStopsAnExecution) {
  Node& a = world_.add("a", {.adjust = poll_seldom});
  const auto id = world_.create();
  world_.settle();
  world_.run_for(1'799'000);
  EXPECT_EQ(reason(a, id), StopReason::kNone);
  world_.run_for(61'000);
  ASSERT_EQ(reason(a, id), StopReason::kOverdue);
  a.executor().obey();
  world_.settle();
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
  EXPECT_EQ(world_.row(id).dispatch_version, 2);
  EXPECT_NE(world_.row(id).failure_message.find("30 minutes"), std::string::npos);
}

// B17: an overdue execution that never reacts ends by its lease, with the same message.
TEST_F(WatchdogTest, ADeafOverdueExecutionEndsByItsLease) {
  Node& a = world_.add("a", {.reconciler = true, .adjust = poll_seldom});
  const auto id = world_.create(2, "t1", kType, 1);
  world_.settle();
  world_.run_for(1'800'000 + 400'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kFailed);
  EXPECT_NE(world_.row(id).failure_message.find("maximum duration"), std::string::npos);
  a.executor().end(0);
  world_.settle();
  EXPECT_EQ(world_.status(id), TaskStatus::kFailed);
}

// D05, F6: short failures are retried inside the lease...
TEST_F(WatchdogTest, AFailedRenewalIsRetriedEveryFiveSeconds) {
  Node& a = world_.add("a", {.adjust = poll_seldom});
  const auto id = world_.create();
  world_.settle();
  world_.away("renew");
  world_.run_for(200'000);
  EXPECT_EQ(reason(a, id), StopReason::kNone) << "the lease is still proved";
  EXPECT_GE(a.metrics().renewal_failures.value(), 25);
  world_.back();
  world_.run_for(5'000);
  EXPECT_GE(*world_.row(id).lease_until, world_.clock.wall_ms() + 290'000);
  world_.run_for(600'000);
  EXPECT_EQ(reason(a, id), StopReason::kNone);
}

// ...and once the lease cannot be proved the execution stops before anybody else may start it.
TEST_F(WatchdogTest, WithoutProofItStopsBeforeTheLeaseEnds) {
  Node& a = world_.add("a");
  const auto id = world_.create();
  world_.settle();
  const Millis lease_until = *world_.row(id).lease_until;
  world_.away("renew");
  world_.run_for(269'000);
  EXPECT_EQ(reason(a, id), StopReason::kNone);
  world_.run_for(1'001);
  EXPECT_EQ(reason(a, id), StopReason::kLostLease);
  EXPECT_LT(world_.clock.wall_ms(), lease_until);
  EXPECT_EQ(a.metrics().leases_unproved.value(), 1);
}

// The proof counts from when the request was sent, not from when its answer came.
TEST_F(WatchdogTest, ASlowAnswerProvesNoMoreThanItsRequest) {
  Node& a = world_.add("a");
  world_.create();
  world_.settle();
  const auto entries = a.dispatch().executions().leased();
  ASSERT_EQ(entries.size(), 1u);
  const Millis claimed = entries[0].proved_at;
  world_.during = [this](const store::StatementPoint& point) {
    if (point.operation == "renew" && point.statement == "commit") world_.clock.advance(7'000);
  };
  world_.run_for(60'000);
  world_.during = nullptr;
  EXPECT_EQ(a.dispatch().executions().leased()[0].proved_at, claimed + 60'000);
}

TEST_F(WatchdogTest, ACancelFlagArrivesByRenewalToo) {
  Node& a = world_.add("a");
  const auto id = world_.create();
  world_.settle();
  EXPECT_EQ(world_.cancel(id), store::CancelOutcome::kCancelling);
  world_.away("poll");
  world_.run_for(61'000);
  EXPECT_EQ(reason(a, id), StopReason::kCancelled);
}

// B14: the end of the watchdog is the end of everything it guards, and nothing new starts.
TEST_F(WatchdogTest, TheEndOfTheWatchdogStopsEverything) {
  LogCatcher log;
  Node& a = world_.add("a");
  const auto id = world_.create();
  world_.settle();
  for (const Role& role : a.dispatch().roles()) {
    if (role.name == "watchdog") role.ended();
  }
  EXPECT_EQ(reason(a, id), StopReason::kLostLease);
  EXPECT_EQ(log.count("watchdog.ended", base::LogLevel::kError), 1u);
  const auto later = world_.create();
  world_.run_for(5'000);
  EXPECT_EQ(world_.status(later), TaskStatus::kPending);
}

// An outcome that waits for the database still needs its lease.
TEST_F(WatchdogTest, EndedButUncommittedExecutionsKeepTheirLease) {
  Node& a = world_.add("a", {.reconciler = true, .adjust = poll_seldom});
  const auto id = world_.create();
  world_.settle();
  world_.away("finish");
  a.executor().end(0);
  world_.run_for(900'000);
  EXPECT_EQ(world_.row(id).dispatch_version, 1);
  world_.back();
  world_.run_for(10'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kSucceeded);
}

// D38: a task that kills its process is counted, because the claim commits the count.
TEST_F(WatchdogTest, ATaskThatKillsItsProcessRunsThreeTimes) {
  const auto id = world_.create();
  std::size_t crashes = 0;
  world_.add("reconciler", {.consumer = false, .reconciler = true, .adjust = poll_seldom});
  for (int i = 0; i < 5; ++i) {
    Node& worker = world_.add("worker", {.adjust = poll_seldom});
    world_.run_for(500'000);
    crashes += worker.executor().starts_of(id);
    worker.kill();
  }
  world_.run_for(500'000);
  EXPECT_EQ(crashes, 3u);
  EXPECT_EQ(world_.status(id), TaskStatus::kFailed);
  EXPECT_EQ(world_.row(id).failure_class, "LOST");
}

}  // namespace
}  // namespace waybill::dispatch
