#include "dispatch/testing/world.h"

#include <algorithm>
#include <utility>

namespace waybill::dispatch {
namespace {

constexpr int kMaxTurnsPerInstant =
    100'000;  // more means that a role asks to be called again for ever

constexpr Millis kErrorDelayMs = 1'000;  // the loop's delay after a failed step, about

core::Event event_for(StopReason reason) {
  switch (reason) {
    case StopReason::kOverdue:
      return core::Event::kOverdue;
    case StopReason::kCancelled:
      return core::Event::kStopObserved;
    default:
      return core::Event::kRelease;
  }
}

}  // namespace

// ---- executor ----

Outcome outcome_of(core::Event event) {
  Outcome outcome;
  outcome.finish.event = event;
  if (event == core::Event::kFail || event == core::Event::kRetryLater) {
    outcome.finish.failure_class = core::FailureClass::kSystem;
    outcome.finish.failure_message = "as the test wishes";
  }
  return outcome;
}

bool FakeExecutor::knows(std::string_view type) const { return types.contains(type); }

std::vector<std::string> FakeExecutor::known_types() const { return {types.begin(), types.end()}; }

void FakeExecutor::start(store::ClaimedTask task, std::shared_ptr<const StopFlag> stop,
                         std::function<void(Outcome)> done) {
  auto run = std::make_shared<Run>();
  run->task = std::move(task);
  run->stop = std::move(stop);
  run->done = std::move(done);
  std::size_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    index = runs_.size();
    runs_.push_back(run);
  }
  if (on_start) on_start(*run);
  if (end_at_once) end(index);
}

void FakeExecutor::end_locked_out(std::size_t i, Outcome outcome) {
  std::function<void(Outcome)> done;
  {
    const std::lock_guard lock(mutex_);
    const auto run = runs_.at(i);
    run->ended = true;
    done = run->done;
    outcome.settled = [this, run](store::FinishOutcome how) {
      const std::lock_guard settled_lock(mutex_);
      run->settled.push_back(how);
    };
  }
  done(std::move(outcome));
}

void FakeExecutor::end(std::size_t i, core::Event event) { end_locked_out(i, outcome_of(event)); }

void FakeExecutor::end_lost(std::size_t i) {
  Outcome outcome;
  outcome.lost = true;
  end_locked_out(i, std::move(outcome));
}

std::size_t FakeExecutor::end_all(core::Event event) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < started(); ++i) {
    if (run(i).ended) continue;
    end(i, event);
    ++n;
  }
  return n;
}

std::size_t FakeExecutor::obey() {
  std::size_t n = 0;
  for (std::size_t i = 0; i < started(); ++i) {
    const Run r = run(i);
    if (r.ended || !r.stop->requested()) continue;
    ++n;
    if (r.stop->reason() == StopReason::kLostLease) {
      end_lost(i);
    } else {
      end(i, event_for(r.stop->reason()));
    }
  }
  return n;
}

std::size_t FakeExecutor::started() const {
  const std::lock_guard lock(mutex_);
  return runs_.size();
}

std::size_t FakeExecutor::running() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(runs_.begin(), runs_.end(), [](const auto& r) { return !r->ended; }));
}

std::size_t FakeExecutor::starts_of(core::TaskId id) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      runs_.begin(), runs_.end(), [id](const auto& r) { return r->task.execution.id == id; }));
}

FakeExecutor::Run FakeExecutor::run(std::size_t i) const {
  const std::lock_guard lock(mutex_);
  return *runs_.at(i);
}

std::optional<std::size_t> FakeExecutor::find(core::TaskId id) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = runs_.size(); i-- > 0;) {
    if (runs_[i]->task.execution.id == id) return i;
  }
  return std::nullopt;
}

// ---- log ----

void LogCatcher::write(base::LogLevel level, std::string_view event,
                       std::span<const base::LogField> fields) {
  std::string line(event);
  for (const auto& field : fields) {
    line += " " + std::string(field.key) + "=";
    std::visit(
        [&line](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
            line += value;
          } else {
            line += std::to_string(value);
          }
        },
        field.value);
  }
  const std::lock_guard lock(mutex_);
  lines_.emplace_back(level, std::move(line));
}

std::size_t LogCatcher::count(std::string_view part, std::optional<base::LogLevel> level) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(lines_.begin(), lines_.end(), [&](const auto& line) {
        return (!level || line.first == *level) && line.second.find(part) != std::string::npos;
      }));
}

// ---- node ----

Node::Node(World& world, std::string name, const NodeOptions& options) {
  executor_.types = options.types;
  Settings settings;
  settings.owner = make_owner(name, world.random);
  settings.lanes = {{.name = kLane, .workers = 4}};
  if (options.adjust) options.adjust(settings);
  EXPECT_TRUE(check_settings(settings).ok());
  if (options.broker) {
    transport_ = world.broker.connect();
    std::vector<transport::Stream> streams;
    for (const auto& lane : settings.lanes) {
      for (int level = 0; level < core::kLevels; ++level)
        streams.push_back({.lane = lane.name, .level = level});
    }
    EXPECT_TRUE(transport_->declare(streams).ok());
  }
  const RoleSwitches switches{.consumer = options.consumer,
                              .publisher = options.publisher,
                              .reconciler = options.reconciler,
                              .dead_letter = options.dead_letter};
  dispatch_ = std::make_unique<Dispatch>(
      settings, switches,
      Parts{.store = *world.store,
            .executors = {&executor_},
            .clock = options.clock != nullptr ? *options.clock : world.clock,
            .spawner = world.spawner,
            .instance = {},
            .transport = transport_.get(),
            .remover = nullptr,
            .extra_roles = {}});
  for (std::size_t i = 0; i < dispatch_->roles().size(); ++i)
    turns_.push_back({.role = i, .at = 0});
}

