// Ends of executions. Successes of tasks take the short way: one conditional update for the batch.
// Everything else, and every success that the short way did not change, is decided row by row under
// lock.

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "store/fields.h"
#include "store/json_arrays.h"
#include "store/sql_store.h"

namespace waybill::store {

namespace {

using core::Event;
using core::TaskStatus;

base::Status check_finish(const Finish& item) {
  switch (item.event) {
    case Event::kSucceed:
    case Event::kFail:
    case Event::kRetryLater:
    case Event::kOverdue:
    case Event::kRelease:
    case Event::kStopObserved:
      break;
    default:
      return base::invalid("event", "an execution cannot end with '" +
                                        std::string(core::to_string(item.event)) + "'");
  }
  if (item.result) WAYBILL_TRY(check_result(*item.result));
  return {};
}

// One finish() inside its transaction.
class FinishBatch {
 public:
  FinishBatch(Session& session, const Transitions& transitions, std::string_view owner,
              std::span<const Finish> items, std::span<FinishOutcome> outcomes, CommandHints& hints)
      : session_(session),
        transitions_(transitions),
        owner_(owner),
        items_(items),
        outcomes_(outcomes),
        hints_(hints) {}

  void run() {
    read_extras();
    SerialKeys keys;
    for (const auto& [id, key] : slots_) keys.insert(key);
    Transitions::lock_slots(session_, keys);
    std::vector<std::size_t> slow = short_way();
    if (!slow.empty()) decide_rows(slow);
    write_results();
    transitions_.promote(session_, freed_, hints_);
    Transitions::count_jobs(session_, jobs_);
  }

 private:
  void read_extras() {
    JsonList ids;
    for (const Finish& item : items_) ids.add(item.execution.id);
    auto rows = session_.run("finish_extras", ids.text());
    while (rows.next()) {
      if (!rows.is_null(3))
        slots_[rows.integer(0)] = {rows.string(1), rows.string(2), rows.string(3)};
      if (!rows.is_null(4)) jobs_of_[rows.integer(0)] = rows.integer(4);
    }
  }

  // A success that touches its task row and nothing else.
  [[nodiscard]] bool is_plain(const Finish& item) const {
    return item.event == Event::kSucceed && !item.result && !slots_.contains(item.execution.id) &&
           !jobs_of_.contains(item.execution.id);
  }

  // Successes, one statement per version. Returns the items that still have no outcome.
  std::vector<std::size_t> short_way() {
    Groups plain;
    std::vector<std::size_t> careful, slow;
    std::unordered_set<TaskId> seen;
    seen.reserve(items_.size());
    for (std::size_t i = 0; i < items_.size(); ++i) {
      // A task named twice in one batch is looked at row by row.
      if (!seen.insert(items_[i].execution.id).second) {
        slow.push_back(i);
      } else if (is_plain(items_[i])) {
        plain[items_[i].execution.version].push_back(i);
      } else {
        (items_[i].event == Event::kSucceed ? careful : slow).push_back(i);
      }
    }
    succeed_plain(plain, slow);
    if (!careful.empty()) succeed_careful(careful, slow);
    std::sort(slow.begin(), slow.end());
    return slow;
  }

  using Groups = std::map<std::int32_t, std::vector<std::size_t>>;

  std::int64_t write_successes(std::int32_t version, const std::vector<std::size_t>& members) {
    JsonList ids;
    for (const std::size_t i : members) ids.add(items_[i].execution.id);
    return session_.run("finish_succeed", ids.text(), version, owner_).changed();
  }

  void succeed_plain(const Groups& groups, std::vector<std::size_t>& slow) {
    for (const auto& [version, members] : groups) {
      const bool all =
          write_successes(version, members) == static_cast<std::int64_t>(members.size());
      for (const std::size_t i : members) outcomes_[i] = FinishOutcome::kCommitted;
      if (all) continue;
      // The rows tell who did not match; one that SUCCEEDED in an earlier try with a lost answer
      // reads like one of this.
      const auto rows = lock(members);
      for (const std::size_t i : members) {
        const auto it = rows.find(items_[i].execution.id);
        if (it == rows.end() || !has(it->second, items_[i], TaskStatus::kSucceeded))
          slow.push_back(i);
      }
    }
  }

