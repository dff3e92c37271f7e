// What is repaired, what is left alone, and how much at a time.

#include "dispatch/reconciler.h"

#include <gtest/gtest.h>

#include "dispatch/testing/world.h"

namespace waybill::dispatch {
namespace {

using core::CommandStatus;
using core::Event;
using core::TaskStatus;

const NodeOptions kReconciler{.consumer = false, .reconciler = true, .adjust = {}};

class ReconcilerTest : public ::testing::Test {
 protected:
  void claim(core::TaskId id, const std::string& owner = "gone") {
    const auto row = world_.row(id);
    const auto claimed = world_.store->claim_delivered(
        {.owner = owner, .commands = {{.id = id, .version = row.dispatch_version}}});
    ASSERT_TRUE(claimed.ok());
    ASSERT_TRUE((*claimed)[0].claimed.has_value());
  }
  World world_;
};

// C9, C10: attempts left -> again, now; used up -> FAILED with the reason.
TEST_F(ReconcilerTest, ExpiredLeasesAreRecovered) {
  LogCatcher log;
  Node& r = world_.add("r", kReconciler);
  const auto again = world_.create();
  const auto last = world_.create(2, "t1", kType, 1);
  claim(again);
  claim(last);
  world_.run_for(299'000);
  EXPECT_EQ(world_.status(again), TaskStatus::kRunning) << "a live lease beats everything (D04)";
  world_.run_for(32'000);
  EXPECT_EQ(world_.status(again), TaskStatus::kPending);
  EXPECT_EQ(world_.row(again).dispatch_version, 2);
  EXPECT_TRUE(world_.has_command(again));
  EXPECT_EQ(world_.status(last), TaskStatus::kFailed);
  EXPECT_EQ(world_.row(last).failure_message, core::kLostMessage);
  EXPECT_EQ(r.metrics().lease_recover.value(), 2);
  EXPECT_EQ(log.count("reconciler.lease_recovered", base::LogLevel::kWarn), 2u);
}

// C1: two at once do the work of one.
TEST_F(ReconcilerTest, TwoAtOnceDoTheWorkOfOne) {
  Node& r = world_.add("r", kReconciler);
  Node& q = world_.add("q", kReconciler);
  const auto ids = world_.create_many(20);
  for (const auto id : ids) claim(id);
  world_.run_for(400'000);
  for (const auto id : ids) EXPECT_EQ(world_.row(id).dispatch_version, 2);
  EXPECT_EQ(r.metrics().lease_recover.value() + q.metrics().lease_recover.value(), 20);
}

// D16, F7: after a stall of everything the owners get their chance to renew before anybody is
// judged.
TEST_F(ReconcilerTest, AfterAStallTheOwnersRenewFirst) {
  LogCatcher log;
  Node& r = world_.add("r", kReconciler);
  Node& a = world_.add("a", {.adjust = {}});
  const auto id = world_.create();
  world_.run_for(30'000);
  ASSERT_EQ(a.executor().running(), 1u);
  world_.clock.advance(600'000);  // a frozen database: nobody did anything
  r.run("reconciler");            // and the reconciler is the first to come back
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning);
  EXPECT_GE(log.count("reconciler.grace"), 1u);
  world_.run_for(90'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning);
  EXPECT_EQ(world_.row(id).dispatch_version, 1);
}

// D16: a large incident comes back in portions.
TEST_F(ReconcilerTest, AtMostTwoHundredLeasesAPass) {
  Node& r = world_.add("r", kReconciler);
  const auto ids = world_.create_many(450);
  for (const auto id : ids) claim(id);
  world_.run_for(290'000);
  EXPECT_EQ(r.metrics().lease_recover.value(), 0);
  std::int64_t before = 0;
  while (r.metrics().lease_recover.value() < 450) {
    world_.run_for(30'000);
    const std::int64_t now = r.metrics().lease_recover.value();
    EXPECT_LE(now - before, 200);
    before = now;
    ASSERT_LT(world_.clock.boot_ms(), 3'000'000);
  }
  Millis latest = 0;
  for (const auto id : ids) latest = std::max(latest, world_.row(id).due_at);
  EXPECT_LE(latest - world_.clock.wall_ms(), 30'000) << "spread over at most 30 s";
}

// D07: a person's retry and the automatic recovery in the same moment: one new version.
TEST_F(ReconcilerTest, RetryAndRecoveryMakeOneVersion) {
  Node& r = world_.add("r", kReconciler);
  const auto id = world_.create();
  claim(id);
  world_.run_for(299'000);
  world_.clock.advance(2'000);
  EXPECT_FALSE(world_.store->retry(id, World::kScope).ok()) << "RUNNING: not FAILED";
  world_.run_for(31'000);
  EXPECT_EQ(world_.row(id).dispatch_version, 2);
  EXPECT_FALSE(world_.store->retry(id, World::kScope).ok()) << "PENDING by now";
  EXPECT_EQ(world_.row(id).dispatch_version, 2);
  EXPECT_EQ(r.metrics().lease_recover.value(), 1);
}

// B29: lost while a cancel was waiting: CANCELLED, not run again.
TEST_F(ReconcilerTest, ALostExecutionThatWasCancelledStaysCancelled) {
  world_.add("r", kReconciler);
  const auto id = world_.create();
  claim(id);
  EXPECT_EQ(world_.cancel(id), store::CancelOutcome::kCancelling);
  world_.run_for(400'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kCancelled);
  EXPECT_FALSE(world_.has_command(id));
}

// C12, and branch 3's paging over more than one page.
TEST_F(ReconcilerTest, StuckCommandsAreReleasedPageByPage) {
  NodeOptions options = kReconciler;
  options.adjust = [](Settings& s) { s.reconciler_batch = 7; };
  Node& r = world_.add("r", options);
  const auto ids = world_.create_many(30);
  const auto leased =
      world_.store->lease_commands({.owner = "dead-publisher",
                                    .lane = kLane,
                                    .picks = {{.level = 2, .tenant_id = "t1", .n = 30}}});
  ASSERT_TRUE(leased.ok());
  ASSERT_EQ(leased->size(), 30u);
  world_.run_for(59'000);
  EXPECT_EQ(r.metrics().outbox_release.value(), 0);
  world_.run_for(32'000);
  EXPECT_EQ(r.metrics().outbox_release.value(), 30);
  for (const auto id : ids) {
    EXPECT_EQ(world_.command_status(id), CommandStatus::kPending);
    EXPECT_EQ(world_.row(id).dispatch_version, 1);
  }
}

// C7: a task in its back-off is left alone by every branch.
TEST_F(ReconcilerTest, ATaskInItsBackoffIsLeftAlone) {
  Node& a = world_.add("a", {.adjust = poll_seldom});
  const auto id = world_.create();
  world_.settle();
  a.executor().end(0, Event::kRetryLater);
  world_.settle();
  Node& r = world_.add("r", kReconciler);
  world_.run_for(45'000);
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
  EXPECT_EQ(world_.row(id).dispatch_version, 2);
  EXPECT_EQ(r.metrics().redispatch.value(), 0);
}

// C16, I9: with the reconciler off nobody repairs: not the consumer, not the publisher.
TEST_F(ReconcilerTest, NobodyElseRepairs) {
  world_.add("a", {.adjust = poll_seldom});
  world_.add("p", {.broker = true, .consumer = false, .publisher = true, .adjust = {}});
  world_.settle();
  const auto lost = world_.create();
  claim(lost);
  const auto held = world_.create();
  ASSERT_TRUE(world_.store
                  ->lease_commands({.owner = "dead-publisher",
                                    .lane = kLane,
                                    .picks = {{.level = 2, .tenant_id = "t1", .n = 1}}})
                  .ok());
  world_.run_for(700'000);
  EXPECT_EQ(world_.status(lost), TaskStatus::kRunning);
  EXPECT_EQ(world_.command_status(held), CommandStatus::kClaimed);
  world_.add("r", kReconciler);
  world_.run_for(200'000);
  EXPECT_EQ(world_.row(lost).dispatch_version, 2);
  EXPECT_NE(world_.status(held), TaskStatus::kFailed);
}

// One failing branch does not stop the others, and the pass says so at its end.
TEST_F(ReconcilerTest, AFailingBranchDoesNotStopTheOthers) {
  Node& r = world_.add("r", kReconciler);
  const auto id = world_.create();
  claim(id);
  world_.run_for(290'000);
  world_.away("recreate_missing_commands");
  world_.run_for(60'000);
  EXPECT_EQ(r.metrics().lease_recover.value(), 1);
  int errors = 0;
  for (int i = 0; i < 12; ++i) errors += r.step("reconciler").ok() ? 0 : 1;
  EXPECT_GE(errors, 1);
}

// The half-written object of a lost execution is handed to whoever can remove it.
TEST_F(ReconcilerTest, LostObjectsAreRemoved) {
  struct Remover final : ObjectRemover {
    base::Result<bool> remove(std::string_view storage_id, std::string_view key) override {
      seen.emplace_back(std::string(storage_id) + ":" + std::string(key));
      return true;
    }
    std::vector<std::string> seen;
  } remover;
  ASSERT_TRUE(world_.store->ensure_type_guards(std::vector<std::string>{kType}).ok());
  store::CreateExport create;
  create.task.type = kType;
  create.task.lane = kLane;
  create.task.tenant_id = "t1";
  create.task.app_code = "app";
  create.task.requested_by = "u1";
  create.task_name = "x";
  create.parameters_json = "{}";
  create.parameters_hash = std::string(64, 'a');
  const auto created = world_.store->create_export(create);
  ASSERT_TRUE(created.ok());
  claim(created->id);
  ASSERT_TRUE(
      world_.store
          ->record_object("gone", {.id = created->id, .version = 1}, "exports/1/1-x.xlsx", "disk-1")
          .ok());
  Settings settings;
  Metrics metrics;
  Reconciler reconciler(settings, *world_.store, &remover, world_.clock, metrics);
  const auto pass = [&] {
    for (;;) {
      const auto next = reconciler.step();
      ASSERT_TRUE(next.ok());
      if (!next->again) return;
    }
  };
  for (int i = 0; i < 12; ++i) {
    pass();
    world_.clock.advance(30'000);
  }
  EXPECT_EQ(remover.seen, std::vector<std::string>{"disk-1:exports/1/1-x.xlsx"});
  EXPECT_EQ(metrics.objects_removed.value(), 1);
}

// F14: the only serving process of a file starts: whatever was RUNNING is nobody's.
TEST_F(ReconcilerTest, AtTheStartOfASingleProcessEverythingRunningIsRecovered) {
  Node& r = world_.add("r", kReconciler);
  const auto ids = world_.create_many(250);
  for (const auto id : ids) claim(id);
  ASSERT_TRUE(r.dispatch().reconciler()->recover_all_running().ok());
  for (const auto id : ids) {
    EXPECT_EQ(world_.status(id), TaskStatus::kPending);
    EXPECT_TRUE(world_.has_command(id));
  }
}

TEST_F(ReconcilerTest, APassFollowsItsPeriod) {
  Node& r = world_.add("r", kReconciler);
  Millis wait = 0;
  for (int i = 0; i < 10; ++i) {
    const auto next = r.step("reconciler");
    ASSERT_TRUE(next.ok());
    if (next->again) continue;
    wait = next->wait_ms;
    break;
  }
  EXPECT_EQ(wait, 30'000);
}

// Retention works in batches, pauses between them, and touches nothing that is alive.
TEST_F(ReconcilerTest, RetentionDeletesOnlyWhatIsOldAndOver) {
  Node& a = world_.add("a", {.adjust = poll_seldom});
  a.executor().end_at_once = true;
  world_.create_many(30);
  world_.settle();
  a.executor().end_at_once = false;
  const auto running = world_.create();
  world_.settle();
  a.frozen = true;
  world_.clock.advance(91 * 86'400'000LL);
  const auto fresh = world_.create();
  Settings settings;
  settings.retention_batch = 10;
  Metrics metrics;
  Retention retention(settings, *world_.store, world_.clock, metrics);
  for (int i = 0; i < 10; ++i) {
    const auto next = retention.step();
    ASSERT_TRUE(next.ok());
    EXPECT_FALSE(next->again) << "at most half of the time";
    EXPECT_GT(next->wait_ms, 0);
  }
  EXPECT_EQ(metrics.retention_deleted.value(), 30);
  EXPECT_EQ(world_.status(running), TaskStatus::kRunning);
  EXPECT_EQ(world_.status(fresh), TaskStatus::kPending);
}

}  // namespace
}  // namespace waybill::dispatch