base::Result<Next> Node::step(std::string_view role) {
  for (const Role& r : dispatch_->roles()) {
    if (r.name == role) return r.step();
  }
  ADD_FAILURE() << "no role " << role;
  return Next::after(0);
}

void Node::run(std::string_view role) {
  for (int i = 0; i < kMaxTurnsPerInstant; ++i) {
    const auto next = step(role);
    if (!next.ok() || !next->again) return;
  }
  ADD_FAILURE() << role << " never waits";
}

void Node::kill() {
  turns_.clear();
  dispatch_.reset();
  transport_.reset();
}

// ---- world ----

World::World(std::uint64_t seed) : random(seed), broker(clock, random) {
  auto opened = store::open_sqlite(
      {.path = ":memory:"},
      store::Seams{.database_clock = clock,
                   .random = random,
                   .before_statement = [this](const auto& point) { return before(point); }});
  EXPECT_TRUE(opened.ok());
  store = std::move(opened).value();
  EXPECT_TRUE(store->migrate().ok());
}

store::Injected World::before(const store::StatementPoint& point) {
  if (during) during(point);
  const std::string operation(point.operation);
  if (away_.contains("") || away_.contains(operation)) return store::Injected::kAway;
  if (point.statement != "commit") return store::Injected::kNone;
  const auto it = commits_.find(operation);
  if (it == commits_.end()) return store::Injected::kNone;
  const store::Injected how = it->second;
  commits_.erase(it);
  return how;
}

void World::fail_commit(std::string operation, store::Injected how, int times) {
  for (int i = 0; i < times; ++i) commits_.emplace(operation, how);
}

void World::away(std::string operation) { away_.insert(std::move(operation)); }

Node& World::add(std::string name, const NodeOptions& options) {
  nodes_.push_back(std::make_unique<Node>(*this, std::move(name), options));
  // Every process here has an API of its own: whoever commits wakes all.
  store->on_commit([this](std::span<const store::CommandHint> hints) {
    for (const auto& node : nodes_) {
      if (!node->killed()) node->dispatch().hint(hints);
    }
  });
  return *nodes_.back();
}

bool World::turn(Node& node) {
  bool any = false;
  for (Node::Turn& t : node.turns_) {
    const Role& role = node.dispatch_->roles()[t.role];
    const bool woken = role.wake->wait_for(0);
    if (!woken && t.at > clock.boot_ms()) continue;
    any = true;
    const auto next = role.step();
    if (!next.ok()) {
      t.at = clock.boot_ms() + kErrorDelayMs;
    } else {
      t.at = next->again ? clock.boot_ms() : clock.boot_ms() + std::max<Millis>(next->wait_ms, 1);
    }
  }
  return any;
}

std::optional<Millis> World::next_turn() const {
  std::optional<Millis> next;
  for (const auto& node : nodes_) {
    if (node->frozen) continue;
    for (const Node::Turn& t : node->turns_) {
      if (!next || t.at < *next) next = t.at;
    }
  }
  return next;
}

void World::run_for(Millis duration) {
  const Millis end = clock.boot_ms() + duration;
  for (;;) {
    bool any = true;
    for (int i = 0; any; ++i) {
      ASSERT_LT(i, kMaxTurnsPerInstant) << "a role never waits";
      any = false;
      for (const auto& node : nodes_) {
        if (!node->frozen && !node->killed()) any = turn(*node) || any;
      }
    }
    const Millis now = clock.boot_ms();
    if (now >= end) return;
    const Millis next = std::clamp(next_turn().value_or(end), now + 1, end);
    clock.advance(next - now);
  }
}

store::NewTask new_action(std::int32_t max_attempts) {
  store::NewTask task;
  task.kind = core::TaskKind::kAction;
  task.type = kType;
  task.lane = kLane;
  task.tenant_id = "t1";
  task.app_code = "app";
  task.requested_by = "u1";
  task.max_attempts = max_attempts;
  return task;
}

core::TaskId World::create(core::Level level, const std::string& tenant, const std::string& type,
                           std::int32_t max_attempts) {
  store::NewTask task = new_action(max_attempts);
  task.type = type;
  task.priority = level;
  task.tenant_id = tenant;
  const auto id = store->create_task(task);
  EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().message);
  return id.ok() ? *id : 0;
}

std::vector<core::TaskId> World::create_many(std::size_t count, core::Level level,
                                             const std::string& tenant) {
  std::vector<core::TaskId> ids;
  ids.reserve(count);
  for (std::size_t i = 0; i < count; ++i) ids.push_back(create(level, tenant));
  return ids;
}

store::TaskRow World::row(core::TaskId id) {
  const auto row = store->lock_and_read(id);
  EXPECT_TRUE(row.ok());
  return row.ok() ? *row : store::TaskRow{};
}

bool World::has_command(core::TaskId id) {
  const auto facts = store->waiting_facts(id);
  return facts.ok() && facts->has_command;
}

core::CommandStatus World::command_status(core::TaskId id) {
  const auto facts = store->waiting_facts(id);
  EXPECT_TRUE(facts.ok() && facts->has_command);
  return facts.ok() ? facts->command_status : core::CommandStatus::kPending;
}

store::CancelOutcome World::cancel(core::TaskId id) {
  const auto outcome = store->cancel(id, kScope);
  EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message);
  return outcome.ok() ? *outcome : store::CancelOutcome::kAlreadyFinished;
}

store::RetryDone World::retry(core::TaskId id) {
  const auto done = store->retry(id, kScope);
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
  return done.ok() ? *done : store::RetryDone{};
}

}  // namespace waybill::dispatch
