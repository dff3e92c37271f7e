// Each condition of a conditional write for itself: tests elsewhere let several of them refuse at
// once, so that one could go missing unnoticed. docs/invariants.md says which test guards what.

#include "tests/store_conformance/store_conformance.h"

namespace waybill::store::conformance {
namespace {

using core::Event;
using core::TaskStatus;

constexpr Event kEnds[] = {Event::kSucceed, Event::kFail,    Event::kRetryLater,
                           Event::kOverdue, Event::kRelease, Event::kStopObserved};

// I6: the right task at the right version, still RUNNING, and yet somebody else's.
TEST_P(StoreConformance, OnlyTheOwnerRenewsAndEnds) {
  const TaskId id = create(action());
  const Execution execution = claim_one();
  const auto lease_until = row(id).lease_until;
  clock().advance(1'000);
  for (const Event event : kEnds) {
    EXPECT_EQ(finish(execution, event, "host-2"), FinishOutcome::kFenced) << core::to_string(event);
  }
  const auto renewed =
      store().renew({.owner = "host-2", .lease_ms = kLease, .executions = {execution}});
  ASSERT_STORED(renewed);
  EXPECT_EQ(renewed->outcomes.front(), RenewOutcome::kLost);
  EXPECT_EQ(row(id).lease_until, lease_until);
  EXPECT_EQ(row(id).status, TaskStatus::kRunning);
  EXPECT_EQ(finish(execution), FinishOutcome::kCommitted);
}

// I6: the owner stays readable after the end, so an end needs RUNNING too.
TEST_P(StoreConformance, AnEndedExecutionDoesNotSucceedAfterwards) {
  const TaskId id = create(action());
  const Execution execution = claim_one();
  ASSERT_EQ(finish(execution, Event::kFail), FinishOutcome::kCommitted);
  EXPECT_EQ(finish(execution), FinishOutcome::kFenced);
  EXPECT_EQ(row(id).status, TaskStatus::kFailed);
  EXPECT_EQ(
      store()
          .renew({.owner = std::string(kOwner), .lease_ms = kLease, .executions = {execution}})
          ->outcomes.front(),
      RenewOutcome::kLost);
  expect_invariants();
}

// I4: a command that its task has outlived is removed and starts nothing, and it costs no attempt.
TEST_P(StoreConformance, AnOlderCommandInTheOutboxStartsNothing) {
  if (!quirks().raw) GTEST_SKIP() << "needs to make stale commands";
  const TaskId id = create(action());
  database().execute("UPDATE task SET dispatch_version = 2 WHERE id = " + std::to_string(id));
  EXPECT_TRUE(claim(5).empty());
  EXPECT_EQ(row(id).status, TaskStatus::kPending);
  EXPECT_EQ(row(id).attempt_count, 0);
  EXPECT_EQ(number("SELECT COUNT(*) FROM outbox"), 0);
  clock().advance(60'000);
  EXPECT_EQ(store().recreate_missing_commands({}, 60'000)->changed, 1);
  EXPECT_EQ(claim_one(), (Execution{id, 2}));
}

// I9: a delivery whose command is lost starts nothing and repairs nothing; the reconciler does.
TEST_P(StoreConformance, ADeliveryWithoutItsCommandStartsAndRepairsNothing) {
  if (!quirks().raw) GTEST_SKIP() << "needs to lose a command";
  const TaskId id = create(action());
  database().execute("DELETE FROM outbox");
  const auto outcomes = store().claim_delivered(
      {.owner = std::string(kOwner), .lease_ms = kLease, .commands = {{id, 1}}});
  ASSERT_STORED(outcomes);
  EXPECT_FALSE(outcomes->front().claimed);
  EXPECT_EQ(outcomes->front().reason, NotClaimed::kLostRace);
  EXPECT_EQ(row(id).status, TaskStatus::kPending);
  EXPECT_EQ(number("SELECT COUNT(*) FROM outbox"), 0);
  clock().advance(60'000);
  EXPECT_EQ(store().recreate_missing_commands({}, 60'000)->changed, 1);
  EXPECT_EQ(claim_one(), (Execution{id, 1}));
}

// I15: the late success of an execution that was given up names no file on its task, neither while
// the next one runs nor after it has ended.
TEST_P(StoreConformance, AZombiesResultIsNotWritten) {
  ASSERT_STORED(store().create_export(exporting("u1", "a")));
  const Execution old = claim_one("export");
  clock().advance(kLease);
  ASSERT_EQ(store().recover_expired_leases(10, 0)->size(), 1U);
  const auto again = claim(1, "export", "host-2");
  ASSERT_EQ(again.size(), 1U);
  const auto success = [](const Execution& execution, const std::string& key) {
    Finish item = ending(execution);
    item.result.emplace();
    item.result->object_key = key;
    item.result->storage_id = "disk-1";
    item.result->rows = 5;
    item.result->keep_ms = 1'000;
    return item;
  };
  const Finish late = success(old, "zombie");
  EXPECT_EQ(store().finish(kOwner, std::span(&late, 1))->front(), FinishOutcome::kFenced);
  EXPECT_EQ(store().load_export(old.id)->object_key, "");
  const Finish good = success(again.front().execution, "good");
  EXPECT_EQ(store().finish("host-2", std::span(&good, 1))->front(), FinishOutcome::kCommitted);
  EXPECT_EQ(store().finish(kOwner, std::span(&late, 1))->front(), FinishOutcome::kFenced);
  EXPECT_EQ(store().load_export(old.id)->object_key, "good");
  EXPECT_EQ(row(old.id).lease_owner, "host-2");
}

}  // namespace
}  // namespace waybill::store::conformance