  // Counters, keys and results must follow this very change, so who will match is known before it
  // is written.
  void succeed_careful(const std::vector<std::size_t>& items, std::vector<std::size_t>& slow) {
    Groups ready;
    const auto rows = lock(items);
    for (const std::size_t i : items) {
      const auto it = rows.find(items_[i].execution.id);
      const bool matches = it != rows.end() && is_running_here(it->second, items_[i]) &&
                           !transitions_.decide(it->second, Event::kSucceed).refused();
      if (matches) {
        ready[items_[i].execution.version].push_back(i);
      } else {
        slow.push_back(i);
      }
    }
    for (const auto& [version, members] : ready) {
      if (write_successes(version, members) != static_cast<std::int64_t>(members.size())) {
        throw SqlFault(FaultKind::kRetry,
                       "finish_succeed: a deadline passed between two statements");
      }
      for (const std::size_t i : members) succeeded(i);
    }
  }

  std::map<TaskId, LockedTask> lock(const std::vector<std::size_t>& items) {
    std::vector<TaskId> ids;
    ids.reserve(items.size());
    for (const std::size_t i : items) ids.push_back(items_[i].execution.id);
    std::map<TaskId, LockedTask> rows;
    for (LockedTask& row : Transitions::lock_tasks(session_, ids))
      rows.emplace(row.id, std::move(row));
    return rows;
  }

  [[nodiscard]] bool is_running_here(const LockedTask& row, const Finish& item) const {
    return has(row, item, TaskStatus::kRunning);
  }

  // At this version, by this owner, in this state.
  [[nodiscard]] bool has(const LockedTask& row, const Finish& item, TaskStatus status) const {
    return row.version == item.execution.version && row.owner == owner_ &&
           row.facts.status == status;
  }

  void succeeded(std::size_t i) {
    outcomes_[i] = FinishOutcome::kCommitted;
    const TaskId id = items_[i].execution.id;
    if (const auto slot = slots_.find(id); slot != slots_.end()) freed_.insert(slot->second);
    if (const auto job = jobs_of_.find(id); job != jobs_of_.end()) ++jobs_[job->second].succeeded;
    results_.push_back(i);
  }

  void decide_rows(const std::vector<std::size_t>& slow) {
    const auto rows = lock(slow);
    std::vector<Transition> changes;
    std::set<TaskId> changed;
    std::vector<std::size_t> gone;
    for (const std::size_t i : slow) {
      const auto it = rows.find(items_[i].execution.id);
      if (it == rows.end() || changed.contains(items_[i].execution.id)) {
        outcomes_[i] = FinishOutcome::kFenced;
        continue;
      }
      const LockedTask& row = it->second;
      if (!is_running_here(row, items_[i])) {
        gone.push_back(i);
        continue;
      }
      if (decide_one(i, row, changes)) changed.insert(row.id);
    }
    if (!gone.empty()) read_settled(gone, rows);
    transitions_.apply(session_, changes, hints_);
  }

  bool decide_one(std::size_t i, const LockedTask& row, std::vector<Transition>& changes) {
    const Finish& item = items_[i];
    Event event = item.event;
    core::EventInput input;
    input.event = event;
    input.failure_class = item.failure_class;
    input.failure_message = item.failure_message;
    input.retry_after_ms = item.retry_after_ms;
    core::Change change = transitions_.decide(row, input);
    outcomes_[i] = FinishOutcome::kCommitted;
    if (change.refusal == core::Refusal::kCancelled) {
      outcomes_[i] = FinishOutcome::kCancelled;
      input.event = event = Event::kStopObserved;
      change = transitions_.decide(row, input);
    }
    if (change.refused()) {
      outcomes_[i] = change.refusal == core::Refusal::kOverdue ? FinishOutcome::kOverdue
                                                               : FinishOutcome::kFenced;
      return false;
    }
    if (change.to == TaskStatus::kSucceeded) results_.push_back(i);
    changes.push_back({row, event, std::move(change)});
    return true;
  }

