#include "tests/sim/process.h"

#include <algorithm>
#include <utility>

#include "exporting/object_remover.h"
#include "exporting/progress_writer.h"
#include "exporting/waiter.h"
#include "tests/sim/actors.h"
#include "tests/sim/crew.h"
#include "tests/sim/provider.h"
#include "tests/sim/storage.h"
#include "tests/sim/world.h"

namespace waybill::sim {
namespace {

constexpr Millis kErrorDelayMs = 1'000;  // the loop's delay after a failed step, about
constexpr Millis kRemoverPeriodMs = 30'000;
constexpr Millis kKeeperPeriodMs = 300'000;
constexpr Millis kOrphanAgeMs = 900'000;
constexpr Millis kWaitPieceMs = 500;
constexpr Millis kShortWaitMs = 1'000;
constexpr std::int64_t kMaxStretch = 15;

class RemoverForReconciler final : public dispatch::ObjectRemover {
 public:
  explicit RemoverForReconciler(exporting::ObjectRemover& remover) : remover_(remover) {}
  base::Result<bool> remove(std::string_view storage_id, std::string_view key) override {
    return remover_.remove(storage_id, key);
  }

 private:
  exporting::ObjectRemover& remover_;
};

std::shared_ptr<const registry::Snapshot> snapshot_of(
    const std::set<std::string, std::less<>>& types, Millis retention_ms) {
  auto snapshot = std::make_shared<registry::Snapshot>();
  for (const std::string& key : types) {
    registry::ExportType type;
    type.key = key;
    type.title_en = type.title_zh = key;
    type.provider_service = kService;
    type.provider_path = "/" + key;
    type.lane = kExportLane;
    type.batch_size = static_cast<std::int32_t>(kPageRows);
    type.max_rows = 10'000;
    type.retention_ms = retention_ms;
    snapshot->exports[key] = type;
  }
  return snapshot;
}

}  // namespace

// The wall clock of a machine that an administrator or NTP may move; nothing rests on it.
class Process::View final : public base::Clock {
 public:
  View(const base::Clock& clock, const Millis& offset) : clock_(clock), offset_(offset) {}
  [[nodiscard]] Millis wall_ms() const override { return clock_.wall_ms() + offset_; }
  [[nodiscard]] Millis boot_ms() const override { return clock_.boot_ms(); }

 private:
  const base::Clock& clock_;
  const Millis& offset_;
};

class Process::FiberWaiter final : public exporting::Waiter {
 public:
  FiberWaiter(Scheduler& scheduler, const Group& group) : scheduler_(scheduler), group_(group) {}
  bool wait(Millis delay_ms, const std::function<bool()>& stop) override {
    const Millis ends = scheduler_.now() + delay_ms;
    while (scheduler_.now() < ends) {
      if (group_.dead || stop()) return false;
      scheduler_.sleep(std::min(kWaitPieceMs, ends - scheduler_.now()));
    }
    return !group_.dead;
  }

