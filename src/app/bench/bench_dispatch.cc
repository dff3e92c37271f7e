#include "app/bench/bench_dispatch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "app/cli/exit_code.h"
#include "app/serve.h"
#include "app/signals.h"
#include "base/json_writer.h"
#include "base/spawner.h"
#include "base/text.h"
#include "base/wake.h"
#include "dispatch/dispatch.h"
#include "store/sqlite/open.h"

namespace waybill::app::bench {
namespace {

using Time = std::chrono::steady_clock::time_point;

constexpr const char* kBenchType = "BENCH";
constexpr base::Millis kQuietMs = 15;       // between two latency samples: the server is idle again
constexpr base::Millis kStuckMs = 120'000;  // no task ended for this long: something is wrong
constexpr base::Millis kShutdownGraceMs = 5'000;

double seconds_since(Time start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

store::NewTask new_task() {
  store::NewTask task;
  task.kind = core::TaskKind::kAction;
  task.type = kBenchType;
  task.lane = kBenchLane;
  task.tenant_id = "bench";
  task.app_code = "bench";
  task.requested_by = "bench";
  return task;
}

// Succeeds at once. Notes when each task started, if asked to.
class NoopExecutor final : public dispatch::Executor {
 public:
  [[nodiscard]] bool knows(std::string_view type) const override { return type == kBenchType; }
  [[nodiscard]] std::vector<std::string> known_types() const override { return {kBenchType}; }

  void start(store::ClaimedTask task, std::shared_ptr<const dispatch::StopFlag> /*stop*/,
             std::function<void(dispatch::Outcome)> done) override {
    if (note_starts_.load()) note_start(task.execution.id);
    dispatch::Outcome outcome;
    outcome.finish.event = core::Event::kSucceed;
    outcome.settled = [this](store::FinishOutcome how) {
      if (how == store::FinishOutcome::kCommitted) settled();
    };
    done(std::move(outcome));
  }

  void note_starts() { note_starts_ = true; }
  // Empty when `id` has not started within kStuckMs.
  std::optional<Time> wait_for_start(core::TaskId id) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(kStuckMs),
                      [&] { return starts_.contains(id); });
    const auto found = starts_.find(id);
    return found == starts_.end() ? std::nullopt : std::optional(found->second);
  }

  base::Status wait_for_settled(std::int64_t count) {
    std::unique_lock lock(mutex_);
    for (std::int64_t before = -1; settled_ < count;) {
      if (settled_ == before)
        return base::internal(fmt::format("only {} of {} tasks ended", settled_, count));
      before = settled_;
      changed_.wait_for(lock, std::chrono::milliseconds(kStuckMs),
                        [&] { return settled_ >= count; });
    }
    return {};
  }

 private:
  void note_start(core::TaskId id) {
    const Time now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    starts_.emplace(id, now);
    changed_.notify_all();
  }
  void settled() {
    const std::lock_guard lock(mutex_);
    ++settled_;
    changed_.notify_all();
  }