  // Executions that are not running under this owner any more. An earlier try whose answer was lost
  // may have done it.
  void read_settled(const std::vector<std::size_t>& gone,
                    const std::map<TaskId, LockedTask>& rows) {
    std::vector<TaskId> ids;
    for (const std::size_t i : gone) ids.push_back(items_[i].execution.id);
    std::map<Execution, std::pair<std::string, std::string>> earlier;
    {
      auto attempts = session_.run("attempt_outcomes", id_list(ids));
      while (attempts.next())
        earlier[{attempts.integer(0), attempts.int32(1)}] = {attempts.string(2),
                                                             attempts.string(3)};
    }
    for (const std::size_t i : gone) {
      const Finish& item = items_[i];
      const LockedTask& row = rows.at(item.execution.id);
      outcomes_[i] = FinishOutcome::kFenced;
      if (has(row, item, TaskStatus::kSucceeded) && item.event == Event::kSucceed) {
        outcomes_[i] = FinishOutcome::kCommitted;
      } else if (has(row, item, TaskStatus::kCancelled) && item.event == Event::kSucceed) {
        outcomes_[i] = FinishOutcome::kCancelled;
      } else if ((has(row, item, TaskStatus::kCancelled) || has(row, item, TaskStatus::kFailed)) &&
                 item.event != Event::kSucceed) {
        outcomes_[i] = FinishOutcome::kCommitted;
      } else if (const auto it = earlier.find(item.execution);
                 it != earlier.end() &&
                 it->second ==
                     std::pair{std::string(owner_), std::string(core::to_string(item.event))}) {
        outcomes_[i] = FinishOutcome::kCommitted;
      }
    }
  }

  void write_results() {
    JsonRows rows;
    for (const std::size_t i : results_) {
      if (!items_[i].result) continue;
      const ExportResult& r = *items_[i].result;
      rows.add(items_[i].execution.id, items_[i].execution.version, r.rows, r.object_key,
               r.storage_id, r.file_name, r.content_type, r.size_bytes, r.sha256, r.receipt_json,
               r.keep_ms);
    }
    if (!rows.empty()) session_.run("export_result", rows.text());
  }

  Session& session_;
  const Transitions& transitions_;
  std::string_view owner_;
  std::span<const Finish> items_;
  std::span<FinishOutcome> outcomes_;
  CommandHints& hints_;
  std::map<TaskId, SerialKey> slots_;
  std::map<TaskId, std::int64_t> jobs_of_;
  std::vector<std::size_t> results_;
  SerialKeys freed_;
  JobDeltas jobs_;
};

}  // namespace

// An error that only one element can cause must not stay with its neighbours.
base::Status SqlStore::finish_batch(std::string_view owner, std::span<const Finish> items,
                                    std::span<FinishOutcome> outcomes) {
  CommandHints hints;
  const auto status = writer_.run("finish", [&](Session& session) {
    hints.clear();
    std::fill(outcomes.begin(), outcomes.end(), FinishOutcome::kFenced);
    FinishBatch(session, transitions_, owner, items, outcomes, hints).run();
  });
  if (status.ok()) {
    tell(hints);
    return {};
  }
  if (items.size() == 1 || status.error().category != base::ErrorCategory::kInternal) return status;
  const std::size_t half = items.size() / 2;
  WAYBILL_TRY(finish_batch(owner, items.first(half), outcomes.first(half)));
  return finish_batch(owner, items.subspan(half), outcomes.subspan(half));
}

base::Result<std::vector<FinishOutcome>> SqlStore::finish(std::string_view owner,
                                                          std::span<const Finish> items) {
  WAYBILL_TRY(check_owner(owner));
  WAYBILL_TRY(check_batch(items.size()));
  for (const Finish& item : items) WAYBILL_TRY(check_finish(item));
  std::vector<FinishOutcome> outcomes(items.size(), FinishOutcome::kFenced);
  if (!items.empty()) WAYBILL_TRY(finish_batch(owner, items, outcomes));
  return outcomes;
}

}  // namespace waybill::store
