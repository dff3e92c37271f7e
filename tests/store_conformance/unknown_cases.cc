// D28: the answer to COMMIT is lost: it may have happened or not. Every operation, both ways, then
// the replay.

#include <atomic>

#include "tests/store_conformance/store_conformance.h"

namespace waybill::store::conformance {
namespace {

using base::ErrorCategory;
using core::Event;
using core::TaskStatus;

// Loses the answer of the next commit of one operation.
class LostAnswer {
 public:
  LostAnswer(Hook& hook, std::string_view operation, Injected how) : hook_(hook) {
    hook.set([this, operation, how](const StatementPoint& point) {
      if (point.operation != operation || point.statement != "commit" || used_.exchange(true))
        return Injected::kNone;
      return how;
    });
  }
  ~LostAnswer() { hook_.clear(); }
  [[nodiscard]] bool used() const { return used_; }

 private:
  Hook& hook_;
  std::atomic<bool> used_{false};
};

constexpr Injected kBoth[] = {Injected::kUnknownLost, Injected::kUnknownDone};

class UnknownOutcome {
 public:
  // `act` returns the error of the operation, if any.
  template <class Act>
  static void expect(Database& database, std::string_view operation, Injected how, const Act& act) {
    LostAnswer lost(database.hook, operation, how);
    const auto first = act();
    ASSERT_TRUE(lost.used()) << operation;
    ASSERT_FALSE(first.ok()) << operation;
    EXPECT_EQ(first.error().category, ErrorCategory::kOutcomeUnknown) << operation;
  }
};

// Creating resolves it inside: the caller could not replay without making a second task.
TEST_P(StoreConformance, UnknownCreatesMakeExactlyOne) {
  for (const Injected how : kBoth) {
    {
      LostAnswer lost(database().hook, "create_tasks", how);
      const std::vector<NewTask> many(20, action());
      const auto ids = store().create_tasks(many);
      ASSERT_STORED(ids);
      EXPECT_TRUE(lost.used());
      EXPECT_EQ(ids->size(), 20U);
    }
    EXPECT_EQ(claim(500).size(), 20U);
    {
      LostAnswer lost(database().hook, "create_export", how);
      CreateExport request = exporting("u1", how == Injected::kUnknownLost ? "a" : "b");
      request.idempotency_key = request.parameters_hash;
      const auto created = store().create_export(request);
      ASSERT_STORED(created);
      EXPECT_TRUE(lost.used());
      EXPECT_FALSE(created->deduplicated);
      EXPECT_EQ(store().create_export(request)->id, created->id);
      EXPECT_EQ(claim(500, "export").size(), 1U);
    }
    {
      LostAnswer lost(database().hook, "take_ids", how);
      const std::vector<NewTask> many(500, action("ids"));
      for (int i = 0; i < 3 && !lost.used(); ++i) (void)store().create_tasks(many).ok();
      EXPECT_TRUE(lost.used());
      EXPECT_STORED(store().create_tasks(many));
    }
    expect_invariants();
  }
}

TEST_P(StoreConformance, UnknownClaimsAreFoundByTheWatchdog) {
  for (const Injected how : kBoth) {
    const TaskId id = create(action());
    UnknownOutcome::expect(database(), "claim_next", how,
                           [&] { return store().claim_next(claiming("account", 1)); });
    const auto report =
        store().renew({.owner = std::string(kOwner), .lease_ms = kLease, .executions = {}});
    ASSERT_STORED(report);
    if (how == Injected::kUnknownDone) {
      ASSERT_EQ(report->strays, (std::vector<Execution>{{id, 1}}));
      EXPECT_EQ(finish({id, 1}, Event::kRelease), FinishOutcome::kCommitted);
      EXPECT_EQ(finish(claim_one()), FinishOutcome::kCommitted);
    } else {
      EXPECT_TRUE(report->strays.empty());
      EXPECT_EQ(finish(claim_one()), FinishOutcome::kCommitted);
    }
    EXPECT_EQ(row(id).attempt_count, 1);
  }
  expect_invariants();
}

TEST_P(StoreConformance, UnknownDeliveredClaimsAreReplayed) {
  for (const Injected how : kBoth) {
    const TaskId id = create(action());
    const ClaimDelivered request{
        .owner = std::string(kOwner), .lease_ms = kLease, .commands = {{id, 1}}};
    UnknownOutcome::expect(database(), "claim_delivered", how,
                           [&] { return store().claim_delivered(request); });
    const auto again = store().claim_delivered(request);
    ASSERT_STORED(again);
    if (how == Injected::kUnknownDone) {
      EXPECT_EQ(again->front().reason, NotClaimed::kRunning);
      EXPECT_EQ(row(id).lease_owner, kOwner) << "mine, says the locking read";
    } else {
      EXPECT_TRUE(again->front().claimed);
    }
    EXPECT_EQ(finish({id, 1}), FinishOutcome::kCommitted);
  }
}

TEST_P(StoreConformance, UnknownEndsAreReplayedToTheSameEnd) {
  struct Case {
    Event event;
    TaskStatus status;
    std::int32_t version;
  };
  for (const Injected how : kBoth) {
    for (const auto& [event, status, version] :
         {Case{Event::kSucceed, TaskStatus::kSucceeded, 1},
          Case{Event::kFail, TaskStatus::kFailed, 1},
          Case{Event::kRetryLater, TaskStatus::kPending, 2},
          Case{Event::kOverdue, TaskStatus::kPending, 2},
          Case{Event::kRelease, TaskStatus::kPending, 2},
          Case{Event::kStopObserved, TaskStatus::kCancelled, 1}}) {
      const TaskId id = create(action());
      const Execution execution = claim_one();
      if (event == Event::kStopObserved) ASSERT_STORED(store().cancel(id, everybody()));
      const Finish item = ending(execution, event);
      UnknownOutcome::expect(database(), "finish", how,
                             [&] { return store().finish(kOwner, std::span(&item, 1)); });
      EXPECT_EQ(finish(execution, event), FinishOutcome::kCommitted) << core::to_string(event);
      EXPECT_EQ(finish(execution, event), FinishOutcome::kCommitted) << core::to_string(event);
      EXPECT_EQ(row(id).status, status);
      EXPECT_EQ(row(id).dispatch_version, version) << "I3: once";
      // Out of the way of the next case.
      if (status == TaskStatus::kPending) ASSERT_STORED(store().cancel(id, everybody()));
    }
  }
  expect_invariants();
}

TEST_P(StoreConformance, UnknownEndsOfItemsCountOnce) {
  if (!quirks().raw) GTEST_SKIP() << "needs job rows";
  std::int64_t job = 0;
  for (const Injected how : kBoth) {
    make_job(++job, 2);
    NewTask item = keyed("k");
    item.job_id = job;
    const TaskId first = create(item);
    const TaskId second = create(item);
    const Execution execution = claim_one();
    const Finish done = ending(execution);
    UnknownOutcome::expect(database(), "finish", how,
                           [&] { return store().finish(kOwner, std::span(&done, 1)); });
    EXPECT_EQ(finish(execution), FinishOutcome::kCommitted);
    EXPECT_EQ(execution.id, first);
    EXPECT_EQ(row(second).status, TaskStatus::kPending);
    expect_invariants();
    EXPECT_EQ(finish(claim_one()), FinishOutcome::kCommitted);
    expect_invariants();
  }
}

TEST_P(StoreConformance, UnknownControlIsReplayed) {
  for (const Injected how : kBoth) {
    const bool done = how == Injected::kUnknownDone;
    const TaskId id = create(action());
    UnknownOutcome::expect(database(), "cancel", how,
                           [&] { return store().cancel(id, everybody()); });
    EXPECT_EQ(*store().cancel(id, everybody()),
              done ? CancelOutcome::kAlreadyFinished : CancelOutcome::kCancelled);
    EXPECT_EQ(row(id).status, TaskStatus::kCancelled);

    const TaskId failed = create(action());
    EXPECT_EQ(finish(claim_one(), Event::kFail), FinishOutcome::kCommitted);
    UnknownOutcome::expect(database(), "retry", how,
                           [&] { return store().retry(failed, everybody()); });
    EXPECT_EQ(store().retry(failed, everybody()).ok(), !done);
    EXPECT_EQ(row(failed).dispatch_version, 2) << "I3: once";
    const Execution again = claim_one();
    EXPECT_EQ(again, (Execution{failed, 2}));
    UnknownOutcome::expect(database(), "renew", how, [&] {
      return store().renew(
          {.owner = std::string(kOwner), .lease_ms = kLease, .executions = {again}});
    });
    EXPECT_EQ(store()
                  .renew({.owner = std::string(kOwner), .lease_ms = kLease, .executions = {again}})
                  ->outcomes[0],
              RenewOutcome::kOk);
    EXPECT_EQ(finish(again), FinishOutcome::kCommitted);
  }
  expect_invariants();
}

TEST_P(StoreConformance, UnknownCommandsAreReplayedOrRunOut) {
  for (const Injected how : kBoth) {
    const TaskId id = create(action());
    LeaseCommands lease;
    lease.owner = "p";
    lease.lane = "account";
    lease.picks = {{2, "t1", 1}};
    UnknownOutcome::expect(database(), "lease_commands", how,
                           [&] { return store().lease_commands(lease); });
    clock().advance(60'000);
    ASSERT_STORED(store().release_stuck_commands({}));
    const auto leased = store().lease_commands(lease);
    ASSERT_EQ(leased->size(), 1U);
    SettleCommand item;
    item.execution = leased->front().execution;
    item.attempt = leased->front().attempt;
    item.sent = true;
    UnknownOutcome::expect(database(), "settle_commands", how,
                           [&] { return store().settle_commands("p", std::span(&item, 1)); });
    EXPECT_EQ(*store().settle_commands("p", std::span(&item, 1)),
              how == Injected::kUnknownDone ? 0 : 1);
    const DeadLetter letter{
        .execution = {id, 1}, .event_id = leased->front().event_id, .reason = "x"};
    UnknownOutcome::expect(database(), "quarantine", how,
                           [&] { return store().quarantine(letter); });
    EXPECT_EQ(*store().quarantine(letter), how == Injected::kUnknownDone
                                               ? DeadLetterOutcome::kAlreadyQuarantined
                                               : DeadLetterOutcome::kQuarantined);
    EXPECT_EQ(row(id).status, TaskStatus::kFailed);
  }
  expect_invariants();
}

TEST_P(StoreConformance, UnknownRepairsAreReplayed) {
  for (const Injected how : kBoth) {
    const TaskId id = create(action());
    claim_one();
    clock().advance(kLease);
    UnknownOutcome::expect(database(), "recover_expired_leases", how,
                           [&] { return store().recover_expired_leases(10, 0); });
    EXPECT_EQ(store().recover_expired_leases(10, 0)->size(),
              how == Injected::kUnknownDone ? 0U : 1U);
    EXPECT_EQ(row(id).dispatch_version, 2) << "I3: once";
    EXPECT_EQ(finish(claim_one()), FinishOutcome::kCommitted);
  }
  expect_invariants();
}

// Busy and away leave nothing behind; busy is retried inside.
TEST_P(StoreConformance, BusyIsRetriedAndAwayIsSaid) {
  const TaskId id = create(action());
  std::atomic<int> busy{2};
  database().hook.set([&](const StatementPoint& point) {
    return point.statement == "claim_take" && busy.fetch_sub(1) > 0 ? Injected::kRetry
                                                                    : Injected::kNone;
  });
  EXPECT_EQ(claim(1).size(), 1U);
  EXPECT_LT(busy, 1);
  database().hook.set([](const StatementPoint& point) {
    return point.operation == "finish" ? Injected::kRetry : Injected::kNone;
  });
  const Finish item = ending({id, 1});
  EXPECT_EQ(store().finish(kOwner, std::span(&item, 1)).error().category,
            ErrorCategory::kUnavailable);
  database().hook.set([](const StatementPoint& point) {
    return point.statement == "finish_succeed" ? Injected::kAway : Injected::kNone;
  });
  EXPECT_EQ(store().finish(kOwner, std::span(&item, 1)).error().category,
            ErrorCategory::kUnavailable);
  database().hook.clear();
  EXPECT_EQ(row(id).status, TaskStatus::kRunning);
  EXPECT_EQ(finish({id, 1}), FinishOutcome::kCommitted);
}

// D66: a session that died while nobody used it costs nobody a failure, and the one in its place
// knows what every session must know. A database that is really away is said after one more try.
TEST_P(StoreConformance, ADeadSessionIsReplacedUnseen) {
  if (!quirks().second_session) GTEST_SKIP() << "a database in memory ends with its session";
  std::atomic<int> dead{0};
  database().hook.set([&](const StatementPoint& point) {
    const bool first = point.statement == "begin" || point.operation == "poll" ||
                       point.operation == "waiting_facts";
    return first && dead > 0 && dead.fetch_sub(1) > 0 ? Injected::kAway : Injected::kNone;
  });
  const auto die = [&] { dead = 1; };
  const TaskId id = create(action());
  die();
  const TaskId second = create(action());
  die();
  EXPECT_EQ(store().poll({.owner = std::string(kOwner), .known_types = {}})->heads.size(), 1U);
  die();
  EXPECT_STORED(store().waiting_facts(second));
  die();
  ASSERT_EQ(claim(10).size(), 2U);
  die();
  EXPECT_EQ(store()
                .renew({.owner = std::string(kOwner), .lease_ms = kLease, .executions = {{id, 1}}})
                ->outcomes.front(),
            RenewOutcome::kOk);
  die();
  EXPECT_EQ(finish({id, 1}), FinishOutcome::kCommitted);
  EXPECT_EQ(dead, 0) << "every session died once";
  dead = 2;
  const Finish item = ending({second, 1});
  const auto away = store().finish(kOwner, std::span(&item, 1));
  ASSERT_FALSE(away.ok());
  EXPECT_EQ(away.error().category, ErrorCategory::kUnavailable);
  EXPECT_EQ(finish({second, 1}), FinishOutcome::kCommitted);
  database().hook.clear();
  expect_invariants();
}

// One element that the database refuses fails alone.
TEST_P(StoreConformance, ABadElementFailsAlone) {
  if (!quirks().raw) GTEST_SKIP() << "needs a trap in the database";
  std::vector<TaskId> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(create(action()));
  ASSERT_EQ(claim(8).size(), 8U);
  database().execute("CREATE TRIGGER trap BEFORE UPDATE ON task WHEN NEW.id = " +
                     std::to_string(ids[5]) + " BEGIN SELECT RAISE(ABORT, 'trap'); END");
  std::vector<Finish> items;
  for (const TaskId id : ids) items.push_back(ending({id, 1}));
  const auto outcomes = store().finish(kOwner, items);
  ASSERT_FALSE(outcomes.ok());
  EXPECT_EQ(outcomes.error().category, ErrorCategory::kInternal);
  database().execute("DROP TRIGGER trap");
  for (const TaskId id : ids) EXPECT_EQ(finish({id, 1}), FinishOutcome::kCommitted);
}

}  // namespace
}  // namespace waybill::store::conformance