 private:
  Scheduler& scheduler_;
  const Group& group_;
};

std::set<std::string, std::less<>> all_export_types() { return {"LIST_A", "LIST_B", "LIST_NEW"}; }
std::set<std::string, std::less<>> all_action_types() { return {"ACT_A", "ACT_NEW"}; }

Process::Process(World& world, int number, Wish wish)
    : world_(world),
      wish_(std::move(wish)),
      group_{.name = "p" + std::to_string(number)},
      spawner_(world.scheduler, group_),
      store_(world, *this) {
  clock_ = std::make_unique<View>(world.scheduler.clock, clock_offset_);
  disturb();
  make_settings();
  ever_known_ = wish_.export_types;
  ever_known_.insert(wish_.action_types.begin(), wish_.action_types.end());
  files_ = world.storage->connect(group_);
  make_exports();
  if (wish_.broker)
    transport_ = std::make_unique<WatchedTransport>(world, *this, world.broker.connect());
  dispatch_ = std::make_unique<dispatch::Dispatch>(
      settings_,
      dispatch::RoleSwitches{.consumer = wish_.consumer,
                             .publisher = wish_.broker && wish_.publisher,
                             .reconciler = wish_.reconciler,
                             .dead_letter = wish_.broker && wish_.dead_letter},
      dispatch::Parts{.store = store_,
                      .executors = {watched_exports_.get(), watched_actions_.get()},
                      .clock = *clock_,
                      .spawner = spawner_,
                      .instance = {},
                      .transport = transport_.get(),
                      .remover = reconciler_remover_.get(),
                      .extra_roles = {files_role()}});
}

// Its fibers end first: they use everything below.
Process::~Process() {
  group_.dead = true;
  world_.scheduler.bury(group_);
}

void Process::make_settings() {
  settings_.owner = dispatch::make_owner(group_.name, world_.scheduler.random);
  settings_.lanes = {{.name = kExportLane, .workers = wish_.workers},
                     {.name = kActionLane, .workers = wish_.workers * 2}};
  settings_.lease_ms = wish_.lease_ms;
  settings_.heartbeat_ms = wish_.lease_ms / 5;
  settings_.poll_max_ms = wish_.poll_max_ms;
  settings_.sweep_after_ms = wish_.sweep_after_ms;
  settings_.history_keep_ms = wish_.history_ms;
  settings_.sent_keep_ms = wish_.sent_keep_ms;
  export_settings_.owner = settings_.owner;
  export_settings_.prefetched_pages = 0;  // one thread: pages are fetched when they are needed
  export_settings_.min_free_bytes = 0;
  export_settings_.services[kService] = {
      "http://service", [] { return base::Result<std::string>(std::string("token")); }};
}

void Process::make_exports() {
  snapshot_ = snapshot_of(wish_.export_types, wish_.retention_ms);
  http_ = connect_provider(world_, *this);
  remover_ = std::make_unique<exporting::ObjectRemover>(*files_, observer_);
  reconciler_remover_ = std::make_unique<RemoverForReconciler>(*remover_);
  progress_ = std::make_unique<exporting::ProgressWriter>(store_, *clock_, settings_.owner);
  waiter_ = std::make_unique<FiberWaiter>(world_.scheduler, group_);
  exporting::FileKeeperSettings keeping;
  keeping.scan_period_ms = kKeeperPeriodMs;
  keeping.orphan_age_ms = kOrphanAgeMs;
  keeping.refuse_share = 1.0;
  keeper_ = std::make_unique<exporting::FileKeeper>(store_, store_, *files_, *clock_, *remover_,
                                                    observer_, keeping);
  exports_ = std::make_unique<exporting::ExportExecutor>(
      exporting::ExportServices{.store = store_,
                                .registry = [this] { return snapshot_; },
                                .http = *http_,
                                .files = *files_,
                                .spawner = spawner_,
                                .clock = *clock_,
                                .random = world_.scheduler.random,
                                .waiter = *waiter_,
                                .progress = *progress_,
                                .remover = *remover_,
                                .observer = observer_},
      export_settings_);
  actions_ = std::make_unique<ActionExecutor>(world_, *this);
  watched_exports_ = std::make_unique<WatchedExecutor>(world_, *this, *exports_);
  watched_actions_ = std::make_unique<WatchedExecutor>(world_, *this, *actions_);
}

dispatch::Role Process::files_role() {
  return {.name = "files",
          .step = [this]() -> base::Result<dispatch::Next> {
            WAYBILL_TRY(keeper_->step());
            return dispatch::Next::after(kKeeperPeriodMs);
          },
          .wake = &keeper_wake_,
          .begun = nullptr,
          .ended = nullptr};
}

void Process::start() {
  if (transport_ != nullptr) {
    std::vector<transport::Stream> streams;
    for (const auto& lane : settings_.lanes) {
      for (core::Level level = 0; level < core::kLevels; ++level)
        streams.push_back({.lane = lane.name, .level = level});
    }
    static_cast<void>(transport_->declare(streams));
  }
  for (const dispatch::Role& role : dispatch_->roles())
    world_.scheduler.spawn(group_, [this, &role] { run_role(role); });
  const auto beside = [this](base::Wake& wake, dispatch::Step step) {
    const dispatch::Role role{.name = "beside",
                              .step = std::move(step),
                              .wake = &wake,
                              .begun = nullptr,
                              .ended = nullptr};
    world_.scheduler.spawn(group_, [this, role] { run_role(role); });
  };
  beside(progress_wake_, [this]() -> base::Result<dispatch::Next> {
    WAYBILL_TRY(progress_->step());
    return dispatch::Next::after(exporting::kProgressIntervalMs);
  });
  beside(remover_wake_, [this]() -> base::Result<dispatch::Next> {
    remover_->step();
    return dispatch::Next::after(kRemoverPeriodMs);
  });
  world_.note(group_.name + " starts as " + owner() + (wish_.broker ? " with the broker" : ""));
}

// What dispatch::Loop does on a thread.
void Process::run_role(const dispatch::Role& role) {
  if (role.begun) role.begun();
  while (!group_.dead) {
    const auto next = role.step();
    if (group_.dead) break;
    const Millis wait = !next.ok()    ? kErrorDelayMs
                        : next->again ? 0
                                      : std::max<Millis>(next->wait_ms, 1);
    world_.scheduler.sleep(stretched(wait), next.ok() ? role.wake : nullptr);
  }
}

// Short idle waits take most of a run's turns and bring nothing; a busy machine is late, too.
Millis Process::stretched(Millis wait) {
  if (wait == 0 || wait > kShortWaitMs) return wait;
  return wait * world_.scheduler.between(1, kMaxStretch);
}

void Process::crash(const std::string& when) {
  if (std::exchange(group_.dead, true)) return;
  world_.note(group_.name + " dies " + when);
}

void Process::freeze(Millis ms) {
  group_.frozen_until = world_.scheduler.now() + ms;
  disturbed_at_ = world_.scheduler.clock.wall_ms() + ms;
  world_.note(group_.name + " stands still for " + std::to_string(ms) + " ms");
  world_.scheduler.sleep(0);
}

void Process::terminate() {
  world_.note(group_.name + " is asked to end");
  world_.scheduler.spawn(group_, [this] { shut_down(); });
}

void Process::shut_down() {
  dispatch::Shutdown shutdown(settings_, *dispatch_->workbench(), *clock_);
  for (dispatch::Next next = shutdown.step(); !shutdown.done() && !group_.dead;
       next = shutdown.step())
    world_.scheduler.sleep(std::clamp<Millis>(next.wait_ms, 1, 1'000));
  crash("by itself");
}

void Process::reload(std::set<std::string, std::less<>> export_types) {
  snapshot_ = snapshot_of(export_types, wish_.retention_ms);
  ever_known_.insert(export_types.begin(), export_types.end());
  world_.note(group_.name + " reloads its registry: " + std::to_string(export_types.size()) +
              " export types");
}

bool Process::frozen() const { return group_.frozen_until > world_.scheduler.now(); }

bool Process::knows(std::string_view type) const {
  return snapshot_->exports.contains(type) || wish_.action_types.contains(type);
}

void Process::disturb() {
  disturbed_at_ = std::max(disturbed_at_, world_.scheduler.clock.wall_ms());
}

int Process::unanswered(const core::Execution& execution) const {
  return transport_ == nullptr ? 0 : transport_->unanswered(execution);
}

std::vector<Process*> Process::alive(World& world) { return world.crew->alive(); }

}  // namespace waybill::sim
