// Two stores on one database, each operation of the first one stopped at each of its statements
// while the second does another operation: whatever the interleaving, the invariants hold and
// everything ends.

#include <condition_variable>
#include <set>
#include <thread>

#include "tests/store_conformance/store_conformance.h"

namespace waybill::store::conformance {
namespace {

using core::Event;

constexpr std::string_view kLane = "race";
constexpr std::string_view kStopper = "host-a";

// What one scenario starts from: a job of one serial key: a failed item, a running head, two that
// wait; and a task of its own whose command is in the broker's hands. The head's lease has run out,
// its deadline has not.
struct Scene {
  TaskId failed = 0;
  TaskId head = 0;
  TaskId waiting = 0;
  TaskId sent = 0;
  std::string event_id;
};

struct Operation {
  std::string name;
  std::function<void(Store&, const Scene&)> run;
};

void end_head(Store& store, const Scene& scene, Event event) {
  const Finish item = ending({scene.head, 1}, event);
  EXPECT_STORED(store.finish(kStopper, std::span(&item, 1)));
}

std::vector<Operation> operations() {
  return {
      {"success", [](Store& s, const Scene& c) { end_head(s, c, Event::kSucceed); }},
      {"retry later", [](Store& s, const Scene& c) { end_head(s, c, Event::kRetryLater); }},
      {"release", [](Store& s, const Scene& c) { end_head(s, c, Event::kRelease); }},
      {"cancel head",
       [](Store& s, const Scene& c) { EXPECT_STORED(s.cancel(c.head, everybody())); }},
      {"cancel waiting",
       [](Store& s, const Scene& c) { EXPECT_STORED(s.cancel(c.waiting, everybody())); }},
      {"cancel sent",
       [](Store& s, const Scene& c) { EXPECT_STORED(s.cancel(c.sent, everybody())); }},
      {"manual retry", [](Store& s, const Scene& c) { (void)s.retry(c.failed, everybody()).ok(); }},
      {"renew",
       [](Store& s, const Scene& c) {
         EXPECT_STORED(s.renew(
             {.owner = std::string(kStopper), .lease_ms = kLease, .executions = {{c.head, 1}}}));
       }},
      {"recover", [](Store& s, const Scene&) { EXPECT_STORED(s.recover_expired_leases(200, 0)); }},
      {"claim next",
       [](Store& s, const Scene&) {
         ClaimNext request = claiming(std::string(kLane), 10, "host-b");
         EXPECT_STORED(s.claim_next(request));
         request.sent_older_than_ms = 0;
         EXPECT_STORED(s.claim_next(request));
       }},
      {"claim delivered",
       [](Store& s, const Scene& c) {
         EXPECT_STORED(s.claim_delivered(
             {.owner = "host-c", .lease_ms = kLease, .commands = {{c.sent, 1}, {c.waiting, 1}}}));
       }},
      {"quarantine",
       [](Store& s, const Scene& c) {
         EXPECT_STORED(
             s.quarantine({.execution = {c.sent, 1}, .event_id = c.event_id, .reason = "x"}));
       }},
      {"promote", [](Store& s, const Scene&) { EXPECT_STORED(s.repair_serial_slots({})); }},
      {"resend", [](Store& s, const Scene&) { EXPECT_STORED(s.resend_stale_commands({}, 0, 0)); }},
      {"make missing",
       [](Store& s, const Scene&) { EXPECT_STORED(s.recreate_missing_commands({}, 0)); }},
      {"create",
       [](Store& s, const Scene&) {
         EXPECT_STORED(s.create_task(keyed("race", std::string(kLane))));
       }},
  };
}

// Stops one thread at the n-th point it meets until it is let go.
class Gate {
 public:
  void arm(int point) {
    const std::lock_guard lock(mutex_);
    armed_ = point;
    met_ = 0;
    stopped_ = open_ = inside_ = false;
  }
  Injected meet(const StatementPoint& point) {
    std::unique_lock lock(mutex_);
    const int index = met_++;
    if (index != armed_) {
      if (point.statement == "begin") inside_ = true;
      if (point.statement == "commit") inside_ = false;
      return Injected::kNone;
    }
    stopped_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    if (point.statement == "begin") inside_ = true;
    return Injected::kNone;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void finished() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  // True when it stands at its point; false when it ended before.
  bool wait_stopped() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_ || done_; });
    return stopped_;
  }
  // Whether the stopped thread holds a writing transaction.
  [[nodiscard]] bool inside() {
    const std::lock_guard lock(mutex_);
    return inside_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int armed_ = -1;
  int met_ = 0;
  bool stopped_ = false;
  bool open_ = false;
  bool done_ = false;
  bool inside_ = false;
};

// Learns when the other thread is about to wait for the writer, or has ended.
class Watch {
 public:
  Injected meet(const StatementPoint& point) {
    if (point.statement == "begin") note();
    return Injected::kNone;
  }
  void note() {
    const std::lock_guard lock(mutex_);
    reached_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
};

Scene make_scene(Store& store, base::ManualClock& clock, std::int64_t job) {
  Scene scene;
  NewTask item = keyed("race", std::string(kLane));
  item.job_id = job;
  scene.failed = *store.create_task(item);
  scene.head = *store.create_task(item);
  scene.waiting = *store.create_task(item);
  const auto claim_head = [&] {
    const auto claimed = store.claim_next(claiming(std::string(kLane), 1, kStopper));
    ASSERT_STORED(claimed);
    ASSERT_EQ(claimed->size(), 1U);
  };
  claim_head();
  const Finish fail = ending({scene.failed, 1}, Event::kFail);
  EXPECT_STORED(store.finish(kStopper, std::span(&fail, 1)));
  claim_head();
  scene.sent = *store.create_task(action(std::string(kLane)));
  LeaseCommands lease;
  lease.owner = "p";
  lease.lane = kLane;
  lease.picks = {{2, "t1", 1}};
  const auto leased = store.lease_commands(lease);
  EXPECT_EQ(leased->size(), 1U);
  scene.event_id = leased->front().event_id;
  SettleCommand sent;
  sent.execution = leased->front().execution;
  sent.attempt = leased->front().attempt;
  sent.sent = true;
  EXPECT_STORED(store.settle_commands("p", std::span(&sent, 1)));
  clock.advance(kLease);
  return scene;
}

// Cleans the lane so that the next scenario starts alone; false when something never ends.
bool end_all(Store& store, base::ManualClock& clock) {
  EXPECT_STORED(store.resend_stale_commands({}, 0, 0));
  return drain(store, clock, std::string(kLane));
}

TEST_P(StoreConformance, EveryPairOfOperationsAtEveryStatement) {
  if (!quirks().second_session || !quirks().raw) GTEST_SKIP() << "needs a second store";
  Hook other_hook;
  const std::unique_ptr<Store> other = database().open_another(other_hook);
  const std::vector<Operation> all = operations();
  std::int64_t job = 0;
  int scenarios = 0;
  for (const Operation& first : all) {
    for (const Operation& second : all) {
      for (int point = 0;; ++point) {
        make_job(++job, 3);
        const Scene scene = make_scene(store(), clock(), job);
        Gate gate;
        gate.arm(point);
        Watch watch;
        database().hook.set([&](const StatementPoint& p) { return gate.meet(p); });
        other_hook.set([&](const StatementPoint& p) { return watch.meet(p); });
        std::thread a([&] {
          first.run(store(), scene);
          gate.finished();
        });
        const bool stopped = gate.wait_stopped();
        std::thread b([&] {
          second.run(*other, scene);
          watch.note();
        });
        // Outside a transaction the second runs to its end; inside one it comes as far as the
        // writer's lock.
        if (stopped && !gate.inside()) {
          b.join();
        } else {
          watch.wait();
        }
        gate.open();
        a.join();
        if (b.joinable()) b.join();
        database().hook.clear();
        other_hook.clear();
        SCOPED_TRACE(first.name + " stopped at point " + std::to_string(point) + ", then " +
                     second.name);
        expect_invariants();
        ASSERT_TRUE(end_all(store(), clock()));
        expect_invariants();
        ASSERT_EQ(number("SELECT COUNT(*) FROM task WHERE status IN (0,1,6)"), 0);
        if (HasFailure()) return;
        ++scenarios;
        if (!stopped) break;
      }
    }
    ASSERT_STORED(store().remove_lane_rows(kLane));
    database().execute("DELETE FROM batch_job");
  }
  EXPECT_GT(scenarios, 1'000);
}

// A lease that is renewed between the reconciler's look and its lock is nobody's to take.
TEST_P(StoreConformance, ARenewedLeaseIsNotRecovered) {
  if (!quirks().second_session) GTEST_SKIP() << "needs a second store";
  Hook other_hook;
  const std::unique_ptr<Store> other = database().open_another(other_hook);
  create(action());
  const Execution execution = claim_one();
  clock().advance(kLease);
  database().hook.set([&](const StatementPoint& point) {
    if (point.operation == "recover_expired_leases" && point.statement == "begin") {
      const auto renewed = other->renew(
          {.owner = std::string(kOwner), .lease_ms = kLease, .executions = {execution}});
      EXPECT_STORED(renewed);
    }
    return Injected::kNone;
  });
  const auto recovered = store().recover_expired_leases(10, 0);
  database().hook.clear();
  ASSERT_STORED(recovered);
  EXPECT_TRUE(recovered->empty());
  EXPECT_EQ(finish(execution), FinishOutcome::kCommitted);
}

// D56: nothing busy reaches a caller, from 16 threads on two stores.
TEST_P(StoreConformance, NoBusyReachesACaller) {
  Hook other_hook;
  std::unique_ptr<Store> other =
      quirks().second_session ? database().open_another(other_hook) : nullptr;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      Store& s = other != nullptr && t % 2 == 1 ? *other : store();
      const std::string owner = "host-" + std::to_string(t);
      for (int i = 0; i < 15; ++i) {
        const std::vector<NewTask> few(5, action());
        ASSERT_STORED(s.create_tasks(few));
        const auto claimed = s.claim_next(claiming("account", 5, owner));
        ASSERT_STORED(claimed);
        Renew renew{.owner = owner, .lease_ms = kLease, .executions = {}};
        std::vector<Finish> items;
        for (const ClaimedTask& task : *claimed) {
          renew.executions.push_back(task.execution);
          items.push_back(ending(task.execution));
        }
        const auto renewed = s.renew(renew);
        ASSERT_STORED(renewed);
        for (const RenewOutcome outcome : renewed->outcomes) EXPECT_EQ(outcome, RenewOutcome::kOk);
        ASSERT_STORED(s.recover_expired_leases(10, 0));
        ASSERT_STORED(s.poll({.owner = owner, .known_types = {}}));
        const auto outcomes = s.finish(owner, items);
        ASSERT_STORED(outcomes);
        for (const FinishOutcome outcome : *outcomes) EXPECT_EQ(outcome, FinishOutcome::kCommitted);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(drain(store(), clock(), "account"));
  expect_invariants();
}

// D17: a renewal overtakes the batches that wait for the one writer.
TEST_P(StoreConformance, ARenewalOvertakesWaitingBatches) {
  create(action());
  const Execution execution = claim_one();
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  bool stopped = false;
  std::vector<std::string> order;
  database().hook.set([&](const StatementPoint& point) {
    std::unique_lock lock(mutex);
    if (point.statement == "begin") order.emplace_back(point.operation);
    if (point.operation == "save_progress" && point.statement == "commit") {
      stopped = true;
      changed.notify_all();
      changed.wait(lock, [&] { return open; });
    }
    return Injected::kNone;
  });
  const Progress progress{.execution = execution, .processed_rows = 1, .total_rows = {}};
  std::thread holder(
      [&] { EXPECT_STORED(store().save_progress(kOwner, std::span(&progress, 1))); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stopped; });
  }
  std::atomic<int> asked{0};
  std::vector<std::thread> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back([&] {
      ++asked;
      EXPECT_STORED(store().set_lane_paused("x", false));
    });
  }
  waiting.emplace_back([&] {
    ++asked;
    EXPECT_STORED(store().renew(
        {.owner = std::string(kOwner), .lease_ms = kLease, .executions = {execution}}));
  });
  while (asked < 4) std::this_thread::yield();
  // All four are about to queue; the one who queues last may still be the renewal: give each the
  // time to get there.
  for (int i = 0; i < 2'000; ++i) std::this_thread::yield();
  {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  holder.join();
  for (std::thread& thread : waiting) thread.join();
  database().hook.clear();
  ASSERT_GE(order.size(), 2U);
  EXPECT_EQ(order[0], "save_progress");
  EXPECT_EQ(order[1], "renew");
}

}  // namespace
}  // namespace waybill::store::conformance
