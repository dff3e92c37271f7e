// The publisher's and the dead-letter role's side of the outbox.

#include "tests/store_conformance/store_conformance.h"

namespace waybill::store::conformance {
namespace {

using core::TaskStatus;

LeaseCommands leasing(std::int64_t n, const std::string& lane = "account") {
  LeaseCommands request;
  request.owner = "publisher-1";
  request.lane = lane;
  request.picks = {{2, "t1", n}};
  return request;
}

SettleCommand settled(const Command& command, bool sent) {
  SettleCommand item;
  item.execution = command.execution;
  item.attempt = command.attempt;
  item.sent = sent;
  if (!sent) {
    item.error = "broker\nis away";
    item.retry_in_ms = 5'000;
  }
  return item;
}

TEST_P(StoreConformance, ACommandIsLeasedSentAndClaimed) {
  const TaskId id = create(action());
  const auto leased = store().lease_commands(leasing(10));
  ASSERT_STORED(leased);
  ASSERT_EQ(leased->size(), 1U);
  const Command& command = leased->front();
  EXPECT_EQ(command.execution, (Execution{id, 1}));
  EXPECT_TRUE(base::is_uuid(command.event_id));
  EXPECT_EQ(command.attempt, 1);
  EXPECT_EQ(command.trace_id, "trace-1");
  EXPECT_TRUE(store().lease_commands(leasing(10))->empty());
  const SettleCommand item = settled(command, true);
  EXPECT_EQ(*store().settle_commands("publisher-1", std::span(&item, 1)), 1);
  EXPECT_EQ(*store().settle_commands("publisher-1", std::span(&item, 1)), 0) << "only once";
  const auto counts = store().sent_counts();
  ASSERT_STORED(counts);
  ASSERT_EQ(counts->size(), 1U);
  EXPECT_EQ(counts->front().sent, 1);
  // The embedded feed does not see it; the sweep does once it is old enough.
  EXPECT_TRUE(claim(5).empty());
  ClaimNext sweep = claiming("account", 5);
  sweep.sent_older_than_ms = 5'000;
  EXPECT_TRUE(store().claim_next(sweep)->empty());
  clock().advance(5'000);
  EXPECT_EQ(store().poll({.owner = "x", .known_types = {}})->sent_heads.size(), 1U);
  EXPECT_EQ(store().claim_next(sweep)->size(), 1U);
  EXPECT_TRUE(store().sent_counts()->empty());
  expect_invariants();
}

TEST_P(StoreConformance, AFailedSendBacksOffAndKeepsItsPlace) {
  create(action());
  const Millis due = clock().wall_ms();
  auto leased = store().lease_commands(leasing(10));
  ASSERT_EQ(leased->size(), 1U);
  const SettleCommand item = settled(leased->front(), false);
  EXPECT_EQ(*store().settle_commands("publisher-1", std::span(&item, 1)), 1);
  EXPECT_TRUE(store().lease_commands(leasing(10))->empty());
  const auto counts = store().sent_counts();
  ASSERT_EQ(counts->size(), 1U) << "a command in back-off counts into the window";
  EXPECT_EQ(store().figures()->max_fail_count, 1);
  clock().advance(5'000);
  leased = store().lease_commands(leasing(10));
  ASSERT_EQ(leased->size(), 1U);
  EXPECT_EQ(leased->front().attempt, 2);
  EXPECT_EQ(leased->front().fail_count, 1);
  EXPECT_EQ(leased->front().occurred_at, due);
}

// D19: ids are taken in blocks, so a smaller one may be committed after a larger one. Nobody
// remembers how far it has come, so the next look finds it.
TEST_P(StoreConformance, ASmallerIdThatIsCommittedLaterIsNotPassedOver) {
  if (!quirks().second_session) GTEST_SKIP() << "needs a second store";
  Hook hook;
  const std::unique_ptr<Store> other = database().open_another(hook);
  for (const std::string lane : {"account", "document"}) {
    create(action(lane));  // takes a block; the other store's lies above it
    const auto ahead = other->create_task(action(lane));
    ASSERT_STORED(ahead);
    const auto look = [&] {
      std::vector<TaskId> found;
      if (lane == "document") {  // without a broker
        for (const ClaimedTask& task : claim(10, lane)) found.push_back(task.execution.id);
      } else {
        const auto leased = store().lease_commands(leasing(10, lane));
        EXPECT_STORED(leased);
        for (const Command& command : *leased) found.push_back(command.execution.id);
      }
      return found;
    };
    ASSERT_EQ(look().size(), 2U);
    const TaskId late = create(action(lane));
    ASSERT_LT(late, *ahead);
    EXPECT_EQ(look(), std::vector{late}) << lane;
  }
}

// D61: whatever waits and whatever the statistics say, nothing takes more than it was asked for.
TEST_P(StoreConformance, NothingTakesMoreThanItsLimit) {
  const auto fill = [&](std::size_t n) {
    for (const char* tenant : {"t1", "t2"}) {
      for (core::Level level = 0; level < core::kLevels; ++level) {
        NewTask task = action();
        task.tenant_id = tenant;
        task.priority = level;
        ASSERT_STORED(store().create_tasks(std::vector<NewTask>(n, task)));
      }
    }
  };
  fill(1);
  if (quirks().plans) database().execute("ANALYZE");  // what it learns is wrong at once
  fill(300);
  const std::vector<core::Pick> picks{{0, "t1", 3}, {2, "t1", 10}, {2, "t2", 4}};
  using Taken = std::map<std::pair<core::Level, std::string>, std::int64_t>;
  const Taken expected{{{0, "t1"}, 3}, {{2, "t1"}, 10}, {{2, "t2"}, 4}};
  const auto count = [&](const auto& executions) {
    Taken taken;
    for (const auto& one : executions) {
      const TaskRow task = row(one.execution.id);
      ++taken[{task.priority, task.tenant_id}];
    }
    return taken;
  };
  ClaimNext next = claiming("account", 0);
  next.picks = picks;
  LeaseCommands lease = leasing(0);
  lease.picks = picks;
  for (int i = 0; i < 3; ++i) {
    const auto claimed = store().claim_next(next);
    ASSERT_STORED(claimed);
    EXPECT_EQ(count(*claimed), expected);
    const auto leased = store().lease_commands(lease);
    ASSERT_STORED(leased);
    EXPECT_EQ(count(*leased), expected);
  }
  clock().advance(kLease);
  EXPECT_EQ(store().recover_expired_leases(10, 0)->size(), 10U);
}

// F10, A14: a late mark of an older lease changes nothing.
TEST_P(StoreConformance, ALateSettlementChangesNothing) {
  create(action());
  const Command first = store().lease_commands(leasing(10))->front();
  clock().advance(60'000);
  EXPECT_EQ(store().release_stuck_commands({})->changed, 1);
  LeaseCommands other = leasing(10);
  other.owner = "publisher-2";
  const Command second = store().lease_commands(other)->front();
  EXPECT_EQ(second.attempt, 2);
  for (const bool sent : {true, false}) {
    const SettleCommand late = settled(first, sent);
    EXPECT_EQ(*store().settle_commands("publisher-1", std::span(&late, 1)), 0);
  }
  const SettleCommand good = settled(second, true);
  EXPECT_EQ(*store().settle_commands("publisher-2", std::span(&good, 1)), 1);
}

TEST_P(StoreConformance, ADeadLetterQuarantinesItsCommandAndFailsItsTask) {
  const TaskId id = create(keyed("k"));
  const TaskId next = create(keyed("k"));
  const Command command = store().lease_commands(leasing(1))->front();
  const DeadLetter letter{.execution = {id, 1}, .event_id = command.event_id, .reason = "not JSON"};
  DeadLetter wrong = letter;
  wrong.event_id = "00000000-0000-4000-8000-000000000000";
  EXPECT_EQ(*store().quarantine(wrong), DeadLetterOutcome::kEventDiffers);
  EXPECT_EQ(row(id).status, TaskStatus::kPending);
  EXPECT_EQ(*store().quarantine(letter), DeadLetterOutcome::kQuarantined);
  const TaskRow failed = row(id);
  EXPECT_EQ(failed.status, TaskStatus::kFailed);
  EXPECT_EQ(failed.failure_class, "POISON");
  EXPECT_EQ(row(next).status, TaskStatus::kPending) << "the key went on";
  expect_invariants();
  // D9: again, and a late mark of its publisher.
  EXPECT_EQ(*store().quarantine(letter), DeadLetterOutcome::kAlreadyQuarantined);
  const SettleCommand late = settled(command, false);
  EXPECT_EQ(*store().settle_commands("publisher-1", std::span(&late, 1)), 0);
  // Nothing brings it back (I11), and a retry leaves it as evidence.
  clock().advance(3'600'000);
  EXPECT_EQ(store().recreate_missing_commands({}, 60'000)->changed, 0);
  EXPECT_EQ(store().resend_stale_commands({}, 600'000, 60'000)->changed, 0);
  ASSERT_EQ(finish(claim_one()), FinishOutcome::kCommitted);
  ASSERT_STORED(store().retry(id, everybody()));
  EXPECT_EQ(claim_one(), (Execution{id, 2}));
  EXPECT_EQ(*store().quarantine(letter), DeadLetterOutcome::kAlreadyQuarantined);
  if (quirks().raw) {
    EXPECT_EQ(number("SELECT COUNT(*) FROM outbox WHERE status = 3"), 1);
  }
}

TEST_P(StoreConformance, ADeadLetterOfATaskThatMovedOnChangesNothing) {
  const TaskId running = create(action());
  const Command command = store().lease_commands(leasing(1))->front();
  const DeadLetter letter{
      .execution = command.execution, .event_id = command.event_id, .reason = "x"};
  const auto claimed =
      store().claim_delivered({.owner = "host-1", .lease_ms = kLease, .commands = {{running, 1}}});
  ASSERT_TRUE(claimed->front().claimed);
  EXPECT_EQ(*store().quarantine(letter), DeadLetterOutcome::kMovedOn);
  EXPECT_EQ(finish({running, 1}), FinishOutcome::kCommitted);
  EXPECT_EQ(*store().quarantine(letter), DeadLetterOutcome::kMovedOn);
  EXPECT_EQ(
      *store().quarantine({.execution = {999'999, 1}, .event_id = letter.event_id, .reason = ""}),
      DeadLetterOutcome::kNoTask);
  EXPECT_EQ(row(running).status, TaskStatus::kSucceeded);
}

}  // namespace
}  // namespace waybill::store::conformance
