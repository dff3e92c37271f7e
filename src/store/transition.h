// Every change of a task that is not the hot path of claim and success: lock the rows,
// core::decide, write, commands, job counters, next of the serial key. All ends of tasks by
// whatever role go through here (I17).
//
// Lock order: guards -> idempotency -> serial_slot (by key) -> task (by id) -> outbox ->
// export_task -> batch_job (by id).

#ifndef WAYBILL_STORE_TRANSITION_H_
#define WAYBILL_STORE_TRANSITION_H_

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/decide.h"
#include "store/seams.h"
#include "store/session.h"
#include "store/types.h"

namespace waybill::store {

struct SerialKey {
  std::string tenant_id;
  std::string lane;
  std::string key;
  friend auto operator<=>(const SerialKey&, const SerialKey&) = default;
};
using SerialKeys = std::set<SerialKey>;  // sorted: the order in which slots are locked

// A task row as read under its lock.
struct LockedTask {
  TaskId id = 0;
  core::TaskKind kind = core::TaskKind::kExport;
  std::string type, lane;
  core::Level level = 2;
  std::string tenant_id, app_code, requested_by;
  std::int32_t version = 1;
  core::TaskFacts facts;
  std::string owner;
  std::optional<Millis> lease_until;
  std::optional<std::string> serial_key;
  std::optional<std::int64_t> serial_seq;
  std::optional<std::int64_t> job_id;
  std::optional<Millis> started_at;
  std::string failure_message;
  std::optional<Millis> completed_at;
  Millis now = 0;  // the database's, of the locking statement

  [[nodiscard]] SerialKey slot() const { return {tenant_id, lane, serial_key.value_or("")}; }
};

struct Transition {
  LockedTask task;
  core::Event event = core::Event::kCancel;
  core::Change change;  // not refused
};

// Commands that came into being, by (lane, level, tenant), each once.
class CommandHints {
 public:
  void add(const std::string& lane, core::Level level, const std::string& tenant) {
    seen_.emplace(lane, level, tenant);
  }
  void clear() { seen_.clear(); }
  [[nodiscard]] bool empty() const { return seen_.empty(); }
  [[nodiscard]] std::vector<CommandHint> list() const;

 private:
  std::set<std::tuple<std::string, core::Level, std::string>> seen_;
};

// How much a job's counters change.
struct JobDelta {
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::int64_t cancelled = 0;
};
using JobDeltas = std::map<std::int64_t, JobDelta>;  // sorted by job id

// Stateless but for its seams; used inside a writing transaction.
class Transitions {
 public:
  explicit Transitions(const Seams& seams) : seams_(seams) {}

  // Serial keys of these tasks; they never change, so no lock is needed.
  static SerialKeys serial_keys(Session& session, std::span<const TaskId> ids);
  // Makes missing slots and locks all of them in order.
  static void lock_slots(Session& session, const SerialKeys& keys);
  static std::vector<LockedTask> lock_tasks(Session& session, std::span<const TaskId> ids);
  [[nodiscard]] core::Change decide(const LockedTask& task, core::EventInput input) const;
  [[nodiscard]] core::Change decide(const LockedTask& task, core::Event event) const;

  // Writes all of `changes`, then promotes the next task of every key that became free.
  void apply(Session& session, std::vector<Transition>& changes, CommandHints& hints) const;
  // Gives each free slot to the oldest BLOCKED task of its key. Slots must be locked. Returns how
  // many.
  std::int64_t promote(Session& session, const SerialKeys& keys, CommandHints& hints) const;
  // Commands for PENDING tasks, at their version. Returns how many did not exist yet.
  std::int64_t make_commands(Session& session, std::span<const TaskId> ids) const;
  static void count_jobs(Session& session, const JobDeltas& deltas);

 private:
  void write(Session& session, std::vector<Transition>& changes, CommandHints& hints) const;
  static void write_tasks(Session& session, const std::vector<Transition>& changes);
  static void number_last_in_line(Session& session, std::vector<Transition>& changes);

  const Seams& seams_;
};

// [id, id, ...]
std::string id_list(std::span<const TaskId> ids);
// Executions by version: statements that name ids carry one version each.
std::map<std::int32_t, std::vector<TaskId>> by_version(std::span<const Execution> executions);
void delete_commands(Session& session, std::span<const Execution> executions);

}  // namespace waybill::store

#endif  // WAYBILL_STORE_TRANSITION_H_
