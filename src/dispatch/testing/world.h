// For the tests of this module: one database (the real store, in memory), one faulty broker, any
// number of processes, and a clock that only the test moves. Steps are called in a fixed order, so
// one seed is one story.

#ifndef WAYBILL_DISPATCH_TESTING_WORLD_H_
#define WAYBILL_DISPATCH_TESTING_WORLD_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/spawner.h"
#include "dispatch/dispatch.h"
#include "store/sqlite/open.h"
#include "transport/memory/memory_broker.h"

namespace waybill::dispatch {

inline constexpr const char* kLane = "export";
inline constexpr const char* kType = "CUSTOMER_LIST";

Outcome outcome_of(core::Event event);

// Starts nothing: it remembers what it was asked to execute, and the test ends it. Thread-safe.
class FakeExecutor final : public Executor {
 public:
  struct Run {
    store::ClaimedTask task;
    std::shared_ptr<const StopFlag> stop;
    std::function<void(Outcome)> done;
    bool ended = false;
    std::vector<store::FinishOutcome> settled;
  };

  bool knows(std::string_view type) const override;
  std::vector<std::string> known_types() const override;
  void start(store::ClaimedTask task, std::shared_ptr<const StopFlag> stop,
             std::function<void(Outcome)> done) override;

  // Ends run `i` (in order of their starts).
  void end(std::size_t i, core::Event event = core::Event::kSucceed);
  void end_lost(std::size_t i);
  // Ends what is running, in order of the starts; the number ended.
  std::size_t end_all(core::Event event = core::Event::kSucceed);
  // What a well-behaved execution does when its flag is up: the outcome that fits the reason.
  std::size_t obey();

  [[nodiscard]] std::size_t started() const;
  [[nodiscard]] std::size_t running() const;
  [[nodiscard]] std::size_t starts_of(core::TaskId id) const;
  [[nodiscard]] Run run(std::size_t i) const;
  [[nodiscard]] std::optional<std::size_t> find(core::TaskId id) const;  // its newest run

  std::set<std::string, std::less<>> types{kType};  // set before anything runs
  std::function<void(const Run&)> on_start;         // the same; called without a lock
  bool end_at_once = false;                         // done(kSucceed) inside start()

 private:
  void end_locked_out(std::size_t i, Outcome outcome);
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Run>> runs_;
};

// Keeps every log line as "event key=value ...".
class LogCatcher final : public base::LogSink {
 public:
  LogCatcher() { base::set_log_sink(this); }
  ~LogCatcher() override { base::set_log_sink(nullptr); }
  void write(base::LogLevel level, std::string_view event,
             std::span<const base::LogField> fields) override;
  [[nodiscard]] std::size_t count(std::string_view part,
                                  std::optional<base::LogLevel> level = std::nullopt) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<base::LogLevel, std::string>> lines_;
};

struct NodeOptions {
  bool broker = false;
  bool consumer = true;
  bool publisher = false;
  bool reconciler = false;
  bool dead_letter = false;
  std::set<std::string, std::less<>> types{kType};
  std::function<void(Settings&)> adjust;
  base::Clock* clock = nullptr;  // the machine's; the world's, which is the database's, if none
};

// An action of kType in kLane.
store::NewTask new_action(std::int32_t max_attempts = 3);

// For stories of many minutes: fewer polls, nothing else changes.
inline void poll_seldom(Settings& settings) { settings.poll_max_ms = 20'000; }

class World;

// One process.
class Node {
 public:
  Node(World& world, std::string name, const NodeOptions& options);

  Dispatch& dispatch() { return *dispatch_; }
  const Metrics& metrics() const { return dispatch_->metrics(); }
  FakeExecutor& executor() { return executor_; }
  const std::string& owner() const { return dispatch_->settings().owner; }

  // One step of one role, whatever its turn. Errors are returned as they come.
  base::Result<Next> step(std::string_view role);
  // The role's steps until it wants to wait.
  void run(std::string_view role);

  // Frozen: none of its steps is called (SIGSTOP). Killed: gone for good, its connections broken.
  bool frozen = false;
  void kill();
  [[nodiscard]] bool killed() const { return dispatch_ == nullptr; }

 private:
  friend class World;
  struct Turn {
    std::size_t role = 0;
    Millis at = 0;
  };
  FakeExecutor executor_;
  std::unique_ptr<transport::Transport> transport_;
  std::unique_ptr<Dispatch> dispatch_;
  std::vector<Turn> turns_;
};

class World {
 public:
  explicit World(std::uint64_t seed = 1);

  Node& add(std::string name, const NodeOptions& options = {});
  // Lets `duration` pass: every role gets its turns when it asked for them or was woken.
  void run_for(Millis duration);
  // No time passes; until nobody has anything to do now.
  void settle() { run_for(0); }

  core::TaskId create(core::Level level = 2, const std::string& tenant = "t1",
                      const std::string& type = kType, std::int32_t max_attempts = 3);
  std::vector<core::TaskId> create_many(std::size_t count, core::Level level = 2,
                                        const std::string& tenant = "t1");
  store::TaskRow row(core::TaskId id);
  core::TaskStatus status(core::TaskId id) { return row(id).status; }
  bool has_command(core::TaskId id);
  core::CommandStatus command_status(core::TaskId id);
  store::CancelOutcome cancel(core::TaskId id);
  store::RetryDone retry(core::TaskId id);

  // The next `times` commits of `operation` answer as told.
  void fail_commit(std::string operation, store::Injected how, int times = 1);
  // Every statement of `operation` ("" = of all) fails until back(). Statement "begin" only, so
  // nothing half happens.
  void away(std::string operation = "");
  void back() { away_.clear(); }

  // Called before every statement, such as to let time pass while the database works.
  std::function<void(const store::StatementPoint&)> during;

  base::ManualClock clock;
  base::SeededRandom random;
  transport::MemoryBroker broker;
  std::unique_ptr<store::Store> store;
  base::ThreadSpawner spawner;
  static inline const store::Scope kScope{
      .tenant_id = "t1", .app_code = "app", .requested_by = std::nullopt};

 private:
  friend class Node;
  store::Injected before(const store::StatementPoint& point);
  bool turn(Node& node);
  std::optional<Millis> next_turn() const;

  std::multiset<std::string> away_;
  std::multimap<std::string, store::Injected> commits_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_TESTING_WORLD_H_
