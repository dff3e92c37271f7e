#include "tests/sim/rules.h"

#include <algorithm>

#include "tests/sim/process.h"
#include "tests/sim/storage.h"
#include "tests/sim/world.h"

namespace waybill::sim {
namespace {

using core::CommandStatus;
using core::TaskStatus;

bool waits(TaskStatus s) { return s == TaskStatus::kPending || s == TaskStatus::kBlocked; }
bool is_claim(std::string_view op) { return op == "claim_next" || op == "claim_delivered"; }
bool is_recovery(std::string_view op) {
  return op == "recover_expired_leases" || op == "recover_all_running";
}
bool is_create(std::string_view op) {
  return op == "create_export" || op == "create_task" || op == "create_tasks";
}

std::string text_of(const TaskView& t) {
  return std::string(core::to_string(t.status)) + " v" + std::to_string(t.version) + " a" +
         std::to_string(t.attempts);
}

}  // namespace

void Rules::broken(const char* invariant, core::TaskId id, const std::string& what) {
  world_.violate(invariant, id, what);
}

bool Rules::all_ended() const {
  return std::all_of(tasks_.begin(), tasks_.end(),
                     [](const auto& t) { return core::is_ended(t.second.status); });
}

// Every attempt may last its whole duration, after a lease that ran out and the longest back-off;
// tasks of one key follow each other. A message that the broker lost is sent again after at most
// 600 s * 2^5, once.
Millis Rules::time_to_end() const {
  constexpr Millis kLostMessageMs = 600'000 * 32 + 3'600'000;
  constexpr Millis kPerAttemptMs = 2 * 300'000 + 900'000 * 12 / 10;
  std::map<std::tuple<std::string, std::string, std::string>, Millis> lines;
  Millis longest = 0;
  for (const auto& [id, task] : tasks_) {
    if (core::is_ended(task.status)) continue;
    const Millis own = (task.max_attempts - std::min(task.attempts, task.max_attempts) + 1) *
                       (task.max_duration + kPerAttemptMs);
    const bool alone = task.key.empty();
    Millis& line = lines[{task.tenant, task.lane, alone ? std::to_string(id) : task.key}];
    longest = std::max(longest, line += own);
  }
  return kLostMessageMs + longest;
}

void Rules::look(const Process* by, std::string_view operation) {
  const Changes changes = read_changes();
  judge_commands_of_claims(changes);
  judge_all(changes, by, operation);
  std::set<core::TaskId> touched;
  std::set<std::tuple<std::string, std::string, std::string>> keys;
  std::set<std::int64_t> jobs;
  for (const CommandChange& change : changes.commands) touched.insert(change.execution.id);
  for (const TaskChange& change : changes.tasks) {
    const TaskView& any = change.after ? *change.after : *change.before;
    touched.insert(change.id);
    if (!any.key.empty()) keys.insert({any.tenant, any.lane, any.key});
    if (any.job) jobs.insert(*any.job);
  }
  for (const core::TaskId id : touched) judge_state(id);
  judge_keys(keys);
  judge_jobs(jobs);
  for (const ProgressChange& change : changes.progress) {
    if (operation == "save_progress") judge_progress(change, by);
  }
}

// A claim takes its command away in the same transaction; a task without one is not run (I9).
void Rules::judge_commands_of_claims(const Changes& changes) {
  std::set<core::Execution> taken;
  for (const CommandChange& change : changes.commands) {
    if (change.before && !change.after) taken.insert(change.execution);
  }
  for (const TaskChange& change : changes.tasks) {
    const bool claimed = change.before && change.after &&
                         change.before->status == TaskStatus::kPending &&
                         change.after->status == TaskStatus::kRunning;
    if (claimed && !taken.contains({change.id, change.after->version}))
      broken("I9", change.id, "claimed without its command");
  }
}

// One change after the other, each against the state that it found.
void Rules::judge_all(const Changes& changes, const Process* by, std::string_view operation) {
  for (const CommandChange& change : changes.commands) {
    judge(change, operation);
    if (change.after) {
      commands_[change.execution] = *change.after;
    } else {
      commands_.erase(change.execution);
    }
  }
  for (const TaskChange& change : changes.tasks) {
    std::string line = std::string(operation) + " by " + (by != nullptr ? by->owner() : "the run");
    line += ": " + (change.before ? text_of(*change.before) : "none") + " -> " +
            (change.after ? text_of(*change.after) : "none");
    world_.note_task(change.id, line);
    judge(change, by, operation);
    take(change);
  }
}

// Into the mirror.
void Rules::take(const TaskChange& change) {
  const TaskView& any = change.after ? *change.after : *change.before;
  const std::tuple key{any.tenant, any.lane, any.key};
  if (!change.after) {
    tasks_.erase(change.id);
    if (!any.key.empty()) by_key_[key].erase(change.id);
    if (any.job) aged_jobs_.insert(*any.job);
    return;
  }
  TaskView& mirror = tasks_[change.id];
  const bool lost = mirror.command_lost && change.before && change.before->version == any.version &&
                    waits(any.status);
  mirror = any;
  mirror.command_lost = lost;
  if (!any.key.empty()) by_key_[key].insert(change.id);
  if (any.job) by_job_[*any.job].insert(change.id);
}

void Rules::judge(const TaskChange& change, const Process* by, std::string_view operation) {
  const core::TaskId id = change.id;
  if (!change.before) {
    const TaskView& t = *change.after;
    if (!is_create(operation)) broken("I17", id, "made by " + std::string(operation));
    if (!waits(t.status) || t.version != 1 || t.attempts != 0)
      broken("I2", id, "born as " + text_of(t));
    return;
  }
  if (!change.after) {
    if (operation != "delete_old_tasks" || !core::is_ended(change.before->status))
      broken("I1", id, "deleted by " + std::string(operation) + " as " + text_of(*change.before));
    return;
  }
  judge_version(id, *change.before, *change.after, operation);
  judge_attempts(id, *change.before, *change.after, operation);
  if (change.before->status != change.after->status) {
    judge_move(id, *change.before, *change.after, by, operation);
  } else {
    judge_lease(id, *change.before, *change.after, by, operation);
  }
}

// I3: exactly three ways, each by one.
void Rules::judge_version(core::TaskId id, const TaskView& before, const TaskView& after,
                          std::string_view operation) {
  const bool given_up = before.status == TaskStatus::kRunning && waits(after.status) &&
                        (operation == "finish" || is_recovery(operation));
  const bool by_hand =
      before.status == TaskStatus::kFailed && waits(after.status) && operation == "retry";
  const std::int32_t expected = before.version + (given_up || by_hand ? 1 : 0);
  if (after.version != expected)
    broken("I3", id, std::string(operation) + ": " + text_of(before) + " -> " + text_of(after));
}

// I13: a claim counts, a release takes back, a person starts anew; sends never count.
void Rules::judge_attempts(core::TaskId id, const TaskView& before, const TaskView& after,
                           std::string_view operation) {
  const std::int32_t by = after.attempts - before.attempts;
  bool fine = by == 0;
  if (before.status == TaskStatus::kPending && after.status == TaskStatus::kRunning) fine = by == 1;
  if (before.status == TaskStatus::kRunning && waits(after.status) && operation == "finish")
    fine = by == 0 || by == -1;
  if (operation == "retry") fine = after.attempts == 0;
  if (!fine)
    broken("I13", id, std::string(operation) + ": " + text_of(before) + " -> " + text_of(after));
}

void Rules::judge_move(core::TaskId id, const TaskView& before, const TaskView& after,
                       const Process* by, std::string_view operation) {
  const auto is = [&](TaskStatus from, TaskStatus to) {
    return before.status == from && after.status == to;
  };
  bool legal = false;
  if (is(TaskStatus::kPending, TaskStatus::kRunning)) {
    legal = is_claim(operation);
    if (operation == "claim_delivered") delivered_.insert({id, after.version});
    judge_claim(id, before, after, by);
  } else if (before.status == TaskStatus::kRunning) {
    legal =
        (operation == "finish" || is_recovery(operation)) && after.status != TaskStatus::kExpired;
    if (operation == "finish" && (by == nullptr || before.owner != by->owner()))
      broken("I6", id, "ended by somebody else than " + before.owner);
    if (after.status == TaskStatus::kSucceeded) {
      if (before.deadline <= world_.scheduler.clock.wall_ms())
        broken("I6", id, "a success after the deadline");
      if (before.cancel && before.kind == core::TaskKind::kExport)
        broken("I6", id, "a success of a cancelled export");
      if (before.kind == core::TaskKind::kExport) judge_result(id, after);
    }
    if (is_recovery(operation)) judge_recovery(id, before);
  } else if (waits(before.status) && after.status == TaskStatus::kCancelled) {
    legal = operation == "cancel";
  } else if (is(TaskStatus::kPending, TaskStatus::kFailed)) {
    legal = operation == "quarantine";
  } else if (before.status == TaskStatus::kFailed && waits(after.status)) {
    legal = operation == "retry";
  } else if (is(TaskStatus::kBlocked, TaskStatus::kPending)) {
    legal = true;  // whoever freed the key
  } else if (is(TaskStatus::kSucceeded, TaskStatus::kExpired)) {
    legal = operation == "mark_expired";
  }
  if (!legal)
    broken("I17", id, std::string(operation) + ": " + text_of(before) + " -> " + text_of(after));
  if (after.status == TaskStatus::kFailed &&
      (after.failure_class.empty() || after.failure_message.empty()))
    broken("I1", id, "FAILED without a reason");
}

void Rules::judge_claim(core::TaskId id, const TaskView& before, const TaskView& after,
                        const Process* by) {
  const Millis now = world_.scheduler.clock.wall_ms();
  if (before.due_at > now) broken("I8", id, "claimed before it was due");
  if (by == nullptr || after.owner != by->owner()) {
    broken("I6", id, "claimed in another name");
    return;
  }
  if (!by->has_known(before.type)) broken("I14", id, "claimed by a process that does not know it");
  if (after.lease_until != now + by->lease_ms() || after.deadline != now + before.max_duration)
    broken("I8", id, "lease or deadline are not counted from the database's clock");
}

// Only what nobody keeps may be taken over.
void Rules::judge_recovery(core::TaskId id, const TaskView& before) {
  const Millis now = world_.scheduler.clock.wall_ms();
  if (before.lease_until.value_or(0) > now) broken("I6", id, "recovered under a living lease");
  // Beyond its deadline nobody renews it: an execution that never notices is ended like this, too.
  if (before.deadline <= now) return;
  for (const Process* process : Process::alive(world_)) {
    if (process->owner() != before.owner) continue;
    const Millis calm = before.lease_until.value_or(0) - process->disturbed_at();
    if (calm > process->lease_ms() + process->heartbeat_ms())
      broken("I7", id, "lost although its process was healthy for " + std::to_string(calm) + " ms");
  }
}

void Rules::judge_lease(core::TaskId id, const TaskView& before, const TaskView& after,
                        const Process* by, std::string_view operation) {
  if (before.status == TaskStatus::kRunning && before.owner != after.owner)
    broken("I6", id, "another owner without a claim");
  if (before.lease_until == after.lease_until) return;
  const Millis now = world_.scheduler.clock.wall_ms();
  if (operation != "renew") broken("I7", id, "lease changed by " + std::string(operation));
  if (by == nullptr || by->owner() != before.owner) broken("I6", id, "renewed by another process");
  if (before.deadline <= now) broken("I7", id, "renewed beyond the deadline");
  if (by != nullptr && after.lease_until != now + by->lease_ms())
    broken("I8", id, "a renewal that is not counted from the database's clock");
}

void Rules::judge(const CommandChange& change, std::string_view operation) {
  const core::TaskId id = change.execution.id;
  const bool buried = change.before && change.before->status == CommandStatus::kQuarantined;
  if (buried && (change.after || operation != "delete_old_tasks"))
    broken("I11", id, "a quarantined command was changed by " + std::string(operation));
  if (!change.before && change.after->status != CommandStatus::kPending)
    broken("I9", id, "a command that was born as something else than PENDING");
  if (!change.before && operation != "retry" && !is_create(operation) && operation != "finish" &&
      operation != "cancel" && operation != "quarantine" && !is_recovery(operation) &&
      operation != "recreate_missing_commands" && operation != "repair_serial_slots")
    broken("I9", id, "a command made by " + std::string(operation));
  if (change.before && !change.after && operation == "delete_old_sent_commands")
    command_was_taken_away(id);
}

// I2, I9, I11: who has a command, and who has none.
void Rules::judge_state(core::TaskId id) {
  const auto found = tasks_.find(id);
  const auto first = commands_.lower_bound({id, 0});
  if (found == tasks_.end()) {
    if (first != commands_.end() && first->first.id == id)
      broken("I2", id, "a command without task");
    return;
  }
  TaskView& task = found->second;
  const CommandView* own = nullptr;
  for (auto it = first; it != commands_.end() && it->first.id == id; ++it) {
    if (it->first.version == task.version) own = &it->second;
    if (it->first.version > task.version) broken("I2", id, "a command of a version to come");
    if (it->first.version < task.version && it->second.status != CommandStatus::kQuarantined)
      broken("I4", id, "an old command is still there");
  }
  if (own != nullptr) task.command_lost = false;
  if (task.status == TaskStatus::kRunning && (!task.lease_until || task.owner.empty()))
    broken("I6", id, "RUNNING without a lease: no sweep would find it");
  if (task.status == TaskStatus::kPending) {
    if (own == nullptr && !task.command_lost) broken("I2", id, "PENDING without a command");
    if (own != nullptr && own->status == CommandStatus::kQuarantined)
      broken("I11", id, "PENDING with a quarantined command");
  } else if (own != nullptr && own->status != CommandStatus::kQuarantined) {
    broken("I2", id, std::string(core::to_string(task.status)) + " with a command");
  }
}

// I16, and I5 of the reconciler: a key that somebody waits for is held by somebody.
void Rules::judge_keys(const std::set<std::tuple<std::string, std::string, std::string>>& keys) {
  for (const auto& key : keys) {
    int active = 0;
    core::TaskId waiting = 0;
    for (const core::TaskId id : by_key_[key]) {
      const TaskStatus status = tasks_[id].status;
      active += core::is_active(status) ? 1 : 0;
      if (status == TaskStatus::kBlocked) waiting = id;
      if (active > 1) broken("I16", id, "two active tasks of the key " + std::get<2>(key));
    }
    if (active == 0 && waiting != 0) broken("I16", waiting, "waits for a key that nobody holds");
  }
}

void Rules::judge_jobs(const std::set<std::int64_t>& jobs) {
  for (const std::int64_t job : jobs) {
    if (aged_jobs_.contains(job)) continue;  // it counts items that retention has taken
    std::int64_t succeeded = 0, failed = 0, cancelled = 0;
    for (const core::TaskId id : by_job_[job]) {
      const TaskStatus status = tasks_[id].status;
      succeeded += status == TaskStatus::kSucceeded ? 1 : 0;
      failed += status == TaskStatus::kFailed ? 1 : 0;
      cancelled += status == TaskStatus::kCancelled ? 1 : 0;
    }
    const auto row = world_.sql(
        "SELECT success_count, fail_count, cancelled_count, status, total FROM batch_job WHERE id "
        "= " +
        std::to_string(job));
    const auto count = [&row](std::size_t i) { return std::stoll(row.at(0).at(i)); };
    if (count(0) != succeeded || count(1) != failed || count(2) != cancelled)
      broken("I17", 0, "job " + std::to_string(job) + " counts other ends than its items have");
    const bool over = succeeded + failed + cancelled == count(4);
    if (over != (count(3) >= 2))
      broken("I17", 0, "job " + std::to_string(job) + " ended too soon or too late");
  }
}

// I15: progress of an older execution must not show on a newer one.
void Rules::judge_progress(const ProgressChange& change, const Process* by) {
  const auto task = tasks_.find(change.execution.id);
  const bool own = task != tasks_.end() && task->second.version == change.execution.version &&
                   by != nullptr && task->second.owner == by->owner();
  if (!own) broken("I15", change.execution.id, "a zombie's progress was written");
}

// I12 and I15: a SUCCEEDED export has its file, and it is the one of this very version.
void Rules::judge_result(core::TaskId id, const TaskView& task) {
  const auto row =
      world_.sql("SELECT object_key FROM export_task WHERE task_id = " + std::to_string(id));
  const std::string& key = row.at(0).at(0);
  const std::string prefix =
      "exports/" + std::to_string(id) + "/" + std::to_string(task.version) + "-";
  if (!key.starts_with(prefix)) broken("I15", id, "SUCCEEDED with the object " + key);
  if (!world_.storage->holds(key)) broken("I12", id, "SUCCEEDED without its file " + key);
}

void Rules::acknowledged(const Process& by, const core::Execution& execution,
                         bool another_is_held) {
  const auto task = tasks_.find(execution.id);
  const auto command = commands_.find(execution);
  if (task == tasks_.end() || command == commands_.end() || another_is_held) return;
  const bool claimable = task->second.status == TaskStatus::kPending &&
                         task->second.version == execution.version &&
                         task->second.due_at <= world_.scheduler.clock.wall_ms();
  if (claimable && by.knows(task->second.type) && !by.has_answer(execution))
    broken("I5", execution.id, "acknowledged by " + by.owner() + " without a claim");
}

void Rules::started(const Process& by, const core::Execution& execution, bool unacknowledged) {
  if (++world_.starts[execution] > 1) broken("I6", execution.id, "the same version started twice");
  if (unacknowledged && delivered_.contains(execution))
    broken("I5", execution.id, "started before it was acknowledged");
  const auto task = tasks_.find(execution.id);
  if (task == tasks_.end() || task->second.version < execution.version)
    broken("I4", execution.id, by.owner() + " started a version that does not exist");
}

void Rules::asked_provider(const Process& by, const core::Execution& execution) {
  if (!world_.starts.contains(execution))
    broken("I15", execution.id, by.owner() + " asked in the name of another execution");
}

}  // namespace waybill::sim
