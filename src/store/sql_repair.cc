// The reconciler's branches. Each is idempotent, conditional and safe when several run.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "store/fields.h"
#include "store/json_arrays.h"
#include "store/sql_store.h"

namespace waybill::store {

namespace {

constexpr int kMostDoublings = 5;  // a re-send waits at most 32 times as long

std::int64_t bounded(std::int64_t limit) {
  return std::clamp<std::int64_t>(limit, 1, static_cast<std::int64_t>(kMaxBatch));
}

}  // namespace

base::Result<bool> SqlStore::begin_pass(Millis stall_ms, Millis grace_ms) {
  bool waits = false;
  const auto status = writer_.run("begin_pass", [&](Session& session) {
    Millis last = 0;
    Millis grace = 0;
    Millis now = 0;
    {
      auto rows = session.run("sweep_lock");
      if (!rows.next())
        throw Abort{base::internal("the row of table sweep is missing; run waybill migrate")};
      last = rows.integer(0);
      grace = rows.integer(1);
      now = rows.integer(2);
    }
    if (now - last > stall_ms || now < last) grace = now + grace_ms;
    // After a step back a grace of the future clock would last for ever.
    grace = std::min(grace, now + grace_ms);
    session.run("sweep_write", now, grace);
    waits = grace > now;
  });
  WAYBILL_TRY(status);
  return waits;
}

base::Result<Walked> SqlStore::recreate_missing_commands(const Walk& walk, Millis due_for_ms) {
  const std::int64_t limit = bounded(walk.limit);
  Walked walked;
  std::vector<TaskId> missing;
  const auto read = readers_.run("recreate_missing_commands", [&](Session& session) {
    walked = {};
    missing.clear();
    std::int64_t seen = 0;
    auto rows = session.run("missing_walk", walk.after, due_for_ms, limit);
    while (rows.next()) {
      ++seen;
      walked.last = rows.integer(0);
      if (rows.integer(1) == 0) missing.push_back(walked.last);
    }
    if (seen < limit) walked.last = 0;
  });
  WAYBILL_TRY(read);
  if (missing.empty()) return walked;
  CommandHints hints;
  const auto status = writer_.run("recreate_missing_commands", [&](Session& session) {
    hints.clear();
    walked.changed = transitions_.make_commands(session, missing);
    for (const LockedTask& task : Transitions::lock_tasks(session, missing))
      hints.add(task.lane, task.level, task.tenant_id);
  });
  WAYBILL_TRY(status);
  tell(hints);
  return walked;
}

base::Result<Walked> SqlStore::resend_stale_commands(const Walk& walk, Millis stale_ms,
                                                     Millis due_for_ms) {
  const std::int64_t limit = bounded(walk.limit);
  Walked walked;
  const auto status = writer_.run("resend_stale_commands", [&](Session& session) {
    walked = {};
    JsonRows resend;
    JsonRows moved_on;
    std::int64_t seen = 0;
    {
      auto rows = session.run("sent_walk", walk.after, limit);
      while (rows.next()) {
        ++seen;
        walked.last = rows.integer(0);
        const Millis now = rows.integer(8);
        const bool current =
            !rows.is_null(4) && rows.integer(5) == rows.integer(1) &&
            static_cast<core::TaskStatus>(rows.integer(4)) == core::TaskStatus::kPending;
        const auto doublings = std::clamp<std::int64_t>(rows.integer(2) - 1, 0, kMostDoublings);
        const bool stale = rows.integer(3) <= now - (stale_ms << doublings);
        const bool due = rows.integer(6) <= now - due_for_ms;
        if (!current) {
          moved_on.add(rows.integer(0), rows.integer(1));
        } else if (stale && due && rows.integer(7) == 0) {
          resend.add(rows.integer(0), rows.integer(1));
        }
      }
      if (seen < limit) walked.last = 0;
    }
    if (!resend.empty()) walked.changed += session.run("command_resend", resend.text()).changed();
    if (!moved_on.empty())
      walked.changed += session.run("command_remove", moved_on.text()).changed();
  });
  WAYBILL_TRY(status);
  return walked;
}

base::Result<std::vector<TaskId>> SqlStore::read_ids(std::string_view operation,
                                                     std::string_view statement,
                                                     std::int64_t limit) {
  std::vector<TaskId> ids;
  const auto status = readers_.run(operation, [&](Session& session) {
    ids.clear();
    auto rows = session.run(statement, limit);
    while (rows.next()) ids.push_back(rows.integer(0));
  });
  WAYBILL_TRY(status);
  return ids;
}

base::Result<std::vector<Recovered>> SqlStore::recover_expired_leases(std::int64_t limit,
                                                                      Millis spread_ms) {
  WAYBILL_ASSIGN(const std::vector<TaskId> ids,
                 read_ids("recover_expired_leases", "expired_leases", bounded(limit)));
  return recover("recover_expired_leases", ids, true, spread_ms);
}

base::Result<std::vector<Recovered>> SqlStore::recover_all_running(std::int64_t limit) {
  WAYBILL_ASSIGN(const std::vector<TaskId> ids,
                 read_ids("recover_all_running", "all_running", bounded(limit)));
  return recover("recover_all_running", ids, false, 0);
}

base::Result<std::vector<Recovered>> SqlStore::recover(std::string_view operation,
                                                       std::span<const TaskId> ids,
                                                       bool expired_only, Millis spread_ms) {
  std::vector<Recovered> recovered;
  if (ids.empty()) return recovered;
  CommandHints hints;
  const auto status = writer_.run(operation, [&](Session& session) {
    hints.clear();
    recovered.clear();
    Transitions::lock_slots(session, Transitions::serial_keys(session, ids));
    std::vector<LockedTask> tasks = Transitions::lock_tasks(session, ids);
    // What was read before the lock may have been renewed or finished since.
    std::erase_if(tasks, [expired_only](const LockedTask& t) {
      return t.facts.status != core::TaskStatus::kRunning ||
             (expired_only && t.lease_until && *t.lease_until > t.now);
    });
    if (tasks.empty()) return;
    std::set<std::string> alive;
    {
      auto rows = session.run("instances_alive", seams_.instance_alive_ms);
      while (rows.next()) alive.insert(rows.string(0));
    }
    std::map<TaskId, std::pair<std::string, std::string>> objects;
    {
      auto rows = session.run("export_objects", id_list(ids));
      while (rows.next()) objects[rows.integer(0)] = {rows.string(1), rows.string(2)};
    }
    std::vector<Transition> changes;
    const auto many = static_cast<Millis>(tasks.size());
    Millis nth = 0;
    for (LockedTask& task : tasks) {
      core::EventInput input;
      input.event = core::Event::kLost;
      input.extra_delay_ms = spread_ms * nth++ / many;  // the first comes back at once
      core::Change change = transitions_.decide(task, input);
      if (change.refused()) continue;
      auto& [key, storage] = objects[task.id];
      recovered.push_back({.execution = {task.id, task.version},
                           .to = change.to,
                           .object_key = key,
                           .storage_id = storage,
                           .owner_alive = alive.contains(task.owner)});
      changes.push_back({std::move(task), core::Event::kLost, std::move(change)});
    }
    transitions_.apply(session, changes, hints);
  });
  WAYBILL_TRY(status);
  tell(hints);
  return recovered;
}

base::Result<Walked> SqlStore::release_stuck_commands(const Walk& walk) {
  const std::int64_t limit = bounded(walk.limit);
  Walked walked;
  const auto status = writer_.run("release_stuck_commands", [&](Session& session) {
    walked = {};
    JsonRows release;
    std::int64_t seen = 0;
    {
      auto rows = session.run("held_walk", walk.after, limit);
      while (rows.next()) {
        ++seen;
        walked.last = rows.integer(0);
        if (rows.integer(2) != 0) release.add(rows.integer(0), rows.integer(1));
      }
      if (seen < limit) walked.last = 0;
    }
    if (!release.empty()) walked.changed = session.run("command_release", release.text()).changed();
  });
  WAYBILL_TRY(status);
  return walked;
}

base::Result<Walked> SqlStore::repair_serial_slots(const Walk& walk) {
  const std::int64_t limit = bounded(walk.limit);
  Walked walked;
  SerialKeys stranded;
  JsonList ended_jobs;
  const auto read = readers_.run("repair_serial_slots", [&](Session& session) {
    walked = {};
    stranded.clear();
    ended_jobs = {};
    std::int64_t seen = 0;
    {
      auto rows = session.run("blocked_walk", walk.after, limit);
      while (rows.next()) {
        ++seen;
        walked.last = rows.integer(0);
        if (rows.integer(4) == 0) stranded.insert({rows.string(1), rows.string(2), rows.string(3)});
      }
      if (seen < limit) walked.last = 0;
    }
    if (walk.after != 0) return;
    auto jobs = session.run("jobs_all_ended");
    while (jobs.next()) ended_jobs.add(jobs.integer(0));
  });
  WAYBILL_TRY(read);
  if (stranded.empty() && ended_jobs.empty()) return walked;
  CommandHints hints;
  const auto status = writer_.run("repair_serial_slots", [&](Session& session) {
    hints.clear();
    walked.changed = 0;
    Transitions::lock_slots(session, stranded);
    walked.changed += transitions_.promote(session, stranded, hints);
    if (!ended_jobs.empty())
      walked.changed += session.run("job_close", ended_jobs.text()).changed();
  });
  WAYBILL_TRY(status);
  tell(hints);
  return walked;
}

}  // namespace waybill::store
