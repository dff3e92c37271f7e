// Clock, randomness, threads, wake-up, log facade, SHA-256.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <set>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/spawner.h"
#include "base/wake.h"

namespace waybill::base {
namespace {

TEST(ClockTest, ManualClockMovesOnlyWhenTold) {
  ManualClock clock(1000);
  const Millis boot = clock.boot_ms();
  clock.step_wall(-500);
  EXPECT_EQ(clock.wall_ms(), 500);
  EXPECT_EQ(clock.boot_ms(), boot) << "an administrator's step must not move the monotonic clock";
  clock.advance(250);
  EXPECT_EQ(clock.wall_ms(), 750);
  EXPECT_EQ(clock.boot_ms(), boot + 250);
}

TEST(RandomTest, UuidsAreVersionFourAndDistinct) {
  SystemRandom random;
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = make_uuid(random);
    ASSERT_TRUE(is_uuid(uuid)) << uuid;
    EXPECT_EQ(uuid[14], '4');
    EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
    seen.insert(uuid);
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(RandomTest, AForkedChildGetsNumbersOfItsOwn) {
  SystemRandom random;
  random.next();
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  if (fork() == 0) {
    const std::uint64_t number = random.next();
    _exit(write(pipe_ends[1], &number, sizeof number) == sizeof number ? 0 : 1);
  }
  std::uint64_t theirs = 0;
  ASSERT_EQ(read(pipe_ends[0], &theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
  EXPECT_NE(random.next(), theirs);
  int status = 0;
  wait(&status);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(RandomTest, SeedDecidesEverything) {
  SeededRandom a(7);
  SeededRandom b(7);
  SeededRandom c(8);
  EXPECT_EQ(make_uuid(a), make_uuid(b));
  EXPECT_NE(make_uuid(b), make_uuid(c));
  for (int i = 0; i < 1000; ++i) {
    const double unit = a.unit();
    EXPECT_GE(unit, 0.0);
    EXPECT_LT(unit, 1.0);
  }
}

TEST(RandomTest, IsUuidRefusesLookAlikes) {
  EXPECT_TRUE(is_uuid("123e4567-E89B-12d3-a456-426614174000"));
  for (const char* text :
       {"", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g",
        "123e4567-e89b-12d3-a456-4266141740000"}) {
    EXPECT_FALSE(is_uuid(text)) << text;
  }
}

TEST(SpawnerTest, RunsBesideAndBlocksSignals) {
  ThreadSpawner spawner;
  Wake wake;
  std::atomic<bool> term_blocked{false};
  const auto spawned = spawner.spawn("a-name-longer-than-fifteen", [&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    term_blocked = sigismember(&mask, SIGTERM) == 1;
    wake.raise();
  });
  ASSERT_NE(spawned, nullptr);
  EXPECT_TRUE(wake.wait_for(60'000));
  spawned->join();
  spawned->join();
  EXPECT_TRUE(term_blocked);
}

TEST(WakeTest, RaisedBeforeWaitingIsNotLost) {
  Wake wake;
  wake.raise();
  wake.raise();
  EXPECT_TRUE(wake.wait_for(60'000));
  EXPECT_FALSE(wake.wait_for(0)) << "one wait clears the condition";
}

class Recorder final : public LogSink {
 public:
  void write(LogLevel, std::string_view event, std::span<const LogField> fields) override {
    last = std::string(event) + "/" + std::string(fields.empty() ? "" : fields.front().key);
  }
  std::string last;
};

TEST(LogTest, GoesToTheSinkAndNowhereWithoutOne) {
  log(LogLevel::kInfo, "dropped");
  Recorder recorder;
  set_log_sink(&recorder);
  log(LogLevel::kWarn, "task refused", {{"taskId", 7}});
  set_log_sink(nullptr);
  log(LogLevel::kInfo, "dropped");
  EXPECT_EQ(recorder.last, "task refused/taskId");
}

TEST(Sha256Test, MatchesThePublishedVector) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 pieces;
  pieces.update("a", 1);
  pieces.update("bc", 2);
  EXPECT_EQ(to_hex(pieces.finish()), sha256_hex("abc"));
}

}  // namespace
}  // namespace waybill::base
