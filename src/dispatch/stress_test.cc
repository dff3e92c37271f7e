// Real threads on a real clock: start, load, stop, again. Meant for the thread sanitizer.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "dispatch/testing/world.h"

namespace waybill::dispatch {
namespace {

// Executes on two threads of its own: succeeds, or stops when told to.
class ThreadedExecutor final : public Executor {
 public:
  explicit ThreadedExecutor(base::Spawner& spawner) {
    for (int i = 0; i < 2; ++i) threads_.push_back(spawner.spawn("execute", [this] { work(); }));
  }
  ~ThreadedExecutor() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    condition_.notify_all();
  }
  bool knows(std::string_view type) const override { return type == kType; }
  std::vector<std::string> known_types() const override { return {kType}; }
  void start(store::ClaimedTask task, std::shared_ptr<const StopFlag> stop,
             std::function<void(Outcome)> done) override {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back({std::move(task), std::move(stop), std::move(done)});
    }
    condition_.notify_one();
  }

 private:
  struct Work {
    store::ClaimedTask task;
    std::shared_ptr<const StopFlag> stop;
    std::function<void(Outcome)> done;
  };
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      condition_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Work work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work.done(outcome_of(work.stop->requested() ? core::Event::kRelease : core::Event::kSucceed));
    }
  }
  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<Work> queue_;  // guarded by mutex_
  bool ending_ = false;     // guarded by mutex_
  std::vector<std::unique_ptr<base::Spawned>> threads_;
};

// Holds whoever starts something until it may go on.
class HoldingExecutor final : public Executor {
 public:
  bool knows(std::string_view type) const override { return type == kType; }
  std::vector<std::string> known_types() const override { return {kType}; }
  void start(store::ClaimedTask, std::shared_ptr<const StopFlag>,
             std::function<void(Outcome)> done) override {
    std::unique_lock lock(mutex_);
    held_ = true;
    condition_.notify_all();
    condition_.wait(lock, [this] { return go_on_; });
    lock.unlock();
    done(outcome_of(core::Event::kSucceed));
  }
  void wait_held() {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [this] { return held_; });
  }
  void go_on() {
    {
      const std::lock_guard lock(mutex_);
      go_on_ = true;
    }
    condition_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool held_ = false;   // guarded by mutex_
  bool go_on_ = false;  // guarded by mutex_
};

// D17: the watchdog has a thread of its own, so work that holds up its consumer starves no renewal.
TEST(WatchdogThreadTest, WorkThatHoldsItsThreadStarvesNoRenewal) {
  base::SystemClock clock;
  base::SystemRandom random;
  base::ThreadSpawner spawner;
  std::mutex mutex;
  std::condition_variable renewed;
  int renewals = 0;
  auto opened = store::open_sqlite(
      {.path = ":memory:"},
      store::Seams{
          .database_clock = clock, .random = random, .before_statement = [&](const auto& point) {
            if (point.operation == "renew" && point.statement == "renew_extend") {
              const std::lock_guard lock(mutex);
              ++renewals;
              renewed.notify_all();
            }
            return store::Injected::kNone;
          }});
  ASSERT_TRUE(opened.ok());
  store::Store& store = **opened;
  ASSERT_TRUE(store.migrate().ok());
  HoldingExecutor executor;
  Settings settings;
  settings.owner = make_owner("held", random);
  settings.lanes = {{.name = kLane, .workers = 1}};
  settings.heartbeat_ms = 5;
  Dispatch dispatch(settings, {.consumer = true, .reconciler = true},
                    Parts{.store = store,
                          .executors = {&executor},
                          .clock = clock,
                          .spawner = spawner,
                          .instance = {},
                          .transport = nullptr,
                          .remover = nullptr,
                          .extra_roles = {}});
  ASSERT_TRUE(dispatch.start(true).ok());
  const auto id = store.create_task(new_action());
  ASSERT_TRUE(id.ok());
  executor.wait_held();
  {
    std::unique_lock lock(mutex);
    const int before = renewals;
    EXPECT_TRUE(
        renewed.wait_for(lock, std::chrono::seconds(60), [&] { return renewals >= before + 5; }));
  }
  executor.go_on();
  dispatch.shutdown();
  EXPECT_EQ(store.lock_and_read(*id)->status, core::TaskStatus::kSucceeded);
}