  std::atomic<bool> note_starts_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t settled_ = 0;             // guarded by mutex_
  std::map<core::TaskId, Time> starts_;  // guarded by mutex_
};

// One opened database with everything that executes its bench lane.
class Run {
 public:
  static base::Result<std::unique_ptr<Run>> open(const BenchOptions& options) {
    std::unique_ptr<Run> run(new Run(options));
    const store::Seams seams{.database_clock = run->clock_, .random = run->random_};
    WAYBILL_ASSIGN(run->store_,
                   store::open_sqlite({.path = options.database_path, .serving = true}, seams));
    WAYBILL_TRY(run->store_->migrate());
    dispatch::Settings settings;
    settings.owner = dispatch::make_owner("bench", run->random_);
    settings.lanes = {{kBenchLane, static_cast<int>(options.slots)}};
    settings.shutdown_grace_ms = kShutdownGraceMs;
    // Nothing here is ever lost, and old rows of others are not ours to delete.
    const dispatch::RoleSwitches roles{
        .consumer = true, .publisher = false, .reconciler = false, .dead_letter = false};
    run->dispatch_ =
        std::make_unique<dispatch::Dispatch>(settings, roles,
                                             dispatch::Parts{.store = *run->store_,
                                                             .executors = {&run->executor_},
                                                             .clock = run->clock_,
                                                             .spawner = run->spawner_,
                                                             .instance = {},
                                                             .transport = nullptr,
                                                             .remover = nullptr,
                                                             .extra_roles = {}});
    return run;
  }
  ~Run() { dispatch_->shutdown(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  base::Status refuse_used() {
    WAYBILL_ASSIGN(const bool used, store_->has_tasks());
    if (used)
      return base::conflict("DATABASE_IN_USE",
                            "the database holds tasks; use another one, or --force");
    WAYBILL_ASSIGN(const auto instances, store_->instances());
    if (std::any_of(instances.begin(), instances.end(),
                    [](const auto& row) { return row.alive; })) {
      return base::conflict("DATABASE_IN_USE",
                            "the database has live instances; use another one, or --force");
    }
    return {};
  }

  base::Result<double> lives_one_by_one() {
    std::atomic<std::int64_t> left{options_.tasks};
    std::mutex mutex;
    base::Status failed;
    WAYBILL_TRY(dispatch_->start());
    const Time start = std::chrono::steady_clock::now();
    {
      std::vector<std::unique_ptr<base::Spawned>> threads;
      for (std::int64_t i = 0; i < options_.producers; ++i) {
        threads.push_back(spawner_.spawn("producer", [&] {
          while (left.fetch_sub(1) > 0) {
            const auto created = store_->create_task(new_task());
            if (created.ok()) continue;
            const std::lock_guard lock(mutex);
            failed = created.error();
            return;
          }
        }));
        if (threads.back() == nullptr) return base::unavailable("no thread for a producer");
      }
    }
    WAYBILL_TRY(failed);
    WAYBILL_TRY(executor_.wait_for_settled(options_.tasks));
    return static_cast<double>(options_.tasks) / seconds_since(start);
  }

  base::Result<double> lives_in_batches() {
    WAYBILL_TRY(dispatch_->start());
    const Time start = std::chrono::steady_clock::now();
    WAYBILL_TRY(create_batches());
    WAYBILL_TRY(executor_.wait_for_settled(options_.tasks));
    return static_cast<double>(options_.tasks) / seconds_since(start);
  }

  base::Result<double> claim_and_complete() {
    WAYBILL_TRY(create_batches());
    const Time start = std::chrono::steady_clock::now();
    WAYBILL_TRY(dispatch_->start());
    WAYBILL_TRY(executor_.wait_for_settled(options_.tasks));
    return static_cast<double>(options_.tasks) / seconds_since(start);
  }

  // Milliseconds, sorted.
  base::Result<std::vector<double>> start_latencies() {
    executor_.note_starts();
    WAYBILL_TRY(dispatch_->start());
    std::vector<double> samples;
    base::Wake never;
    for (int i = 0; i < kLatencySamples; ++i) {
      never.wait_for(kQuietMs);
      WAYBILL_ASSIGN(const core::TaskId id, store_->create_task(new_task()));
      const Time committed = std::chrono::steady_clock::now();
      const auto started = executor_.wait_for_start(id);
      if (!started) return base::internal("a task of the idle server did not start");
      // The worker is woken inside the create call and may win the race against its return.
      const double ms = std::chrono::duration<double, std::milli>(*started - committed).count();
      samples.push_back(std::max(0.0, ms));
      WAYBILL_TRY(executor_.wait_for_settled(i + 1));
    }
    std::sort(samples.begin(), samples.end());
    return samples;
  }

  store::Store& store() { return *store_; }

 private:
  explicit Run(const BenchOptions& options) : options_(options) {}

  base::Status create_batches() {
    const std::vector<store::NewTask> batch(store::kMaxBatch, new_task());
    for (std::int64_t left = options_.tasks; left > 0;
         left -= static_cast<std::int64_t>(batch.size())) {
      const auto size = std::min<std::size_t>(batch.size(), static_cast<std::size_t>(left));
      WAYBILL_TRY(store_->create_tasks(std::span(batch).first(size)));
    }
    return {};
  }

  const BenchOptions& options_;
  base::SystemClock clock_;
  base::SystemRandom random_;
  base::ThreadSpawner spawner_;
  std::unique_ptr<store::Store> store_;
  NoopExecutor executor_;
  std::unique_ptr<dispatch::Dispatch> dispatch_;
};

double quantile(const std::vector<double>& sorted, double share) {
  const auto at =
      static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)));
  return sorted[at];
}

