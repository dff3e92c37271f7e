// Creating tasks without guards: items of jobs, benchmarks, and the insertion that exports share.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "store/create.h"
#include "store/fields.h"
#include "store/json_arrays.h"
#include "store/sql_store.h"

namespace waybill::store {

namespace {

// Fewer tasks of one shape than this go into the general statement: a statement of their own costs
// more.
constexpr std::size_t kSameShapeFrom = 8;

// Everything of a task but its id and trace.
using Shape = std::tuple<core::TaskKind, std::string_view, std::string_view, core::Level,
                         std::string_view, std::string_view, std::string_view, std::int32_t, Millis,
                         std::optional<std::int64_t>>;

Shape shape_of(const NewTask& t) {
  return {t.kind,     t.type,         t.lane,         t.priority,        t.tenant_id,
          t.app_code, t.requested_by, t.max_attempts, t.max_duration_ms, t.job_id};
}

// Tasks without a serial key, by shape. Neighbours mostly have the same, so the map is asked
// seldom.
std::map<Shape, std::vector<std::size_t>> by_shape(std::span<const NewTask* const> tasks) {
  std::map<Shape, std::vector<std::size_t>> shapes;
  const Shape* last = nullptr;
  std::vector<std::size_t>* members = nullptr;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i]->serial_key) continue;
    Shape shape = shape_of(*tasks[i]);
    if (last == nullptr || *last != shape) {
      const auto it = shapes.try_emplace(std::move(shape)).first;
      last = &it->first;
      members = &it->second;
    }
    members->push_back(i);
  }
  return shapes;
}

void insert_same(Session& session, const Shape& shape, const std::string& traces, Millis now) {
  const auto& [kind, type, lane, level, tenant, app, requester, attempts, duration, job] = shape;
  session.run("task_insert_same", kind, type, lane, level, tenant, app, requester, attempts,
              duration, job, now, traces);
}

// Numbers the tasks of each key in the order given; slots must be locked.
std::vector<std::optional<std::int64_t>> number_serial(Session& session,
                                                       std::span<const NewTask* const> tasks,
                                                       const SerialKeys& keys) {
  std::vector<std::optional<std::int64_t>> numbers(tasks.size());
  if (keys.empty()) return numbers;
  JsonRows wanted;
  for (const SerialKey& key : keys) wanted.add(key.tenant_id, key.lane, key.key);
  session.run("slot_make", wanted.text());
  std::map<SerialKey, std::int64_t> next;
  {
    auto rows = session.run("slot_lock", wanted.text());
    while (rows.next()) next[{rows.string(0), rows.string(1), rows.string(2)}] = rows.integer(4);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i]->serial_key) numbers[i] = next[slot_of(*tasks[i])]++;
  }
  JsonRows moved;
  for (const auto& [key, number] : next) moved.add(key.tenant_id, key.lane, key.key, number);
  session.run("slot_number", moved.text());
  return numbers;
}

}  // namespace

SerialKey slot_of(const NewTask& task) {
  return {task.tenant_id, task.lane, task.serial_key.value_or("")};
}

void insert_new_tasks(Session& session, const Transitions& transitions,
                      std::span<const NewTask* const> tasks, std::span<const TaskId> ids,
                      CommandHints& hints) {
  SerialKeys keys;
  for (const NewTask* task : tasks) {
    if (task->serial_key) keys.insert(slot_of(*task));
  }
  const auto numbers = number_serial(session, tasks, keys);
  Millis now = 0;
  {
    auto clock = session.run("clock_read");
    if (clock.next()) now = clock.integer(0);
  }
  const auto shapes = by_shape(tasks);
  std::vector<TaskId> due;
  due.reserve(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i]->serial_key) due.push_back(ids[i]);
  }
  JsonRows rest;
  const auto add_rest = [&](std::size_t i) {
    const NewTask& t = *tasks[i];
    const auto status = t.serial_key ? core::TaskStatus::kBlocked : core::TaskStatus::kPending;
    rest.add(ids[i], t.kind, t.type, t.lane, t.priority, t.tenant_id, t.app_code, t.requested_by,
             status, t.max_attempts, t.max_duration_ms, t.job_id, t.trace_id, t.serial_key,
             numbers[i]);
  };
  for (const auto& [shape, members] : shapes) {
    const NewTask& one = *tasks[members.front()];
    hints.add(one.lane, one.priority, one.tenant_id);
    if (members.size() < kSameShapeFrom) {
      for (const std::size_t i : members) add_rest(i);
      continue;
    }
    JsonPairs traces;
    for (const std::size_t i : members) traces.add(ids[i], tasks[i]->trace_id);
    insert_same(session, shape, traces.text(), now);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i]->serial_key) add_rest(i);
  }
  if (!rest.empty()) session.run("task_insert_rows", now, rest.text());
  transitions.make_commands(session, due);
  transitions.promote(session, keys, hints);
}

