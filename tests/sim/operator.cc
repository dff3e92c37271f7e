#include "tests/sim/operator.h"

#include <iterator>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "core/message.h"
#include "tests/sim/provider.h"
#include "tests/sim/rules.h"
#include "tests/sim/world.h"

namespace waybill::sim {
namespace {

constexpr const char* kApp = "app";
constexpr const char* kUser = "u1";
constexpr Millis kMaxStepMs = 300'000;  // of a clock
constexpr Millis kMaxOutageMs = 1'200'000;

const char* pick(Scheduler& dice, std::initializer_list<const char*> words) {
  return *std::next(words.begin(), dice.between(0, static_cast<std::int64_t>(words.size()) - 1));
}

}  // namespace

void Operator::start() {
  world_.scheduler.spawn(group_, [this] { act(); });
}

void Operator::act() {
  Scheduler& dice = world_.scheduler;
  while (!stopped_) {
    deed();
    const double pace = dice.random.unit();
    if (pace < 0.7) {
      dice.sleep(dice.between(1, 2'000));
    } else if (pace < 0.97) {
      dice.sleep(dice.between(1'000, 120'000));
    } else {
      dice.sleep(dice.between(60'000, 3 * 3'600'000));
    }
  }
}

void Operator::deed() {
  trouble();
  processes();
  Process* const by = world_.crew->anybody();
  if (by == nullptr) return;
  const Process::Visit visit(*by);
  const double kind = world_.scheduler.random.unit();
  const bool room = world_.rules->tasks().size() < kMaxTasks;
  if (kind < 0.3) {
    if (room) create_export(*by);
  } else if (kind < 0.55) {
    if (room) create_actions(*by);
  } else if (kind < 0.7) {
    cancel(*by);
  } else if (kind < 0.85) {
    retry(*by);
  } else if (kind < 0.9) {
    pause(*by);
  }
}

void Operator::create_export(Process& by) {
  Scheduler& dice = world_.scheduler;
  store::CreateExport request;
  request.task.type = pick(dice, {"LIST_A", "LIST_A", "LIST_B", "LIST_NEW"});
  request.task.lane = kExportLane;
  request.task.priority = static_cast<core::Level>(dice.between(0, 3));
  request.task.tenant_id = pick(dice, {"t1", "t2"});
  request.task.app_code = kApp;
  request.task.requested_by = kUser;
  request.task.max_attempts = static_cast<std::int32_t>(dice.between(1, 3));
  request.task.max_duration_ms = dice.chance(0.2) ? 60'000 : 1'800'000;
  request.parameters_json = parameters_of(dice.between(0, 160), dice.between(1, 1'000));
  request.parameters_hash = base::sha256_hex(request.parameters_json);
  request.limits.active_per_user = 20;
  request.limits.active_per_type = 20;
  if (dice.chance(0.3)) {
    request.idempotency_key = "k" + std::to_string(dice.between(1, 20));
    request.request_hash = request.parameters_hash;
  }
  const std::string types[] = {request.task.type};
  if (!by.store().ensure_type_guards(types).ok()) return;
  static_cast<void>(by.store().create_export(request));
}

void Operator::create_actions(Process& by) {
  Scheduler& dice = world_.scheduler;
  store::NewTask task;
  task.kind = core::TaskKind::kAction;
  task.type = pick(dice, {"ACT_A", "ACT_A", "ACT_NEW"});
  task.lane = kActionLane;
  task.priority = static_cast<core::Level>(dice.between(0, 3));
  task.tenant_id = pick(dice, {"t1", "t2"});
  task.app_code = kApp;
  task.requested_by = kUser;
  task.max_attempts = static_cast<std::int32_t>(dice.between(1, 3));
  task.max_duration_ms = dice.chance(0.2) ? 30'000 : 600'000;
  if (dice.chance(0.3)) {
    static_cast<void>(by.store().create_task(task));
    return;
  }
  const auto n = static_cast<std::size_t>(dice.between(1, 8));
  if (dice.chance(0.7)) {
    const std::int64_t job = next_job_++;
    world_.sql(
        "INSERT INTO batch_job(id, action, total, tenant_id, app_code, requested_by, created_at)"
        " VALUES(" +
        std::to_string(job) + ",'" + task.type + "'," + std::to_string(n) + ",'" + task.tenant_id +
        "','app','u1',1)");
    task.job_id = job;
  }
  std::vector<store::NewTask> items(n, task);
  for (store::NewTask& item : items) {
    if (dice.chance(0.7)) item.serial_key = "key" + std::to_string(dice.between(1, 3));
  }
  const auto made = by.store().create_tasks(items);
  // Its items are known only when the creation was not lost; a job without items has none to wait
  // for.
  if (!made.ok() && task.job_id) {
    world_.sql(
        "UPDATE batch_job SET total = (SELECT COUNT(*) FROM task WHERE job_id = batch_job.id)"
        " WHERE id = " +
        std::to_string(*task.job_id));
    world_.sql("DELETE FROM batch_job WHERE total = 0");
  }
}

core::TaskId Operator::any_task() {
  const auto& tasks = world_.rules->tasks();
  if (tasks.empty()) return 0;
  // What has not ended is where it matters.
  std::vector<core::TaskId> open;
  for (const auto& [id, task] : tasks) {
    if (!core::is_ended(task.status)) open.push_back(id);
  }
  if (!open.empty() && world_.scheduler.chance(0.7)) {
    return open[static_cast<std::size_t>(
        world_.scheduler.between(0, static_cast<std::int64_t>(open.size()) - 1))];
  }
  return std::next(tasks.begin(),
                   world_.scheduler.between(0, static_cast<std::int64_t>(tasks.size()) - 1))
      ->first;
}

store::Scope Operator::scope_of(core::TaskId id) const {
  return {.tenant_id = world_.rules->tasks().at(id).tenant,
          .app_code = kApp,
          .requested_by = std::nullopt};
}

void Operator::cancel(Process& by) {
  const core::TaskId id = any_task();
  if (id == 0 || world_.scheduler.chance(0.5)) return;
  if (by.store().cancel(id, scope_of(id)).ok() && !by.dead()) by.poll_soon();
}

void Operator::retry(Process& by) {
  for (const auto& [id, task] : world_.rules->tasks()) {
    if (task.status != core::TaskStatus::kFailed || world_.scheduler.chance(0.5)) continue;
    const auto done = by.store().retry(id, scope_of(id));
    if (done.ok() && !done->object_key.empty())
      static_cast<void>(by.files().remove(done->object_key));
    return;
  }
}

void Operator::pause(Process& by) {
  const char* lane = pick(world_.scheduler, {kExportLane, kActionLane});
  const bool paused = world_.scheduler.chance(0.4);
  world_.note(std::string("lane ") + lane + (paused ? " is paused" : " goes on"));
  static_cast<void>(by.store().set_lane_paused(lane, paused));
}

void Operator::processes() {
  Scheduler& dice = world_.scheduler;
  const auto alive = world_.crew->alive();
  if (alive.size() < kMaxProcesses && (alive.empty() || dice.chance(0.3))) world_.crew->start_one();
  if (alive.empty() || !world_.faulty) return;
  Process& one = *alive[static_cast<std::size_t>(
      dice.between(0, static_cast<std::int64_t>(alive.size()) - 1))];
  const Process::Visit visit(one);
  if (dice.chance(world_.faults.crash_before * 5)) one.crash("in an idle moment");
  if (dice.chance(world_.faults.freeze * 5)) one.freeze(dice.between(10, 3 * one.lease_ms()));
  if (dice.chance(0.01) && one.wish().consumer && !one.dead()) one.terminate();
  if (dice.chance(world_.faults.clock_step)) one.step_clock(dice.between(-kMaxStepMs, kMaxStepMs));
  if (dice.chance(0.02)) {
    auto types = all_export_types();
    if (dice.chance(0.5)) types.erase(pick(dice, {"LIST_A", "LIST_B", "LIST_NEW"}));
    one.reload(std::move(types));
  }
}

void Operator::trouble() {
  Scheduler& dice = world_.scheduler;
  const Faults& f = world_.faults;
  const auto outage = [&](double rate, const char* what, Millis& until) {
    if (!dice.chance(rate)) return;
    const Millis length = dice.between(100, kMaxOutageMs);
    until = dice.now() + length;
    world_.note(std::string(what) + " away for " + std::to_string(length) + " ms");
    for (Process* process : world_.crew->alive()) process->disturb();
  };
  outage(f.database_outage, "the database is", world_.database_away_until);
  outage(f.storage_outage, "the storage is", world_.storage_away_until);
  outage(f.provider_outage, "the providers are", world_.provider_away_until);
  if (dice.chance(f.broker_trouble)) {
    const double kind = dice.random.unit();
    if (kind < 0.4) {
      world_.broker.set_down(dice.chance(0.6));
    } else if (kind < 0.7) {
      world_.broker.break_connections();
    } else {
      world_.note("the broker restarts without its messages");
      world_.broker.restart_empty();
    }
  }
  if (dice.chance(f.lost_command)) take_command_away();
  if (dice.chance(f.poison)) write_poison();
}

void Operator::take_command_away() {
  for (const auto& [execution, command] : world_.rules->commands()) {
    if (command.status == core::CommandStatus::kQuarantined || world_.scheduler.chance(0.7))
      continue;
    world_.rules->command_was_taken_away(execution.id);
    world_.sql("DELETE FROM outbox WHERE task_id = " + std::to_string(execution.id) +
               " AND dispatch_version = " + std::to_string(execution.version));
    world_.note_task(execution.id, "its command is lost");
    world_.observe(nullptr, "the run");
    return;
  }
}

// A message that nobody can read, with or without properties that name a task.
void Operator::write_poison() {
  Scheduler& dice = world_.scheduler;
  transport::Message message;
  message.stream = {.lane = pick(dice, {kExportLane, kActionLane}),
                    .level = static_cast<int>(dice.between(0, 3))};
  message.payload = "{broken";
  if (const core::TaskId id = any_task(); id != 0 && dice.chance(0.7)) {
    message.properties = {{"taskId", std::to_string(id)},
                          {"dispatchVersion", std::to_string(dice.between(1, 3))},
                          {"eventId", kForeignEventId},
                          {"schemaVersion", "1"}};
  }
  world_.broker.inject(message);
}

void Operator::heal() {
  end();  // or its last deed, such as a pause, could come after this
  world_.faulty = false;
  world_.broker.set_down(false);
  world_.broker.set_faults({});
  for (const char* lane : {kExportLane, kActionLane})
    static_cast<void>(world_.store->set_lane_paused(lane, false));
  world_.observe(nullptr, "the run");
  for (Process* process : world_.crew->alive()) {
    process->group().frozen_until = 0;
    process->disturb();
    // The upgrade is over. (Without the sweep, messages of new types could go on reaching old
    // programs, which acknowledge them and leave the task to the reconciler's next turn.)
    if (process->wish().action_types != all_action_types()) process->crash("to be upgraded");
    process->reload(all_export_types());
  }
  // What only an older program, or one without the role, could do is done by this one.
  world_.crew->start_whole();
  world_.note("the run is healed");
}

void Operator::end() {
  stopped_ = true;
  group_.dead = true;
  world_.scheduler.bury(group_);
}

void Operator::leave_one() {
  const auto alive = world_.crew->alive();
  for (std::size_t i = 0; i + 1 < alive.size(); ++i) alive[i]->crash("no longer needed");
}

}  // namespace waybill::sim
