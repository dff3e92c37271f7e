// Serial keys and job counters: I16, I17, F1.

#include <atomic>
#include <random>
#include <thread>

#include "tests/store_conformance/store_conformance.h"

namespace waybill::store::conformance {
namespace {

using core::Event;
using core::TaskStatus;

TEST_P(StoreConformance, OneHeadPerKeyInCreationOrder) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(create(keyed("c1")));
  const TaskId other = create(keyed("c2"));
  NewTask other_tenant = keyed("c1");
  other_tenant.tenant_id = "t2";
  create(other_tenant);
  create(keyed("c1", "document"));
  EXPECT_EQ(row(ids[0]).status, TaskStatus::kPending);
  EXPECT_EQ(row(ids[1]).status, TaskStatus::kBlocked);
  EXPECT_EQ(row(other).status, TaskStatus::kPending);
  auto claimed = claim(10);
  ASSERT_EQ(claimed.size(), 2U);
  expect_invariants();
  // A head in back-off keeps its key.
  EXPECT_EQ(finish({ids[0], 1}, Event::kRetryLater), FinishOutcome::kCommitted);
  EXPECT_EQ(row(ids[1]).status, TaskStatus::kBlocked);
  clock().advance(3'600'000);
  claim(10);
  EXPECT_EQ(finish({ids[0], 2}), FinishOutcome::kCommitted);
  EXPECT_EQ(row(ids[1]).status, TaskStatus::kPending);
  EXPECT_EQ(claim_one(), (Execution{ids[1], 1}));
  expect_invariants();
}

// H8, D71: in whatever way the last attempt of the head ends, the next one starts.
TEST_P(StoreConformance, EveryEndOfAHeadPromotesTheNext) {
  const std::function<void(TaskId)> ends[] = {
      [&](TaskId id) { EXPECT_EQ(finish({id, 1}), FinishOutcome::kCommitted); },
      [&](TaskId id) { EXPECT_EQ(finish({id, 1}, Event::kFail), FinishOutcome::kCommitted); },
      [&](TaskId id) { EXPECT_EQ(finish({id, 1}, Event::kRetryLater), FinishOutcome::kCommitted); },
      [&](TaskId id) { EXPECT_EQ(finish({id, 1}, Event::kOverdue), FinishOutcome::kCommitted); },
      [&](TaskId id) {  // its process is gone
        clock().advance(kLease);
        EXPECT_EQ(store().recover_expired_leases(10, 0)->size(), 1U);
        EXPECT_EQ(row(id).failure_class, "LOST");
      },
      [&](TaskId id) {
        EXPECT_EQ(*store().cancel(id, everybody()), CancelOutcome::kCancelling);
        EXPECT_EQ(finish({id, 1}, Event::kStopObserved), FinishOutcome::kCommitted);
      },
      [&](TaskId id) {
        EXPECT_EQ(*store().cancel(id, everybody()), CancelOutcome::kCancelling);
        clock().advance(kLease);
        EXPECT_EQ(store().recover_expired_leases(10, 0)->size(), 1U);
        EXPECT_EQ(row(id).status, TaskStatus::kCancelled);
      },
  };
  int key = 0;
  for (const auto& end : ends) {
    NewTask once = keyed("k" + std::to_string(++key));
    once.max_attempts = 1;
    const TaskId head = create(once);
    const TaskId next = create(keyed("k" + std::to_string(key)));
    ASSERT_EQ(claim_one(), (Execution{head, 1}));
    end(head);
    EXPECT_TRUE(core::is_ended(row(head).status)) << key;
    EXPECT_EQ(row(next).status, TaskStatus::kPending) << key;
    EXPECT_EQ(claim_one(), (Execution{next, 1}));
    EXPECT_EQ(finish({next, 1}), FinishOutcome::kCommitted);
    expect_invariants();
  }
  // A waiting head: cancelled, or its command damaged.
  const TaskId waiting = create(keyed("w"));
  const TaskId second = create(keyed("w"));
  const TaskId third = create(keyed("w"));
  EXPECT_EQ(*store().cancel(third, everybody()), CancelOutcome::kCancelled);
  EXPECT_EQ(*store().cancel(waiting, everybody()), CancelOutcome::kCancelled);
  EXPECT_EQ(row(second).status, TaskStatus::kPending);
  expect_invariants();
}

TEST_P(StoreConformance, AManualRetryGoesToTheEndOfItsLine) {
  const TaskId failed = create(keyed("k"));
  const TaskId second = create(keyed("k"));
  const TaskId third = create(keyed("k"));
  claim_one();
  ASSERT_EQ(finish({failed, 1}, Event::kFail), FinishOutcome::kCommitted);
  ASSERT_STORED(store().retry(failed, everybody()));
  EXPECT_EQ(row(failed).status, TaskStatus::kBlocked);
  std::vector<TaskId> order;
  for (int i = 0; i < 3; ++i) {
    const Execution execution = claim_one();
    order.push_back(execution.id);
    EXPECT_EQ(finish(execution), FinishOutcome::kCommitted);
    expect_invariants();
  }
  EXPECT_EQ(order, (std::vector{second, third, failed}));
  // With a free key it is its own next.
  const TaskId alone = create(keyed("alone"));
  claim_one();
  ASSERT_EQ(finish({alone, 1}, Event::kFail), FinishOutcome::kCommitted);
  ASSERT_STORED(store().retry(alone, everybody()));
  EXPECT_EQ(row(alone).status, TaskStatus::kPending);
  EXPECT_EQ(claim_one(), (Execution{alone, 2}));
  expect_invariants();
}

TEST_P(StoreConformance, AJobCountsItsItemsAndEnds) {
  if (!quirks().raw) GTEST_SKIP() << "needs job rows";
  make_job(7, 4);
  std::vector<NewTask> items(4, keyed("k"));
  items[3].serial_key.reset();
  for (NewTask& item : items) item.job_id = 7;
  const auto ids = store().create_tasks(items);
  ASSERT_STORED(ids);
  const auto job = [&] {
    return database().query(
        "SELECT status, success_count, fail_count, cancelled_count, finished_at FROM batch_job")[0];
  };
  EXPECT_EQ(job(), (RawRow{"0", "0", "0", "0", ""}));
  ASSERT_EQ(claim(10).size(), 2U);
  EXPECT_EQ(job()[0], "1") << "RUNNING from the first claim";
  Finish both[] = {ending({(*ids)[0], 1}), ending({(*ids)[3], 1}, Event::kFail)};
  ASSERT_STORED(store().finish(kOwner, both));
  EXPECT_EQ(job(), (RawRow{"1", "1", "1", "0", ""}));
  // D81: a replay counts nothing twice.
  ASSERT_STORED(store().finish(kOwner, both));
  EXPECT_EQ(job(), (RawRow{"1", "1", "1", "0", ""}));
  EXPECT_EQ(*store().cancel((*ids)[2], everybody()), CancelOutcome::kCancelled);
  EXPECT_EQ(finish(claim_one()), FinishOutcome::kCommitted);
  EXPECT_EQ(job()[0], "2") << "COMPLETED";
  EXPECT_EQ(job()[4], std::to_string(clock().wall_ms()));
  expect_invariants();
  // H21: a retry reopens it.
  ASSERT_STORED(store().retry((*ids)[3], everybody()));
  EXPECT_EQ(job(), (RawRow{"1", "2", "0", "1", ""}));
  EXPECT_EQ(finish(claim_one(), Event::kFail), FinishOutcome::kCommitted);
  EXPECT_EQ(job()[0], "2");
  expect_invariants();
}

TEST_P(StoreConformance, AJobOfNothingButCancelsOrFailuresSaysSo) {
  if (!quirks().raw) GTEST_SKIP() << "needs job rows";
  for (const bool fails : {false, true}) {
    const std::int64_t id = fails ? 2 : 1;
    make_job(id, 2);
    NewTask item = action();
    item.job_id = id;
    const TaskId first = create(item);
    const TaskId second = create(item);
    EXPECT_EQ(*store().cancel(first, everybody()), CancelOutcome::kCancelled);
    if (fails) {
      EXPECT_EQ(finish(claim_one(), Event::kFail), FinishOutcome::kCommitted);
    } else {
      EXPECT_EQ(*store().cancel(second, everybody()), CancelOutcome::kCancelled);
    }
    EXPECT_EQ(number("SELECT status FROM batch_job WHERE id = " + std::to_string(id)),
              fails ? 3 : 4);
  }
  expect_invariants();
}

// F1 under load: 32 threads of create, claim, end, cancel and retry on four keys.
TEST_P(StoreConformance, NoKeyHasTwoHeadsUnderThirtyTwoThreads) {
  Hook hook;
  std::unique_ptr<Store> second = quirks().second_session ? database().open_another(hook) : nullptr;
  std::atomic<int> running[4] = {};
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::vector<TaskId> known;
  for (int t = 0; t < 32; ++t) {
    threads.emplace_back([&, t] {
      Store& s = second != nullptr && t % 2 == 1 ? *second : store();
      std::minstd_rand random(static_cast<unsigned>(t + 1));
      const std::string owner = "host-" + std::to_string(t);
      for (int i = 0; i < 12; ++i) {
        const int key = static_cast<int>(random() % 4);
        switch (random() % 4) {
          case 0:
          case 1: {
            const auto id = s.create_task(keyed("key-" + std::to_string(key)));
            ASSERT_STORED(id);
            const std::lock_guard lock(mutex);
            known.push_back(*id);
            break;
          }
          case 2: {
            auto claimed = s.claim_next(claiming("account", 1, owner));
            ASSERT_STORED(claimed);
            for (const ClaimedTask& task : *claimed) {
              const int of = (*s.lock_and_read(task.execution.id)).serial_key->back() - '0';
              EXPECT_EQ(running[of].fetch_add(1), 0) << "two executions of one key";
              const Event event = random() % 2 == 0 ? Event::kSucceed : Event::kFail;
              // Free before the commit: afterwards the next one may start.
              running[of].fetch_sub(1);
              const Finish item = ending(task.execution, event);
              ASSERT_STORED(s.finish(owner, std::span(&item, 1)));
            }
            break;
          }
          default: {
            TaskId id = 0;
            {
              const std::lock_guard lock(mutex);
              if (!known.empty()) id = known[random() % known.size()];
            }
            if (id == 0) break;
            if (random() % 2 == 0) {
              ASSERT_STORED(s.cancel(id, everybody()));
            } else {
              (void)s.retry(id, everybody()).ok();  // most are not FAILED
            }
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_invariants();
  EXPECT_TRUE(drain(store(), clock(), "account"));
  expect_invariants();
  for (const TaskId id : known) EXPECT_TRUE(core::is_ended(row(id).status));
}

}  // namespace
}  // namespace waybill::store::conformance
