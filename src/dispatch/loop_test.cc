#include "dispatch/loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "dispatch/testing/world.h"

namespace waybill::dispatch {
namespace {

// A number that a test can wait for.
class Signal {
 public:
  void raise() {
    const std::lock_guard lock(mutex_);
    ++count_;
    condition_.notify_all();
  }
  void wait(int count) {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [&] { return count_ >= count; });
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  int count_ = 0;
};

class NoThreads final : public base::Spawner {
 public:
  std::unique_ptr<base::Spawned> spawn(const std::string&, std::function<void()>) override {
    return nullptr;
  }
};

class LoopTest : public ::testing::Test {
 protected:
  Role role(Step step) {
    return {.name = "test",
            .step = std::move(step),
            .wake = &wake_,
            .begun = [this] { begun_.raise(); },
            .ended = [this] { ended_.raise(); }};
  }
  base::Wake wake_;
  base::ThreadSpawner spawner_;
  Metrics metrics_;
  Signal begun_, steps_, ended_;
};

TEST_F(LoopTest, StepsUntilStoppedAndStartsAgain) {
  Loop loop(role([this]() -> base::Result<Next> {
              steps_.raise();
              return Next::after(60'000);
            }),
            spawner_, metrics_);
  for (int round = 1; round <= 3; ++round) {
    ASSERT_TRUE(loop.start().ok());
    ASSERT_TRUE(loop.start().ok()) << "a second start does nothing";
    steps_.wait(round);
    EXPECT_TRUE(loop.running());
    loop.stop();
    loop.stop();
    EXPECT_FALSE(loop.running());
    EXPECT_EQ(begun_.count(), round);
    EXPECT_EQ(ended_.count(), round);
  }
}

TEST_F(LoopTest, AWakeCutsTheWaiting) {
  Loop loop(role([this]() -> base::Result<Next> {
              steps_.raise();
              return Next::after(3'600'000);
            }),
            spawner_, metrics_);
  ASSERT_TRUE(loop.start().ok());
  for (int i = 1; i <= 5; ++i) {
    steps_.wait(i);
    wake_.raise();
  }
  steps_.wait(6);
}

TEST_F(LoopTest, AgainMeansAtOnce) {
  Loop loop(role([this]() -> base::Result<Next> {
              steps_.raise();
              return steps_.count() < 1'000 ? Next::at_once() : Next::after(3'600'000);
            }),
            spawner_, metrics_);
  ASSERT_TRUE(loop.start().ok());
  steps_.wait(1'000);
}

TEST_F(LoopTest, AFailingStepIsLoggedOncePerChangeCountedAndSurvived) {
  LogCatcher log;
  std::atomic<int> n{0};
  Loop loop(role([&]() -> base::Result<Next> {
              steps_.raise();
              if (++n <= 2) return base::unavailable("the database is away");
              return Next::after(3'600'000);
            }),
            spawner_, metrics_);
  ASSERT_TRUE(loop.start().ok());
  steps_.wait(3);
  loop.stop();
  EXPECT_EQ(metrics_.loop_errors.value(), 2);
  EXPECT_EQ(log.count("role.step_failed", base::LogLevel::kError), 1u);
  EXPECT_EQ(log.count("role.recovered"), 1u);
}

TEST_F(LoopTest, StopDoesNotWaitForTheDelayOfAnError) {
  Loop loop(role([&]() -> base::Result<Next> {
              steps_.raise();
              return base::internal("always");
            }),
            spawner_, metrics_);
  ASSERT_TRUE(loop.start().ok());
  steps_.wait(3);
  loop.stop();
  EXPECT_EQ(ended_.count(), 1);
}

TEST_F(LoopTest, WithoutAThreadItSaysSo) {
  NoThreads none;
  Loop loop(role([]() -> base::Result<Next> { return Next::after(1); }), none, metrics_);
  const base::Status started = loop.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().category, base::ErrorCategory::kUnavailable);
  EXPECT_FALSE(loop.running());
}

TEST_F(LoopTest, StartsAndStopsFromManyThreadsAtOnce) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  Loop loop(role([&]() -> base::Result<Next> {
              const int now = ++inside;
              if (now > most) most = now;
              --inside;
              return Next::after(1);
            }),
            spawner_, metrics_);
  std::vector<std::unique_ptr<base::Spawned>> threads;
  for (int t = 0; t < 4; ++t) {
    threads.push_back(spawner_.spawn("starter", [&loop, t] {
      for (int i = 0; i < 200; ++i) {
        if ((i + t) % 2 == 0) {
          EXPECT_TRUE(loop.start().ok());
        } else {
          loop.stop();
        }
      }
    }));
  }
  threads.clear();
  loop.stop();
  EXPECT_LE(most.load(), 1) << "two threads ran one role";
  EXPECT_EQ(begun_.count(), ended_.count());
}

TEST(Backoff, GrowsToItsBound) {
  Backoff backoff(50, 300);
  EXPECT_FALSE(backoff.active());
  EXPECT_EQ(backoff.next(), 50);
  EXPECT_EQ(backoff.next(), 100);
  EXPECT_EQ(backoff.next(), 200);
  EXPECT_EQ(backoff.next(), 300);
  EXPECT_EQ(backoff.next(), 300);
  backoff.reset();
  EXPECT_EQ(backoff.next(), 50);
}

}  // namespace
}  // namespace waybill::dispatch
