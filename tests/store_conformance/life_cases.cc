// Claims, ends, renewals.

#include "tests/store_conformance/store_conformance.h"

namespace waybill::store::conformance {
namespace {

using core::Event;
using core::TaskStatus;

ExportResult result_of(const std::string& key) {
  ExportResult result;
  result.object_key = key;
  result.storage_id = "disk-1";
  result.file_name = "customers.xlsx";
  result.content_type = "application/octet-stream";
  result.size_bytes = 1'234;
  result.sha256 = std::string(64, 'a');
  result.rows = 99;
  result.receipt_json = "{}";
  result.keep_ms = 1'000;
  return result;
}

TEST_P(StoreConformance, AClaimSetsWhatTheExecutionNeeds) {
  const TaskId id = create(action());
  clock().advance(10);
  const auto claimed = claim(5);
  ASSERT_EQ(claimed.size(), 1U);
  const ClaimedTask& task = claimed.front();
  EXPECT_EQ(task.execution, (Execution{id, 1}));
  EXPECT_EQ(task.attempt, 1);
  EXPECT_EQ(task.type, "pay");
  EXPECT_EQ(task.requested_by, "u1");
  EXPECT_EQ(task.trace_id, "trace-1");
  EXPECT_EQ(task.started_at, clock().wall_ms());
  EXPECT_EQ(task.lease_until, clock().wall_ms() + kLease);
  EXPECT_EQ(task.deadline_at, clock().wall_ms() + 1'800'000);
  const TaskRow stored = row(id);
  EXPECT_EQ(stored.status, TaskStatus::kRunning);
  EXPECT_EQ(stored.lease_owner, kOwner);
  EXPECT_EQ(stored.attempt_count, 1);
  EXPECT_EQ(stored.lease_until, task.lease_until);
  EXPECT_TRUE(claim(5).empty());
  expect_invariants();
}

TEST_P(StoreConformance, OrderInsideATenantIsDueTimeThenId) {
  const TaskId first = create(action());
  const TaskId second = create(action());
  clock().advance(1);
  const TaskId third = create(action());
  const auto claimed = claim(2);
  ASSERT_EQ(claimed.size(), 2U);
  EXPECT_EQ(claimed[0].execution.id, first);
  EXPECT_EQ(claimed[1].execution.id, second);
  EXPECT_EQ(claim_one().id, third);
}

// D13: what may run now is due in the very millisecond of its creation, also in the last one of a
// second.
TEST_P(StoreConformance, ImmediateTasksAreDueAtOnceAndInOrder) {
  clock().advance(999 - clock().wall_ms() % 1'000);
  std::vector<TaskId> created;
  for (int batch = 0; batch < 2; ++batch) {
    const std::vector<NewTask> many(500, action());
    const auto ids = store().create_tasks(many);
    ASSERT_STORED(ids);
    created.insert(created.end(), ids->begin(), ids->end());
  }
  const auto polled = store().poll({.owner = std::string(kOwner), .known_types = {}});
  ASSERT_STORED(polled);
  EXPECT_FALSE(polled->next_due_in_ms) << "nothing is left for later";
  std::vector<TaskId> claimed;
  for (int batch = 0; batch < 2; ++batch) {
    for (const ClaimedTask& task : claim(500)) claimed.push_back(task.execution.id);
  }
  EXPECT_EQ(claimed, created);
}

TEST_P(StoreConformance, UnknownTypesAreLeftAlone) {
  NewTask newer = action();
  newer.type = "from-the-future";
  const TaskId unknown = create(newer);
  const TaskId known = create(action());
  ClaimNext request = claiming("account", 10);
  request.known_types = {"pay"};
  const auto claimed = store().claim_next(request);
  ASSERT_STORED(claimed);
  ASSERT_EQ(claimed->size(), 1U);
  EXPECT_EQ(claimed->front().execution.id, known);
  EXPECT_EQ(row(unknown).status, TaskStatus::kPending);
  const auto polled = store().poll({.owner = std::string(kOwner), .known_types = {"pay"}});
  ASSERT_STORED(polled);
  EXPECT_TRUE(polled->heads.empty());
  EXPECT_EQ(store().poll({.owner = std::string(kOwner), .known_types = {}})->heads.size(), 1U);
  expect_invariants();
}

TEST_P(StoreConformance, StaleCommandsAreRemovedOnTheWayAndFillNoBatch) {
  if (!quirks().raw) GTEST_SKIP() << "needs to make stale commands";
  for (int i = 0; i < 6; ++i) create(action());
  // As a lost delete would leave them.
  database().execute(
      "UPDATE task SET status = 4 WHERE id IN (SELECT id FROM task ORDER BY id LIMIT 4)");
  EXPECT_EQ(claim(2).size(), 2U);
  EXPECT_EQ(number("SELECT COUNT(*) FROM outbox"), 0);
}

TEST_P(StoreConformance, ClaimNextNeverTakesAQuarantinedCommand) {
  if (!quirks().raw) GTEST_SKIP() << "needs to quarantine by hand";
  create(action());
  database().execute("UPDATE outbox SET status = 3");
  EXPECT_TRUE(claim(2).empty());
  EXPECT_EQ(number("SELECT COUNT(*) FROM outbox"), 1);
}

TEST_P(StoreConformance, DeliveredCommandsSayWhyTheyClaimedNothing) {
  const TaskId free = create(action());
  const TaskId running = create(action());
  const TaskId ended = create(action());
  const TaskId early = create(action());
  const TaskId head = create(keyed("k"));
  const TaskId blocked = create(keyed("k"));
  const auto deliver = [&](const std::vector<Execution>& commands) {
    auto outcomes = store().claim_delivered(
        {.owner = std::string(kOwner), .lease_ms = kLease, .commands = commands});
    EXPECT_STORED(outcomes);
    return *std::move(outcomes);
  };
  ASSERT_TRUE(deliver({{running, 1}, {ended, 1}, {early, 1}})[0].claimed);
  ASSERT_EQ(finish({ended, 1}), FinishOutcome::kCommitted);
  ASSERT_EQ(finish({early, 1}, Event::kRetryLater), FinishOutcome::kCommitted);
  const auto outcomes = deliver({{free, 1},
                                 {free, 1},
                                 {free, 2},
                                 {running, 1},
                                 {ended, 1},
                                 {early, 1},
                                 {early, 2},
                                 {999'999, 1},
                                 {blocked, 1},
                                 {head, 1}});
  ASSERT_EQ(outcomes.size(), 10U);
  ASSERT_TRUE(outcomes[0].claimed);
  EXPECT_EQ(outcomes[0].claimed->lane, "account");
  EXPECT_FALSE(outcomes[1].claimed);
  EXPECT_EQ(outcomes[1].reason, NotClaimed::kLostRace);
  EXPECT_EQ(outcomes[2].reason, NotClaimed::kVersionDiffers);
  EXPECT_EQ(outcomes[3].reason, NotClaimed::kRunning);
  EXPECT_EQ(outcomes[4].reason, NotClaimed::kEnded);
  EXPECT_EQ(outcomes[5].reason, NotClaimed::kVersionDiffers);
  EXPECT_EQ(outcomes[6].reason, NotClaimed::kEarly);
  EXPECT_EQ(outcomes[7].reason, NotClaimed::kNoTask);
  EXPECT_EQ(outcomes[8].reason, NotClaimed::kBlocked);
  EXPECT_TRUE(outcomes[9].claimed);
  // A running task is never stolen here, its lease over or not.
  clock().advance(kLease + 1);
  EXPECT_EQ(deliver({{running, 1}})[0].reason, NotClaimed::kRunning);
  expect_invariants();
}

TEST_P(StoreConformance, ASuccessWritesItsResultOnce) {
  const auto created = store().create_export(exporting("u1", "a"));
  ASSERT_STORED(created);
  const Execution execution = claim_one("export");
  EXPECT_TRUE(*store().record_object(kOwner, execution, "key-1", "disk-1"));
  clock().advance(5);
  Finish item = ending(execution);
  item.result = result_of("key-1");
  ASSERT_EQ(store().finish(kOwner, std::span(&item, 1))->front(), FinishOutcome::kCommitted);
  const auto found = store().find_export(created->id, everybody());
  ASSERT_STORED(found);
  EXPECT_EQ(found->task.status, TaskStatus::kSucceeded);
  EXPECT_EQ(found->task.completed_at, clock().wall_ms());
  EXPECT_EQ(found->task.lease_owner, kOwner);
  EXPECT_FALSE(found->task.lease_until);
  EXPECT_EQ(found->object_key, "key-1");
  EXPECT_EQ(found->processed_rows, 99);
  EXPECT_EQ(found->total_rows, 99);
  EXPECT_EQ(found->size_bytes, 1'234);
  EXPECT_EQ(found->expires_at, clock().wall_ms() + 1'000);
  // A replay after a lost answer says the same; somebody else is fenced.
  EXPECT_EQ(store().finish(kOwner, std::span(&item, 1))->front(), FinishOutcome::kCommitted);
  EXPECT_EQ(store().finish("host-2", std::span(&item, 1))->front(), FinishOutcome::kFenced);
}

TEST_P(StoreConformance, ASuccessAfterTheDeadlineIsOverdueAndEndsAsATimeOut) {
  const TaskId id = create(action());
  const Execution execution = claim_one();
  clock().advance(1'800'000);
  EXPECT_EQ(finish(execution), FinishOutcome::kOverdue);
  EXPECT_EQ(row(id).status, TaskStatus::kRunning);
  EXPECT_EQ(finish(execution, Event::kOverdue), FinishOutcome::kCommitted);
  const TaskRow after = row(id);
  EXPECT_EQ(after.status, TaskStatus::kPending);
  EXPECT_EQ(after.dispatch_version, 2);
  EXPECT_NE(after.failure_message.find("maximum duration of 30 minutes"), std::string::npos);
}

TEST_P(StoreConformance, ACancelledExportIsNotASuccessButACancelledActionIs) {
  ASSERT_STORED(store().create_export(exporting("u1", "a")));
  const Execution exported = claim_one("export");
  EXPECT_EQ(*store().cancel(exported.id, everybody()), CancelOutcome::kCancelling);
  Finish item = ending(exported);
  item.result = result_of("key");
  EXPECT_EQ(store().finish(kOwner, std::span(&item, 1))->front(), FinishOutcome::kCancelled);
  EXPECT_EQ(row(exported.id).status, TaskStatus::kCancelled);
  EXPECT_EQ(store().find_export(exported.id, everybody())->expires_at, std::nullopt);
  // The same answer when the first one was lost.
  EXPECT_EQ(store().finish(kOwner, std::span(&item, 1))->front(), FinishOutcome::kCancelled);

  // Without a result to write the short way decides the same.
  ASSERT_STORED(store().create_export(exporting("u1", "b")));
  const Execution plain = claim_one("export");
  EXPECT_EQ(*store().cancel(plain.id, everybody()), CancelOutcome::kCancelling);
  EXPECT_EQ(finish(plain), FinishOutcome::kCancelled);

  create(action());
  const Execution acted = claim_one();
  EXPECT_EQ(*store().cancel(acted.id, everybody()), CancelOutcome::kCancelling);
  EXPECT_EQ(finish(acted), FinishOutcome::kCommitted);
  EXPECT_EQ(row(acted.id).status, TaskStatus::kSucceeded);
  EXPECT_EQ(*store().cancel(acted.id, everybody()), CancelOutcome::kAlreadyFinished);
}

// F2: a cancel survives whatever would bring the task back.
TEST_P(StoreConformance, ACancelIsNeverLost) {
  for (const Event event :
       {Event::kRetryLater, Event::kOverdue, Event::kRelease, Event::kStopObserved}) {
    const TaskId id = create(action());
    const Execution execution = claim_one();
    ASSERT_EQ(execution.id, id);
    ASSERT_EQ(*store().cancel(id, everybody()), CancelOutcome::kCancelling);
    EXPECT_EQ(finish(execution, event), FinishOutcome::kCommitted);
    EXPECT_EQ(row(id).status, TaskStatus::kCancelled) << core::to_string(event);
    EXPECT_EQ(finish(execution, event), FinishOutcome::kCommitted) << "a replay";
  }
  const TaskId lost = create(action());
  claim_one();
  ASSERT_EQ(*store().cancel(lost, everybody()), CancelOutcome::kCancelling);
  clock().advance(kLease);
  ASSERT_EQ(store().recover_expired_leases(10, 0)->size(), 1U);
  EXPECT_EQ(row(lost).status, TaskStatus::kCancelled);
  expect_invariants();
}

TEST_P(StoreConformance, RetriesKeepHistoryAndEndWithTheirLastAttempt) {
  const TaskId id = create(action());
  for (int attempt = 1; attempt <= 3; ++attempt) {
    clock().advance(3'600'000);
    const Execution execution = claim_one();
    EXPECT_EQ(execution, (Execution{id, attempt}));
    EXPECT_EQ(finish(execution, Event::kRetryLater), FinishOutcome::kCommitted);
  }
  const TaskRow ended = row(id);
  EXPECT_EQ(ended.status, TaskStatus::kFailed);
  EXPECT_EQ(ended.dispatch_version, 3);
  EXPECT_EQ(ended.failure_message, "the service is away");
  const auto history = store().attempts(id);
  ASSERT_STORED(history);
  ASSERT_EQ(history->size(), 2U);
  EXPECT_EQ((*history)[0].dispatch_version, 1);
  EXPECT_EQ((*history)[0].instance, kOwner);
  EXPECT_EQ((*history)[0].outcome, "retry_later");
  EXPECT_EQ((*history)[1].failure_message, "the service is away");
  // A person starts it again: counters at zero, the last attempt becomes history too.
  const auto retried = store().retry(id, everybody());
  ASSERT_STORED(retried);
  EXPECT_EQ(retried->execution, (Execution{id, 4}));
  const TaskRow again = row(id);
  EXPECT_EQ(again.status, TaskStatus::kPending);
  EXPECT_EQ(again.attempt_count, 0);
  EXPECT_EQ(again.failure_message, "");
  const auto longer = store().attempts(id);
  ASSERT_EQ(longer->size(), 3U);
  EXPECT_EQ((*longer)[2].outcome, "fail");
  EXPECT_EQ((*longer)[2].failure_message, "the service is away");
  EXPECT_EQ(store().retry(id, everybody()).error().code, "NOT_FAILED");
  expect_invariants();
}

TEST_P(StoreConformance, AReleaseCostsNoAttempt) {
  const TaskId id = create(action());
  EXPECT_EQ(finish(claim_one(), Event::kRelease), FinishOutcome::kCommitted);
  const TaskRow after = row(id);
  EXPECT_EQ(after.attempt_count, 0);
  EXPECT_EQ(after.dispatch_version, 2);
  EXPECT_EQ(after.due_at, clock().wall_ms());
  EXPECT_EQ(finish({id, 1}, Event::kRelease), FinishOutcome::kCommitted)
      << "a replay finds its own attempt row";
  EXPECT_EQ(finish({id, 1}, Event::kFail), FinishOutcome::kFenced);
  EXPECT_EQ(claim_one(), (Execution{id, 2}));
}

// I6, I15, D09: a zombie changes nothing.
TEST_P(StoreConformance, AZombieIsFencedEverywhere) {
  ASSERT_STORED(store().create_export(exporting("u1", "a")));
  const Execution old = claim_one("export");
  clock().advance(kLease);
  ASSERT_EQ(store().recover_expired_leases(10, 0)->size(), 1U);
  const Progress revived{.execution = old, .processed_rows = 800, .total_rows = {}};
  ASSERT_STORED(store().save_progress(kOwner, std::span(&revived, 1)));
  EXPECT_EQ(store().load_export(old.id)->processed_rows, 0) << "also before the next one begins";
  const auto again = claim(1, "export", "host-2");
  ASSERT_EQ(again.size(), 1U);
  for (const Event event :
       {Event::kSucceed, Event::kFail, Event::kRetryLater, Event::kRelease, Event::kStopObserved}) {
    EXPECT_EQ(finish(old, event), FinishOutcome::kFenced);
  }
  EXPECT_FALSE(*store().record_object(kOwner, old, "zombie", "disk-1"));
  EXPECT_TRUE(*store().record_object("host-2", again[0].execution, "good", "disk-1"));
  const Progress late{.execution = old, .processed_rows = 900, .total_rows = 1'000};
  ASSERT_STORED(store().save_progress(kOwner, std::span(&late, 1)));
  EXPECT_EQ(store().load_export(old.id)->processed_rows, 0) << "F12";
  const Progress good{.execution = again[0].execution, .processed_rows = 7, .total_rows = {}};
  ASSERT_STORED(store().save_progress("host-2", std::span(&good, 1)));
  EXPECT_EQ(store().load_export(old.id)->processed_rows, 7);
  EXPECT_EQ(store().load_export(old.id)->progress_version, 2);
  EXPECT_EQ(store().load_export(old.id)->object_key, "good");
  EXPECT_EQ(store()
                .renew({.owner = std::string(kOwner), .lease_ms = kLease, .executions = {old}})
                ->outcomes[0],
            RenewOutcome::kLost);
}

TEST_P(StoreConformance, ABatchOfEndsKeepsThemApart) {
  for (int i = 0; i < 6; ++i) create(action());
  const auto claimed = claim(6);
  ASSERT_EQ(claimed.size(), 6U);
  std::vector<Finish> items;
  for (const ClaimedTask& task : claimed) items.push_back(ending(task.execution));
  items[1].event = Event::kFail;
  items[2].execution.version = 9;
  items[3].event = Event::kRetryLater;
  items[4].execution.id = 999'999;
  items.push_back(ending(claimed[0].execution, Event::kFail));  // named twice: the first wins
  const auto outcomes = store().finish(kOwner, items);
  ASSERT_STORED(outcomes);
  const std::vector<FinishOutcome> expected{FinishOutcome::kCommitted, FinishOutcome::kCommitted,
                                            FinishOutcome::kFenced,    FinishOutcome::kCommitted,
                                            FinishOutcome::kFenced,    FinishOutcome::kCommitted,
                                            FinishOutcome::kFenced};
  EXPECT_EQ(*outcomes, expected);
  EXPECT_EQ(row(claimed[0].execution.id).status, TaskStatus::kSucceeded);
  EXPECT_EQ(row(claimed[1].execution.id).status, TaskStatus::kFailed);
  EXPECT_EQ(row(claimed[2].execution.id).status, TaskStatus::kRunning);
  expect_invariants();
}

TEST_P(StoreConformance, RenewingSaysHowEachExecutionStands) {
  for (int i = 0; i < 4; ++i) create(action());
  const auto claimed = claim(4);
  ASSERT_EQ(claimed.size(), 4U);
  ASSERT_EQ(*store().cancel(claimed[1].execution.id, everybody()), CancelOutcome::kCancelling);
  clock().advance(100'000);
  Renew request{
      .owner = std::string(kOwner),
      .lease_ms = kLease,
      .executions = {claimed[0].execution, claimed[1].execution, {claimed[2].execution.id, 7}}};
  const auto report = store().renew(request);
  ASSERT_STORED(report);
  EXPECT_EQ(report->outcomes,
            (std::vector{RenewOutcome::kOk, RenewOutcome::kCancel, RenewOutcome::kLost}));
  EXPECT_EQ(row(claimed[0].execution.id).lease_until, clock().wall_ms() + kLease);
  EXPECT_EQ(report->strays, (std::vector{claimed[2].execution, claimed[3].execution}));
  // D10: a second renewal within the same millisecond holds.
  EXPECT_EQ(store().renew(request)->outcomes[0], RenewOutcome::kOk);
  clock().advance(1'800'000);
  request.executions = {claimed[0].execution};
  EXPECT_EQ(store().renew(request)->outcomes[0], RenewOutcome::kOverdue);
  EXPECT_LT(row(claimed[0].execution.id).lease_until, clock().wall_ms());
}

}  // namespace
}  // namespace waybill::store::conformance
