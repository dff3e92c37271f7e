// The reconciler's branches, retention, schema, the small tables.

#include <algorithm>

#include "tests/store_conformance/store_conformance.h"

namespace waybill::store::conformance {
namespace {

using core::Event;
using core::TaskStatus;

TEST_P(StoreConformance, Branch1aMakesWhatIsMissingAndNothingElse) {
  if (!quirks().raw) GTEST_SKIP() << "needs to lose commands";
  std::vector<TaskId> ids;
  for (int i = 0; i < 7; ++i) ids.push_back(create(action()));
  const Execution running = claim_one();
  database().execute("DELETE FROM outbox WHERE task_id <> " + std::to_string(ids[6]));
  EXPECT_EQ(store().recreate_missing_commands({}, 60'000)->changed, 0) << "not due for 60 s yet";
  clock().advance(60'000);
  std::int64_t changed = 0;
  int steps = 0;
  for (Walk walk{.after = 0, .limit = 2};;) {
    const auto walked = store().recreate_missing_commands(walk, 60'000);
    ASSERT_STORED(walked);
    changed += walked->changed;
    ++steps;
    if (walked->last == 0) break;
    walk.after = walked->last;
  }
  EXPECT_EQ(changed, 5);
  EXPECT_EQ(steps, 4) << "walked to the end";
  EXPECT_EQ(store().recreate_missing_commands({}, 60'000)->changed, 0) << "idempotent";
  EXPECT_EQ(row(ids[1]).dispatch_version, 1) << "I3";
  EXPECT_EQ(row(running.id).status, TaskStatus::kRunning);
  expect_invariants();
  EXPECT_EQ(claim(10).size(), 6U);
}

Command send_one(Store& store) {
  LeaseCommands lease;
  lease.owner = "p";
  lease.lane = "account";
  lease.picks = {{2, "t1", 1}};
  const auto leased = store.lease_commands(lease);
  EXPECT_STORED(leased);
  EXPECT_EQ(leased->size(), 1U);
  SettleCommand item;
  item.execution = leased->front().execution;
  item.attempt = leased->front().attempt;
  item.sent = true;
  EXPECT_EQ(*store.settle_commands("p", std::span(&item, 1)), 1);
  return leased->front();
}

TEST_P(StoreConformance, Branch1bDoublesItsPatience) {
  create(action());
  Millis wait = 600'000;
  for (int sends = 1; sends <= 8; ++sends) {
    EXPECT_EQ(send_one(store()).attempt, sends);
    clock().advance(wait - 1);
    EXPECT_EQ(store().resend_stale_commands({}, 600'000, 60'000)->changed, 0) << sends;
    clock().advance(1);
    ASSERT_STORED(store().set_lane_paused("account", true));
    EXPECT_EQ(store().resend_stale_commands({}, 600'000, 60'000)->changed, 0) << "a paused lane";
    ASSERT_STORED(store().set_lane_paused("account", false));
    EXPECT_EQ(store().resend_stale_commands({}, 600'000, 60'000)->changed, 1) << sends;
    if (sends < 6) wait *= 2;
  }
  EXPECT_EQ(claim_one().version, 1) << "I3: never a new version for a delivery problem";
}

TEST_P(StoreConformance, Branch1bDeletesCommandsWhoseTaskMovedOn) {
  if (!quirks().raw) GTEST_SKIP() << "needs to make stale commands";
  const TaskId id = create(action());
  send_one(store());
  database().execute("UPDATE task SET status = 4 WHERE id = " + std::to_string(id));
  EXPECT_EQ(store().resend_stale_commands({}, 600'000, 60'000)->changed, 1);
  EXPECT_EQ(number("SELECT COUNT(*) FROM outbox"), 0);
}

TEST_P(StoreConformance, Branch2RecoversExpiredLeasesSpread) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(create(action()));
  ASSERT_EQ(claim(4).size(), 4U);
  clock().advance(kLease - 1);
  EXPECT_TRUE(store().recover_expired_leases(200, 30'000)->empty());
  clock().advance(1);
  InstanceRow alive;
  alive.name = kOwner;
  ASSERT_STORED(store().register_instance(alive));
  auto recovered = store().recover_expired_leases(3, 30'000);
  ASSERT_STORED(recovered);
  ASSERT_EQ(recovered->size(), 3U) << "at most the limit";
  EXPECT_TRUE(recovered->front().owner_alive);
  EXPECT_EQ(recovered->front().to, TaskStatus::kPending);
  const Millis now = clock().wall_ms();
  EXPECT_EQ(row(ids[0]).due_at, now) << "the first comes back at once";
  EXPECT_GT(row(ids[2]).due_at, now);
  EXPECT_LE(row(ids[2]).due_at, now + 30'000);
  EXPECT_EQ(row(ids[0]).dispatch_version, 2);
  EXPECT_EQ(row(ids[0]).lease_owner, "");
  EXPECT_EQ(store().recover_expired_leases(200, 0)->size(), 1U);
  EXPECT_TRUE(store().recover_expired_leases(200, 0)->empty());
  const auto history = store().attempts(ids[0]);
  ASSERT_EQ(history->size(), 1U);
  EXPECT_EQ(history->front().outcome, "lost");
  EXPECT_EQ(history->front().instance, kOwner);
  expect_invariants();
}

TEST_P(StoreConformance, Branch2FailsTheLastAttemptAndNamesTheReason) {
  NewTask once = action();
  once.max_attempts = 1;
  const TaskId lost = create(once);
  once.max_duration_ms = 60'000;
  const TaskId slow = create(once);
  claim(2);
  clock().advance(kLease);
  ASSERT_EQ(store().recover_expired_leases(200, 0)->size(), 2U);
  EXPECT_EQ(row(lost).failure_class, "LOST");
  EXPECT_EQ(row(lost).failure_message, core::kLostMessage);
  EXPECT_EQ(row(slow).failure_class, "TIMEOUT");
  EXPECT_NE(row(slow).failure_message.find("maximum duration of 1 minute"), std::string::npos);
  expect_invariants();
}

TEST_P(StoreConformance, RecoveryReturnsTheHalfWrittenObject) {
  ASSERT_STORED(store().create_export(exporting("u1", "a")));
  const Execution execution = claim_one("export");
  ASSERT_TRUE(*store().record_object(kOwner, execution, "half", "disk-1"));
  const std::vector<std::string> keys{"half", "unknown"};
  EXPECT_EQ(*store().recorded_keys(keys), std::vector<std::string>{"half"});
  const auto recovered = store().recover_all_running(500);
  ASSERT_STORED(recovered);
  ASSERT_EQ(recovered->size(), 1U);
  EXPECT_EQ(recovered->front().object_key, "half");
  EXPECT_EQ(recovered->front().storage_id, "disk-1");
  EXPECT_EQ(store().load_export(execution.id)->object_key, "");
  EXPECT_TRUE(store().recorded_keys(keys)->empty());
  EXPECT_EQ(claim_one("export").version, 2);
}

// F7: after a stall or a clock step the owners renew first.
TEST_P(StoreConformance, APassAfterAStallWaitsForTheOwners) {
  EXPECT_FALSE(*store().begin_pass(60'000, 120'000));
  clock().advance(30'000);
  EXPECT_FALSE(*store().begin_pass(60'000, 120'000));
  clock().advance(61'000);
  EXPECT_TRUE(*store().begin_pass(60'000, 120'000));
  clock().advance(60'000);
  EXPECT_TRUE(*store().begin_pass(60'000, 120'000));
  clock().advance(60'000);
  EXPECT_FALSE(*store().begin_pass(60'000, 120'000));
  clock().step_wall(-3'600'000);
  EXPECT_TRUE(*store().begin_pass(60'000, 120'000));
  clock().advance(60'000);
  EXPECT_TRUE(*store().begin_pass(60'000, 120'000));
  clock().advance(60'000);
  EXPECT_FALSE(*store().begin_pass(60'000, 120'000));
}

// D82: a job without an open item is closed by the next pass.
TEST_P(StoreConformance, Branch5RepairsStrandedKeysAndOpenJobs) {
  if (!quirks().raw) GTEST_SKIP() << "needs to break slots";
  const TaskId head = create(keyed("k"));
  const TaskId next = create(keyed("k"));
  EXPECT_EQ(store().repair_serial_slots({})->changed, 0);
  // As an end that forgot its key would leave it.
  database().execute("UPDATE task SET status = 2, completed_at = 1 WHERE id = " +
                     std::to_string(head));
  database().execute("DELETE FROM outbox WHERE task_id = " + std::to_string(head));
  EXPECT_EQ(store().repair_serial_slots({})->changed, 1);
  EXPECT_EQ(row(next).status, TaskStatus::kPending);
  const TaskId lost = create(keyed("k"));
  database().execute("DELETE FROM serial_slot");
  database().execute("UPDATE task SET status = 2, completed_at = 1 WHERE id = " +
                     std::to_string(next));
  database().execute("DELETE FROM outbox");
  EXPECT_EQ(store().repair_serial_slots({})->changed, 1) << "even without its slot";
  EXPECT_EQ(row(lost).status, TaskStatus::kPending);
  make_job(9, 1);
  database().execute("UPDATE batch_job SET success_count = 1 WHERE id = 9");
  EXPECT_EQ(store().repair_serial_slots({})->changed, 1);
  EXPECT_EQ(number("SELECT status FROM batch_job WHERE id = 9"), 2);
}

TEST_P(StoreConformance, ExpiredFilesGoWithTheirRows) {
  ASSERT_STORED(store().create_export(exporting("u1", "a")));
  const Execution execution = claim_one("export");
  Finish item = ending(execution);
  item.result.emplace();
  item.result->object_key = "key";
  item.result->storage_id = "disk-1";
  item.result->keep_ms = 1'000;
  ASSERT_STORED(store().finish(kOwner, std::span(&item, 1)));
  clock().advance(1'000 + 900'000 - 1);
  EXPECT_TRUE(store().expired_files("disk-1", 900'000, {})->empty());
  clock().advance(1);
  EXPECT_TRUE(store().expired_files("disk-2", 900'000, {})->empty()) << "another storage";
  const auto files = store().expired_files("disk-1", 900'000, {});
  ASSERT_STORED(files);
  ASSERT_EQ(files->size(), 1U);
  EXPECT_EQ(files->front().object_key, "key");
  const std::vector<TaskId> ids{files->front().id};
  EXPECT_EQ(*store().mark_expired(ids), 1);
  EXPECT_EQ(*store().mark_expired(ids), 0);
  EXPECT_EQ(row(execution.id).status, TaskStatus::kExpired);
  EXPECT_TRUE(store().expired_files("disk-1", 900'000, {})->empty());
}

// D89: only ended rows go, by the time of their end, and no owner of a file or open job loses its
// rows.
TEST_P(StoreConformance, RetentionDeletesOnlyWhatHasEnded) {
  if (!quirks().raw) GTEST_SKIP() << "needs job rows";
  make_job(1, 2);
  NewTask item = action("jobs");
  item.job_id = 1;
  const TaskId done_item = create(item);
  const TaskId open_item = create(item);
  claim(1, "jobs");
  ASSERT_EQ(finish({done_item, 1}), FinishOutcome::kCommitted);
  const TaskId waiting = create(action());
  const TaskId running = create(action("r"));
  claim(1, "r");
  const TaskId retrying = create(action("x"));
  claim(1, "x");
  ASSERT_EQ(finish({retrying, 1}, Event::kRetryLater), FinishOutcome::kCommitted);
  const TaskId cancelled = create(action("c"));
  ASSERT_STORED(store().cancel(cancelled, everybody()));
  const TaskId ended = create(action("e"));
  claim(1, "e");
  ASSERT_EQ(finish({ended, 1}), FinishOutcome::kCommitted);
  ASSERT_STORED(store().create_export(exporting("u1", "a")));
  const Execution exported = claim_one("export");
  Finish success = ending(exported);
  success.result.emplace();
  success.result->object_key = "key";
  success.result->keep_ms = 1;
  ASSERT_STORED(store().finish(kOwner, std::span(&success, 1)));
  clock().advance(4'000);
  EXPECT_EQ(*store().delete_old_tasks(5'000, 100), 0);
  const TaskId old_but_just_ended = create(action("e"));
  clock().advance(1'000);
  claim(1, "e");
  ASSERT_EQ(finish({old_but_just_ended, 1}), FinishOutcome::kCommitted);
  EXPECT_EQ(*store().delete_old_tasks(5'000, 1), 1) << "the limit";
  EXPECT_EQ(*store().delete_old_tasks(5'000, 100), 1);
  for (const TaskId gone : {cancelled, ended}) EXPECT_FALSE(store().lock_and_read(gone).ok());
  for (const TaskId kept :
       {done_item, open_item, waiting, running, retrying, exported.id, old_but_just_ended}) {
    EXPECT_STORED(store().lock_and_read(kept));
  }
  // Once the job has ended and the file is gone, they follow.
  claim(1, "jobs");
  ASSERT_EQ(finish({open_item, 1}), FinishOutcome::kCommitted);
  const std::vector<TaskId> expired{exported.id};
  ASSERT_EQ(*store().mark_expired(expired), 1);
  clock().advance(5'000);
  EXPECT_EQ(*store().delete_old_tasks(5'000, 100), 4);
  EXPECT_EQ(*store().delete_old_tasks(5'000, 100), 0);
  EXPECT_EQ(number("SELECT COUNT(*) FROM batch_job"), 0);
  EXPECT_EQ(number("SELECT COUNT(*) FROM export_task"), 0);
  EXPECT_EQ(number("SELECT COUNT(*) FROM attempt"), 1) << "of the retrying one";
  expect_invariants();
}

TEST_P(StoreConformance, RetentionOfCommandsAndKeys) {
  create(action());
  create(action());
  send_one(store());
  EXPECT_EQ(*store().delete_old_sent_commands(604'800'000, 100), 0);
  clock().advance(604'800'000);
  EXPECT_EQ(*store().delete_old_sent_commands(604'800'000, 100), 1) << "PENDING ones never";
  CreateExport request = exporting("u1", "a");
  request.idempotency_key = "k";
  const auto first = store().create_export(request);
  ASSERT_STORED(first);
  EXPECT_EQ(*store().delete_old_idempotency(100), 0);
  clock().advance(86'400'000);
  EXPECT_EQ(*store().delete_old_idempotency(100), 1);
}

TEST_P(StoreConformance, MigrationsAreSafeTogetherAndRefuseTheUnknown) {
  EXPECT_EQ(*store().schema_version(), 1);
  EXPECT_STORED(store().migrate());
  if (!quirks().raw) return;
  database().execute(
      "INSERT INTO schema_migration(version, name, applied_at) VALUES (999, 'future', 1)");
  const auto refused = store().migrate();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "SCHEMA_TOO_NEW");
  EXPECT_GT(number("SELECT COUNT(*) FROM task_readable") +
                number("SELECT COUNT(*) FROM outbox_readable") + 1,
            0);
}

TEST_P(StoreConformance, InstancesComeAndGo) {
  InstanceRow row;
  row.name = "host-1";
  row.version = "0.1.0";
  row.storage_id = "disk-1";
  row.roles_json = "[\"api\"]";
  row.workers_json = "{\"export\":4}";
  ASSERT_STORED(store().register_instance(row));
  auto found = store().instances();
  ASSERT_STORED(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_TRUE(found->front().alive);
  EXPECT_EQ(found->front().workers_json, row.workers_json);
  clock().advance(60'000);
  EXPECT_FALSE(store().instances()->front().alive);
  ASSERT_STORED(store().renew_instance("host-1"));
  EXPECT_TRUE(store().instances()->front().alive);
  ASSERT_STORED(store().remove_instance("host-1"));
  EXPECT_TRUE(store().instances()->empty());
}

TEST_P(StoreConformance, SmallReadings) {
  EXPECT_EQ(*store().now(), clock().wall_ms());
  EXPECT_FALSE(*store().has_tasks());
  const auto id = store().database_id();
  ASSERT_STORED(id);
  EXPECT_TRUE(base::is_uuid(*id));
  EXPECT_EQ(*store().database_id(), *id);
  create(action());
  EXPECT_TRUE(*store().has_tasks());
  clock().advance(700);
  const auto figures = store().figures();
  ASSERT_STORED(figures);
  EXPECT_EQ(figures->pending_commands, 1);
  EXPECT_EQ(figures->oldest_command_age_ms, 700);
  EXPECT_EQ(figures->running, 0);
  ASSERT_STORED(store().insert_finished("bench", 30'000));
  create(action());
  ASSERT_STORED(store().remove_lane_rows("bench"));
  EXPECT_EQ(claim(10).size(), 2U);
  if (quirks().raw) {
    EXPECT_EQ(number("SELECT COUNT(*) FROM task"), 2);
  }
}

}  // namespace
}  // namespace waybill::store::conformance