bool all_present(Session& session, std::span<const NewTask* const> tasks,
                 std::span<const TaskId> ids) {
  std::map<TaskId, const NewTask*> ours;
  for (std::size_t i = 0; i < ids.size(); ++i) ours[ids[i]] = tasks[i];
  std::size_t found = 0;
  auto rows = session.run("tasks_present", id_list(ids));
  while (rows.next()) {
    const auto it = ours.find(rows.integer(0));
    if (it != ours.end() && it->second->trace_id == rows.text(1) &&
        it->second->requested_by == rows.text(2))
      ++found;
  }
  return found == ids.size();
}

base::Status with_new_ids(
    IdSource& source, std::size_t n,
    const std::function<base::Status(std::span<const TaskId>, bool)>& insert) {
  WAYBILL_ASSIGN(std::vector<TaskId> ids, source.take(n));
  bool replay = false;
  for (int attempt = 1;; ++attempt) {
    base::Status status = insert(ids, replay);
    if (status.ok() || attempt >= static_cast<int>(kMaxTransactionTries)) return status;
    switch (status.error().category) {
      case base::ErrorCategory::kOutcomeUnknown:
        replay = true;  // the same ids: what is there already is ours
        continue;
      case base::ErrorCategory::kConflict: {
        WAYBILL_TRY(source.skip_used());
        WAYBILL_ASSIGN(ids, source.take(n));
        replay = false;
        continue;
      }
      default:
        return status;
    }
  }
}

base::Status SqlStore::insert_tasks(std::span<const NewTask* const> tasks,
                                    std::vector<TaskId>& ids) {
  CommandHints hints;
  const auto status =
      with_new_ids(ids_, tasks.size(), [&](std::span<const TaskId> fresh, bool replay) {
        ids.assign(fresh.begin(), fresh.end());
        return writer_.run("create_tasks", [&](Session& session) {
          hints.clear();
          if (replay && all_present(session, tasks, fresh)) return;
          insert_new_tasks(session, transitions_, tasks, fresh, hints);
        });
      });
  WAYBILL_TRY(status);
  tell(hints);
  return {};
}

base::Result<std::vector<TaskId>> SqlStore::create_tasks(std::span<const NewTask> tasks) {
  WAYBILL_TRY(check_batch(tasks.size()));
  std::vector<const NewTask*> pointers;
  pointers.reserve(tasks.size());
  for (const NewTask& task : tasks) {
    WAYBILL_TRY(check_task(task));
    pointers.push_back(&task);
  }
  std::vector<TaskId> ids;
  if (!tasks.empty()) WAYBILL_TRY(insert_tasks(pointers, ids));
  return ids;
}

base::Result<TaskId> SqlStore::create_task(const NewTask& task) {
  WAYBILL_TRY(check_task(task));
  return task_collector_.submit(task);
}

std::vector<base::Result<TaskId>> SqlStore::create_task_batch(
    std::span<const NewTask* const> tasks) {
  std::vector<TaskId> ids;
  const auto status = insert_tasks(tasks, ids);
  if (status.ok()) return {ids.begin(), ids.end()};
  // One bad element must not refuse the others.
  const bool splits = status.error().category == base::ErrorCategory::kInternal ||
                      status.error().category == base::ErrorCategory::kConflict;
  if (tasks.size() == 1 || !splits)
    return std::vector<base::Result<TaskId>>(tasks.size(), status.error());
  auto first = create_task_batch(tasks.first(tasks.size() / 2));
  auto second = create_task_batch(tasks.subspan(tasks.size() / 2));
  std::move(second.begin(), second.end(), std::back_inserter(first));
  return first;
}

}  // namespace waybill::store
