#include "store/transition.h"

#include <algorithm>
#include <utility>

#include "store/json_arrays.h"

namespace waybill::store {

namespace {

using core::TaskStatus;

std::string key_rows(const SerialKeys& keys) {
  JsonRows rows;
  for (const SerialKey& key : keys) rows.add(key.tenant_id, key.lane, key.key);
  return rows.text();
}

std::int32_t attempts_after(const core::TaskFacts& facts, core::AttemptUpdate update) {
  switch (update) {
    case core::AttemptUpdate::kKeep:
      return facts.attempt_count;
    case core::AttemptUpdate::kAddOne:
      return facts.attempt_count + 1;
    case core::AttemptUpdate::kTakeBack:
      return std::max(facts.attempt_count - 1, 0);
    case core::AttemptUpdate::kReset:
      return 0;
  }
  return facts.attempt_count;
}

std::int32_t version_after(const Transition& t) {
  return t.task.version + (t.change.raise_version ? 1 : 0);
}

bool waits(TaskStatus status) {
  return status == TaskStatus::kPending || status == TaskStatus::kBlocked;
}

// +1 where a task enters an end, -1 where it leaves one.
void count_end(JobDelta& delta, TaskStatus status, std::int64_t by) {
  if (status == TaskStatus::kSucceeded) delta.succeeded += by;
  if (status == TaskStatus::kFailed) delta.failed += by;
  if (status == TaskStatus::kCancelled) delta.cancelled += by;
}

// Only an execution that took place is worth a line of history. One that a person starts again had
// ended before, with the reason that its row still has.
void add_attempt(JsonRows& rows, const Transition& t) {
  const LockedTask& task = t.task;
  if (!task.started_at) return;
  const bool ended_before = core::is_ended(task.facts.status);
  rows.add(task.id, task.version, task.started_at,
           ended_before ? task.completed_at.value_or(task.now) : task.now, task.owner,
           core::to_string(ended_before ? core::Event::kFail : t.event),
           ended_before ? task.failure_message : t.change.failure_message);
}

void add_change(JsonRows& rows, const Transition& t) {
  const LockedTask& task = t.task;
  const core::Change& change = t.change;
  const bool moves = change.to != task.facts.status;
  const bool runs_on = change.to == TaskStatus::kRunning;
  // lease_owner stays readable after the end; a task that waits again has none.
  std::optional<std::string> owner;
  if (!task.owner.empty() && !waits(change.to)) owner = task.owner;
  std::optional<Millis> until;
  std::optional<Millis> deadline;
  if (runs_on) until = task.lease_until;
  if (!waits(change.to) && task.facts.execution_deadline_at != 0)
    deadline = task.facts.execution_deadline_at;
  std::optional<Millis> started = task.started_at;
  if (change.reset_result) started.reset();
  std::optional<Millis> completed;
  if (core::is_ended(change.to)) completed = task.now;
  // The flag is for a running execution; ended tasks would fill its index.
  const bool cancel = !core::is_ended(change.to) && !change.clear_cancel &&
                      (task.facts.cancel_requested || change.request_cancel);
  std::optional<std::string> failure_class;
  std::optional<std::string> failure_message;
  if (change.failure == core::FailureUpdate::kSet) {
    failure_class = core::to_string(change.failure_class);
    failure_message = change.failure_message;
  }
  rows.add(task.id, task.version, task.facts.status, change.to, version_after(t),
           attempts_after(task.facts, change.attempts),
           moves && waits(change.to) ? change.due_at : task.facts.due_at, owner, until, deadline,
           cancel ? 1 : 0, change.failure == core::FailureUpdate::kKeep ? 0 : 1, failure_class,
           failure_message, task.serial_seq, started, completed);
}

}  // namespace

std::string id_list(std::span<const TaskId> ids) {
  JsonList list;
  for (const TaskId id : ids) list.add(id);
  return list.text();
}

std::map<std::int32_t, std::vector<TaskId>> by_version(std::span<const Execution> executions) {
  std::map<std::int32_t, std::vector<TaskId>> groups;
  for (const Execution& e : executions) groups[e.version].push_back(e.id);
  return groups;
}

void delete_commands(Session& session, std::span<const Execution> executions) {
  for (const auto& [version, ids] : by_version(executions))
    session.run("command_delete", id_list(ids), version);
}

std::vector<CommandHint> CommandHints::list() const {
  std::vector<CommandHint> hints;
  hints.reserve(seen_.size());
  for (const auto& [lane, level, tenant] : seen_) hints.push_back({lane, level, tenant});
  return hints;
}

SerialKeys Transitions::serial_keys(Session& session, std::span<const TaskId> ids) {
  SerialKeys keys;
  auto rows = session.run("serial_keys", id_list(ids));
  while (rows.next()) keys.insert({rows.string(0), rows.string(1), rows.string(2)});
  return keys;
}

void Transitions::lock_slots(Session& session, const SerialKeys& keys) {
  if (keys.empty()) return;
  const std::string text = key_rows(keys);
  session.run("slot_make", text);
  session.run("slot_lock", text);
}

std::vector<LockedTask> Transitions::lock_tasks(Session& session, std::span<const TaskId> ids) {
  std::vector<LockedTask> tasks;
  auto rows = session.run("task_lock", id_list(ids));
  while (rows.next()) {
    LockedTask& t = tasks.emplace_back();
    t.id = rows.integer(0);
    t.kind = static_cast<core::TaskKind>(rows.integer(1));
    t.type = rows.text(2);
    t.lane = rows.text(3);
    t.level = rows.int32(4);
    t.tenant_id = rows.text(5);
    t.app_code = rows.text(6);
    t.requested_by = rows.text(7);
    t.version = rows.int32(9);
    t.facts = {.kind = t.kind,
               .status = static_cast<TaskStatus>(rows.integer(8)),
               .attempt_count = rows.int32(10),
               .max_attempts = rows.int32(11),
               .due_at = rows.integer(13),
               .execution_deadline_at = rows.integer(16),
               .max_duration_ms = rows.integer(12),
               .cancel_requested = rows.integer(17) != 0,
               .has_serial_key = !rows.is_null(18),
               .holds_serial_key = !rows.is_null(22) && rows.integer(22) == t.id};
    t.owner = rows.text(14);
    t.lease_until = rows.optional(15);
    if (!rows.is_null(18)) t.serial_key = rows.string(18);
    t.serial_seq = rows.optional(19);
    t.job_id = rows.optional(20);
    t.started_at = rows.optional(21);
    t.now = rows.integer(23);
    t.failure_message = rows.text(24);
    t.completed_at = rows.optional(25);
  }
  return tasks;
}

core::Change Transitions::decide(const LockedTask& task, core::EventInput input) const {
  input.now = task.now;
  input.jitter = seams_.random.unit();
  return core::decide(task.facts, input, seams_.retry);
}

core::Change Transitions::decide(const LockedTask& task, core::Event event) const {
  core::EventInput input;
  input.event = event;
  return decide(task, std::move(input));
}

void Transitions::apply(Session& session, std::vector<Transition>& changes,
                        CommandHints& hints) const {
  if (changes.empty()) return;
  write(session, changes, hints);
  SerialKeys freed;
  for (const Transition& t : changes) {
    // A task that waits BLOCKED may be the next of a key that nobody holds.
    const bool blocked = t.change.to == TaskStatus::kBlocked;
    if (t.task.serial_key && (t.change.release_key || blocked)) freed.insert(t.task.slot());
  }
  promote(session, freed, hints);
}

void Transitions::write(Session& session, std::vector<Transition>& changes,
                        CommandHints& hints) const {
  number_last_in_line(session, changes);
  JsonRows attempts;
  std::vector<Execution> old_commands;
  std::vector<TaskId> new_commands, exports_reset;
  JobDeltas jobs;
  for (const Transition& t : changes) {
    const LockedTask& task = t.task;
    if (t.change.archive_attempt) add_attempt(attempts, t);
    if (t.change.delete_command) old_commands.push_back({task.id, task.version});
    if (t.change.make_command) {
      new_commands.push_back(task.id);
      if (t.change.due_at <= task.now) hints.add(task.lane, task.level, task.tenant_id);
    }
    if (t.change.reset_result && task.kind == core::TaskKind::kExport)
      exports_reset.push_back(task.id);
    if (task.job_id && t.change.to != task.facts.status) {
      count_end(jobs[*task.job_id], t.change.to, 1);
      count_end(jobs[*task.job_id], task.facts.status, -1);
    }
  }
  if (!attempts.empty()) session.run("attempt_insert", attempts.text());
  write_tasks(session, changes);
  delete_commands(session, old_commands);
  make_commands(session, new_commands);
  if (!exports_reset.empty()) session.run("export_reset", id_list(exports_reset));
  count_jobs(session, jobs);
}

void Transitions::write_tasks(Session& session, const std::vector<Transition>& changes) {
  JsonRows rows;
  for (const Transition& t : changes) add_change(rows, t);
  const std::int64_t changed = session.run("task_apply", rows.text()).changed();
  if (changed != static_cast<std::int64_t>(changes.size())) {
    throw SqlFault(FaultKind::kFatal, "task_apply: a locked row changed under its lock");
  }
}

// A serial task that a person retries goes to the end of its line.
void Transitions::number_last_in_line(Session& session, std::vector<Transition>& changes) {
  SerialKeys keys;
  for (const Transition& t : changes) {
    if (t.change.last_in_line) keys.insert(t.task.slot());
  }
  if (keys.empty()) return;
  std::map<SerialKey, std::int64_t> next;
  {
    auto rows = session.run("slot_lock", key_rows(keys));
    while (rows.next()) next[{rows.string(0), rows.string(1), rows.string(2)}] = rows.integer(4);
  }
  for (Transition& t : changes) {
    if (t.change.last_in_line) t.task.serial_seq = next[t.task.slot()]++;
  }
  JsonRows numbers;
  for (const auto& [key, number] : next) numbers.add(key.tenant_id, key.lane, key.key, number);
  session.run("slot_number", numbers.text());
}

std::int64_t Transitions::promote(Session& session, const SerialKeys& keys,
                                  CommandHints& hints) const {
  if (keys.empty()) return 0;
  JsonRows holders;
  std::vector<TaskId> next;
  {
    auto rows = session.run("slot_waiting", key_rows(keys));
    while (rows.next()) {
      const bool held = !rows.is_null(3) && !rows.is_null(4) &&
                        core::is_active(static_cast<TaskStatus>(rows.integer(4)));
      if (held) continue;
      const auto waiting = rows.optional(5);
      holders.add(rows.text(0), rows.text(1), rows.text(2), waiting);
      if (waiting) next.push_back(*waiting);
    }
  }
  if (holders.empty()) return 0;
  session.run("slot_hold", holders.text());
  if (next.empty()) return 0;
  std::sort(next.begin(), next.end());
  std::vector<Transition> changes;
  for (LockedTask& task : lock_tasks(session, next)) {
    core::Change change = decide(task, core::Event::kPromote);
    if (!change.refused())
      changes.push_back({std::move(task), core::Event::kPromote, std::move(change)});
  }
  write(session, changes, hints);
  return static_cast<std::int64_t>(changes.size());
}

std::int64_t Transitions::make_commands(Session& session, std::span<const TaskId> ids) const {
  if (ids.empty()) return 0;
  JsonPairs events;
  for (const TaskId id : ids) events.add(id, base::make_uuid(seams_.random));
  return session.run("command_insert", events.text()).changed();
}

void Transitions::count_jobs(Session& session, const JobDeltas& deltas) {
  JsonRows rows;
  JsonList ended;
  JsonList reopened;
  for (const auto& [job, d] : deltas) {
    if (d.succeeded == 0 && d.failed == 0 && d.cancelled == 0) continue;
    rows.add(job, d.succeeded, d.failed, d.cancelled);
    const std::int64_t sum = d.succeeded + d.failed + d.cancelled;
    (sum < 0 ? reopened : ended).add(job);
  }
  if (rows.empty()) return;
  session.run("job_count", rows.text());
  if (!ended.empty()) session.run("job_close", ended.text());
  if (!reopened.empty()) session.run("job_reopen", reopened.text());
}

}  // namespace waybill::store
