// What people do to a task, and what an execution writes while it runs.

#include <utility>

#include "store/fields.h"
#include "store/json_arrays.h"
#include "store/sql_store.h"

namespace waybill::store {

namespace {

bool sees(const Scope& scope, const LockedTask& task) {
  return task.tenant_id == scope.tenant_id && task.app_code == scope.app_code &&
         (!scope.requested_by || task.requested_by == *scope.requested_by);
}

// The task under its lock, its slot locked before it. Aborts with kNotFound where the scope does
// not see it.
LockedTask lock_visible(Session& session, TaskId id, const Scope& scope) {
  Transitions::lock_slots(session, Transitions::serial_keys(session, std::span(&id, 1)));
  std::vector<LockedTask> tasks = Transitions::lock_tasks(session, std::span(&id, 1));
  if (tasks.empty() || !sees(scope, tasks.front())) throw Abort{base::not_found("no such task")};
  return std::move(tasks.front());
}

}  // namespace

base::Result<CancelOutcome> SqlStore::cancel(TaskId id, const Scope& scope) {
  CancelOutcome outcome = CancelOutcome::kAlreadyFinished;
  CommandHints hints;
  const auto status = writer_.run("cancel", [&](Session& session) {
    hints.clear();
    outcome = CancelOutcome::kAlreadyFinished;
    LockedTask task = lock_visible(session, id, scope);
    core::Change change = transitions_.decide(task, core::Event::kCancel);
    if (change.refused()) return;
    outcome = change.request_cancel ? CancelOutcome::kCancelling : CancelOutcome::kCancelled;
    std::vector<Transition> changes;
    changes.push_back({std::move(task), core::Event::kCancel, std::move(change)});
    transitions_.apply(session, changes, hints);
  });
  WAYBILL_TRY(status);
  tell(hints);
  return outcome;
}

base::Result<RetryDone> SqlStore::retry(TaskId id, const Scope& scope) {
  RetryDone done;
  CommandHints hints;
  const auto status = writer_.run("retry", [&](Session& session) {
    hints.clear();
    done = {};
    LockedTask task = lock_visible(session, id, scope);
    core::Change change = transitions_.decide(task, core::Event::kManualRetry);
    if (change.refused())
      throw Abort{base::conflict("NOT_FAILED", "only a failed task can be started again")};
    {
      auto object = session.run("export_objects", id_list(std::span(&id, 1)));
      if (object.next()) {
        done.object_key = object.text(1);
        done.storage_id = object.text(2);
      }
    }
    done.execution = {id, task.version + 1};
    std::vector<Transition> changes;
    changes.push_back({std::move(task), core::Event::kManualRetry, std::move(change)});
    transitions_.apply(session, changes, hints);
  });
  WAYBILL_TRY(status);
  tell(hints);
  return done;
}

base::Result<bool> SqlStore::record_object(std::string_view owner, const Execution& execution,
                                           std::string_view key, std::string_view storage_id) {
  WAYBILL_TRY(check_text("objectKey", key, kMaxObjectKey, true));
  WAYBILL_TRY(check_text("storageId", storage_id, kMaxStorageId));
  bool recorded = false;
  const auto status = writer_.run("record_object", [&](Session& session) {
    recorded = false;
    const auto tasks = Transitions::lock_tasks(session, std::span(&execution.id, 1));
    if (tasks.empty()) return;
    const LockedTask& task = tasks.front();
    if (task.version != execution.version || task.owner != owner ||
        task.facts.status != core::TaskStatus::kRunning)
      return;
    recorded =
        session.run("object_record", execution.id, execution.version, key, storage_id).changed() ==
        1;
  });
  WAYBILL_TRY(status);
  return recorded;
}

base::Status SqlStore::save_progress(std::string_view owner, std::span<const Progress> items) {
  WAYBILL_TRY(check_owner(owner));
  WAYBILL_TRY(check_batch(items.size()));
  if (items.empty()) return {};
  JsonRows rows;
  for (const Progress& p : items)
    rows.add(p.execution.id, p.execution.version, p.processed_rows, p.total_rows);
  return writer_.run("save_progress",
                     [&](Session& session) { session.run("progress_save", rows.text()); });
}

}  // namespace waybill::store