base::Result<BenchReport> measure(const BenchOptions& options) {
  BenchReport report;
  {
    WAYBILL_ASSIGN(const auto run, Run::open(options));
    WAYBILL_ASSIGN(report.claims_per_second, run->claim_and_complete());
  }
  {
    WAYBILL_ASSIGN(const auto run, Run::open(options));
    WAYBILL_ASSIGN(report.lives_per_second_one_by_one, run->lives_one_by_one());
  }
  {
    WAYBILL_ASSIGN(const auto run, Run::open(options));
    WAYBILL_ASSIGN(report.lives_per_second_batches, run->lives_in_batches());
  }
  WAYBILL_ASSIGN(const auto run, Run::open(options));
  WAYBILL_ASSIGN(const auto latencies, run->start_latencies());
  report.start_p50_ms = quantile(latencies, 0.50);
  report.start_p99_ms = quantile(latencies, 0.99);
  return report;
}

base::Status prepare(const BenchOptions& options) {
  WAYBILL_ASSIGN(const auto run, Run::open(options));
  if (!options.force) WAYBILL_TRY(run->refuse_used());
  return options.finished > 0 ? run->store().insert_finished(kBenchLane, options.finished)
                              : base::Status();
}

base::Status clean_up(const BenchOptions& options) {
  WAYBILL_ASSIGN(const auto run, Run::open(options));
  return run->store().remove_lane_rows(kBenchLane);
}

// A folder that goes with everything in it.
class TemporaryFolder {
 public:
  base::Status make() {
    std::error_code error;
    std::string name =
        (std::filesystem::temp_directory_path(error) / "waybill-bench-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr)
      return base::invalid("files.directory", "cannot make a temporary folder");
    path_ = name;
    return {};
  }
  TemporaryFolder() = default;
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string report_json(const BenchOptions& options, const BenchReport& report) {
  base::JsonWriter json;
  json.begin_object().field("database", options.database_path);
  json.field("tasks", options.tasks)
      .field("slots", options.slots)
      .field("producers", options.producers);
  json.field("finished", options.finished);
  json.field("livesPerSecondOneByOne", report.lives_per_second_one_by_one);
  json.field("livesPerSecondBatches", report.lives_per_second_batches);
  json.field("claimCompletePerSecond", report.claims_per_second);
  json.field("startLatencyP50Ms", report.start_p50_ms)
      .field("startLatencyP99Ms", report.start_p99_ms)
      .end_object();
  return json.take();
}

std::string report_text(const BenchOptions& options, const BenchReport& report) {
  return fmt::format(
      "database {}, {} tasks, {} slots, beside {} finished tasks\n"
      "  whole lives, created one by one by {} threads  {:>10.0f} /s\n"
      "  whole lives, created in batches of {}          {:>10.0f} /s\n"
      "  claim + complete of a standing backlog          {:>10.0f} /s\n"
      "  create committed -> execution starts, idle      {:>10.2f} ms p50, {:.2f} ms p99\n",
      options.database_path, options.tasks, options.slots, options.finished, options.producers,
      report.lives_per_second_one_by_one, store::kMaxBatch, report.lives_per_second_batches,
      report.claims_per_second, report.start_p50_ms, report.start_p99_ms);
}

}  // namespace

base::Result<BenchReport> bench_dispatch(const BenchOptions& options) {
  WAYBILL_TRY(prepare(options));
  auto report = measure(options);
  WAYBILL_TRY(clean_up(options));
  return report;
}

int run_bench_dispatch(const cli::Arguments& arguments, cli::Console& console) {
  const auto fail = [&console](const base::Error& error) {
    console.error(base::printable(error.message, 1'000));
    return static_cast<int>(start_exit_code(error));
  };
  BenchOptions options{.database_path = {},
                       .tasks = arguments.tasks,
                       .slots = arguments.slots,
                       .producers = arguments.producers,
                       .finished = arguments.finished,
                       .force = arguments.force};
  TemporaryFolder folder;
  if (arguments.database.empty()) {
    if (const auto made = folder.make(); !made.ok()) return fail(made.error());
    options.database_path = folder.path() + "/waybill.db";
  } else if (arguments.database.starts_with("sqlite:") && arguments.database.size() > 7) {
    options.database_path = arguments.database.substr(7);
  } else {
    console.error("--database must be sqlite:/path/to/waybill.db");
    return cli::kUsage;
  }
  tune_memory();
  const auto report = bench_dispatch(options);
  if (!report.ok()) return fail(report.error());
  console.result(arguments.json ? report_json(options, *report) + "\n"
                                : report_text(options, *report));
  return cli::kDone;
}

}  // namespace waybill::app::bench
