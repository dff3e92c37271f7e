// POST /files/export-tasks/{id}/retry and /cancel

#include <utility>

#include "api/context.h"
#include "base/json_writer.h"

namespace waybill::api {
namespace {

constexpr int kTries = 4;  // of a change whose commit was not answered

std::string_view word_of(store::CancelOutcome outcome) {
  switch (outcome) {
    case store::CancelOutcome::kCancelled:
      return "cancelled";
    case store::CancelOutcome::kCancelling:
      return "cancelling";
    case store::CancelOutcome::kAlreadyFinished:
      return "already_finished";
  }
  return "already_finished";
}

bool unknown(const base::Error& error) {
  return error.category == base::ErrorCategory::kOutcomeUnknown;
}

// A cancel is asked for again until its answer is known. "Already finished" may then be this
// cancel's own doing.
base::Result<store::CancelOutcome> cancel_surely(Context& context, core::TaskId id,
                                                 const store::Scope& scope) {
  for (int tried = 1;; ++tried) {
    auto outcome = context.deps.tasks.cancel(id, scope);
    if (!outcome.ok() && unknown(outcome.error()) && tried < kTries) continue;
    if (outcome.ok() && tried > 1 && *outcome == store::CancelOutcome::kAlreadyFinished) {
      WAYBILL_ASSIGN(const store::ExportRow row, context.deps.tasks.find_export(id, scope));
      if (row.task.status == core::TaskStatus::kCancelled) return store::CancelOutcome::kCancelled;
    }
    return outcome;
  }
}

// The same for a retry: when the lost one took effect, the task is no longer FAILED and its version
// has grown.
base::Result<store::RetryDone> retry_surely(Context& context, const store::ExportRow& before,
                                            const store::Scope& scope) {
  const core::TaskId id = before.task.id;
  for (int tried = 1;; ++tried) {
    auto done = context.deps.tasks.retry(id, scope);
    if (!done.ok() && unknown(done.error()) && tried < kTries) continue;
    if (!done.ok() && tried > 1 && done.error().category == base::ErrorCategory::kConflict) {
      WAYBILL_ASSIGN(const store::ExportRow now, context.deps.tasks.find_export(id, scope));
      if (now.task.dispatch_version > before.task.dispatch_version) {
        return store::RetryDone{
            {id, now.task.dispatch_version}, before.object_key, before.storage_id};
      }
    }
    return done;
  }
}

// The old attempt's file. What cannot be removed now is found by the orphan scan.
void remove_object(Context& context, const store::RetryDone& done) {
  if (done.object_key.empty()) return;
  const auto here = context.deps.files.storage_id();
  if (!here.ok() || *here != done.storage_id) return;
  const auto removed = context.deps.files.remove(done.object_key);
  if (removed.ok()) return;
  base::log(base::LogLevel::kWarn, "file_delete_failed",
            {{"taskId", done.execution.id},
             {"key", done.object_key},
             {"error", removed.error().message}});
}

}  // namespace

base::Result<http::Response> retry_export(Context& context, const Call& call) {
  WAYBILL_ASSIGN(const core::TaskId id, path_id(call));
  const store::Scope scope = own_scope(call.who);
  WAYBILL_ASSIGN(const store::ExportRow before, context.deps.tasks.find_export(id, scope));
  const auto snapshot = context.deps.registry.current();
  const registry::ExportType* const type = snapshot->find_export(before.task.type);
  if (type == nullptr) {
    base::Error error =
        base::conflict("UNKNOWN_TYPE", "the export type is not registered any more");
    error.actual = before.task.type;
    return error;
  }
  WAYBILL_TRY(require_type(call, *type));
  WAYBILL_ASSIGN(const store::RetryDone done, retry_surely(context, before, scope));
  audit(call, "export_retried", {{"taskId", id}, {"dispatchVersion", done.execution.version}});
  remove_object(context, done);
  WAYBILL_ASSIGN(const store::ExportRow after, context.deps.tasks.find_export(id, scope));
  WAYBILL_ASSIGN(const std::string detail, detail_of(context, call, after));
  return success(call.request, detail);
}

base::Result<http::Response> cancel_export(Context& context, const Call& call) {
  WAYBILL_TRY(require(call, kListPermission));
  WAYBILL_ASSIGN(const core::TaskId id, path_id(call));
  WAYBILL_ASSIGN(const store::CancelOutcome outcome,
                 cancel_surely(context, id, visible_scope(call.who)));
  audit(call, "export_cancelled", {{"taskId", id}, {"result", word_of(outcome)}});
  base::JsonWriter json;
  json.begin_object().key("id").id(id).field("result", word_of(outcome)).end_object();
  return success(call.request, json.text());
}

}  // namespace waybill::api