class StressTest : public ::testing::TestWithParam<bool> {
 protected:
  StressTest() {
    auto opened = store::open_sqlite({.path = ":memory:"},
                                     store::Seams{.database_clock = clock_, .random = random_});
    EXPECT_TRUE(opened.ok());
    store_ = std::move(opened).value();
    EXPECT_TRUE(store_->migrate().ok());
  }
  void create(int count) {
    std::vector<store::NewTask> tasks(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].kind = core::TaskKind::kAction;
      tasks[i].type = kType;
      tasks[i].lane = kLane;
      tasks[i].priority = static_cast<int>(i % 4);
      tasks[i].tenant_id = "t" + std::to_string(i % 3);
      tasks[i].app_code = "app";
      tasks[i].requested_by = "u";
    }
    const auto ids = store_->create_tasks(tasks);
    ASSERT_TRUE(ids.ok());
    const std::lock_guard lock(mutex_);
    ids_.insert(ids_.end(), ids->begin(), ids->end());
  }
  base::SystemClock clock_;
  base::SystemRandom random_;
  base::ThreadSpawner spawner_;
  std::unique_ptr<store::Store> store_;
  std::mutex mutex_;
  std::vector<core::TaskId> ids_;  // guarded by mutex_
};

// D125: every start has its threads, and every stop ends them.
TEST_P(StressTest, StartsWorksAndStopsAgainAndAgain) {
  const bool broker_in_use = GetParam();
  transport::MemoryBroker broker(clock_, random_);
  broker.set_faults({.refuse = 0.05, .repeat = 0.2, .reorder = 0.3});
  constexpr int kRounds = 5;
  std::int64_t finished = 0;
  std::int64_t created = 0;
  for (int round = 0; round < kRounds; ++round) {
    ThreadedExecutor executor(spawner_);
    const auto transport = broker_in_use ? broker.connect() : nullptr;
    Settings settings;
    settings.owner = make_owner("stress", random_);
    settings.lanes = {{.name = kLane, .workers = 32}};
    settings.publisher_poll_ms = 50;
    settings.send_backoff_ms = {20};
    settings.shutdown_grace_ms = round % 2 == 0 ? 5'000 : 0;
    settings.reconciler_period_ms = 100;
    Dispatch dispatch(settings,
                      {.consumer = true,
                       .publisher = broker_in_use,
                       .reconciler = true,
                       .dead_letter = broker_in_use},
                      Parts{.store = *store_,
                            .executors = {&executor},
                            .clock = clock_,
                            .spawner = spawner_,
                            .instance = {},
                            .transport = transport.get(),
                            .remover = nullptr,
                            .extra_roles = {}});
    ASSERT_TRUE(dispatch.start(true).ok());
    ASSERT_TRUE(dispatch.start(true).ok());
    std::vector<std::unique_ptr<base::Spawned>> creators;
    for (int c = 0; c < 2; ++c) {
      creators.push_back(spawner_.spawn("create", [this] {
        for (int i = 0; i < 5; ++i) create(20);
      }));
    }
    creators.clear();
    created += 200;
    dispatch.shutdown();
    dispatch.shutdown();
    EXPECT_EQ(dispatch.executions().size(), 0u);
    EXPECT_EQ(dispatch.metrics().fenced_finish.value(), 0);
    finished += dispatch.metrics().finished.value();
  }
  // What the stops handed back is PENDING with a command; everything else has succeeded. Nothing is
  // lost.
  std::int64_t succeeded = 0;
  for (const core::TaskId id : ids_) {
    const auto row = store_->lock_and_read(id);
    ASSERT_TRUE(row.ok());
    if (row->status == core::TaskStatus::kSucceeded) {
      ++succeeded;
      continue;
    }
    EXPECT_EQ(row->status, core::TaskStatus::kPending);
    const auto facts = store_->waiting_facts(id);
    EXPECT_TRUE(facts.ok() && facts->has_command);
  }
  EXPECT_EQ(static_cast<std::int64_t>(ids_.size()), created);
  EXPECT_GT(succeeded, 0);
  EXPECT_GE(finished, succeeded);
}

INSTANTIATE_TEST_SUITE_P(Feeds, StressTest, ::testing::Values(false, true),
                         [](const auto& feed) { return feed.param ? "Broker" : "Embedded"; });

}  // namespace
}  // namespace waybill::dispatch
