// Reading: find, list, watch, why it waits. No transaction outlives a call.

#include <algorithm>
#include <limits>
#include <utility>

#include "store/fields.h"
#include "store/json_arrays.h"
#include "store/row_readers.h"
#include "store/sql_store.h"

namespace waybill::store {

namespace {

constexpr std::int64_t kMaxPage = 100;

bool sees(const Scope& scope, const TaskRow& task) {
  return task.tenant_id == scope.tenant_id && task.app_code == scope.app_code &&
         (!scope.requested_by || task.requested_by == *scope.requested_by);
}

// For LIKE ... ESCAPE '!': what a user types means itself.
std::string contains_pattern(std::string_view text) {
  if (text.empty()) return "";
  std::string pattern = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '!') pattern += '!';
    pattern += c;
  }
  return pattern + '%';
}

constexpr auto kNewest = std::numeric_limits<TaskId>::max();

bool is_filtered(const ListExports& r) {
  return r.status || !r.type.empty() || !r.name_contains.empty() || r.created_from || r.created_to;
}

// The oldest task that this call looks at; 0 = all are.
TaskId floor_of(Session& session, const ListExports& r) {
  const Scope& s = r.scope;
  const TaskId before = r.before.value_or(kNewest);
  const std::int64_t skip = std::max<std::int64_t>(r.look_at, 1) - 1;
  auto rows =
      s.requested_by
          ? session.run("export_floor_user", s.tenant_id, s.app_code, *s.requested_by, before, skip)
          : session.run("export_floor_all", s.tenant_id, s.app_code, before, skip);
  return rows.next() ? rows.integer(0) : 0;
}

// Newest first, and one more than the page has if there is one.
std::vector<TaskId> ids_of(Session& session, const ListExports& r, TaskId floor) {
  const Scope& s = r.scope;
  const TaskId before = r.before.value_or(kNewest);
  const std::int64_t status = r.status ? static_cast<std::int64_t>(*r.status) : -1;
  const std::string pattern = contains_pattern(r.name_contains);
  const Millis since = r.created_from.value_or(0);
  const Millis upto = r.created_to.value_or(std::numeric_limits<Millis>::max());
  auto rows = s.requested_by
                  ? session.run("export_list_user", s.tenant_id, s.app_code, *s.requested_by,
                                before, floor, status, r.type, pattern, since, upto, r.limit + 1)
                  : session.run("export_list_all", s.tenant_id, s.app_code, before, floor, status,
                                r.type, pattern, since, upto, r.limit + 1);
  std::vector<TaskId> ids;
  while (rows.next()) ids.push_back(rows.integer(0));
  return ids;
}

}  // namespace

TaskRow read_task_row(const Rows& r) {
  TaskRow t;
  t.id = r.integer(0);
  t.kind = static_cast<core::TaskKind>(r.integer(1));
  t.type = r.text(2);
  t.lane = r.text(3);
  t.priority = r.int32(4);
  t.tenant_id = r.text(5);
  t.app_code = r.text(6);
  t.requested_by = r.text(7);
  t.status = static_cast<core::TaskStatus>(r.integer(8));
  t.dispatch_version = r.int32(9);
  t.attempt_count = r.int32(10);
  t.max_attempts = r.int32(11);
  t.max_duration_ms = r.integer(12);
  t.due_at = r.integer(13);
  t.lease_owner = r.text(14);
  t.lease_until = r.optional(15);
  t.execution_deadline_at = r.optional(16);
  t.cancel_requested = r.integer(17) != 0;
  t.failure_class = r.text(18);
  t.failure_message = r.text(19);
  if (!r.is_null(20)) t.serial_key = r.string(20);
  t.job_id = r.optional(21);
  t.trace_id = r.text(22);
  t.requested_at = r.integer(23);
  t.started_at = r.optional(24);
  t.completed_at = r.optional(25);
  return t;
}

ExportRow read_export_row(const Rows& r) {
  ExportRow e;
  e.task = read_task_row(r);
  e.task_name = r.text(kTaskColumns);
  e.format = r.text(kTaskColumns + 1);
  e.parameters_json = r.text(kTaskColumns + 2);
  e.progress_version = r.int32(kTaskColumns + 3);
  e.processed_rows = r.integer(kTaskColumns + 4);
  e.total_rows = r.optional(kTaskColumns + 5);
  e.object_key = r.text(kTaskColumns + 6);
  e.storage_id = r.text(kTaskColumns + 7);
  e.file_name = r.text(kTaskColumns + 8);
  e.content_type = r.text(kTaskColumns + 9);
  e.sha256 = r.text(kTaskColumns + 10);
  e.receipt_json = r.text(kTaskColumns + 11);
  e.size_bytes = r.integer(kTaskColumns + 12);
  e.expires_at = r.optional(kTaskColumns + 13);
  return e;
}

base::Result<std::vector<ExportRow>> SqlStore::read_exports(std::string_view operation,
                                                            std::span<const TaskId> ids) {
  std::vector<ExportRow> found;
  if (ids.empty()) return found;
  const auto status = readers_.run(operation, [&](Session& session) {
    found.clear();
    auto rows = session.run("export_find", id_list(ids));
    while (rows.next()) found.push_back(read_export_row(rows));
  });
  WAYBILL_TRY(status);
  return found;
}

base::Result<ExportRow> SqlStore::find_export(TaskId id, const Scope& scope) {
  WAYBILL_ASSIGN(std::vector<ExportRow> found, read_exports("find_export", std::span(&id, 1)));
  if (found.empty() || !sees(scope, found.front().task)) return base::not_found("no such export");
  return std::move(found.front());
}

base::Result<ExportRow> SqlStore::load_export(TaskId id) {
  WAYBILL_ASSIGN(std::vector<ExportRow> found, read_exports("load_export", std::span(&id, 1)));
  if (found.empty()) return base::not_found("no such export");
  return std::move(found.front());
}

base::Result<std::vector<ExportRow>> SqlStore::watch_exports(std::span<const TaskId> ids) {
  return read_exports("watch_exports", ids);
}

base::Result<ExportPage> SqlStore::list_exports(const ListExports& request) {
  if (request.limit < 1 || request.limit > kMaxPage) {
    return base::over_limit("limit", kMaxPage, "tasks", request.limit, "limit must be 1..100");
  }
  WAYBILL_TRY(check_text("nameContains", request.name_contains, kMaxTaskName));
  WAYBILL_TRY(check_text("type", request.type, kMaxType));
  TaskId floor = 0;
  std::vector<TaskId> ids;
  const auto status = readers_.run("list_exports", [&](Session& session) {
    floor = is_filtered(request) ? floor_of(session, request) : 0;
    ids = ids_of(session, request, floor);
  });
  WAYBILL_TRY(status);
  ExportPage page;
  if (std::ssize(ids) > request.limit) {
    ids.pop_back();
    page.older = ids.back();
  } else if (floor > 0) {
    page.older = floor;
  }
  WAYBILL_ASSIGN(page.rows, read_exports("list_exports", ids));
  std::reverse(page.rows.begin(), page.rows.end());
  return page;
}

base::Result<std::vector<AttemptRow>> SqlStore::attempts(TaskId id) {
  std::vector<AttemptRow> found;
  const auto status = readers_.run("attempts", [&](Session& session) {
    found.clear();
    auto rows = session.run("attempts_of", id);
    while (rows.next()) {
      found.push_back({.dispatch_version = rows.int32(0),
                       .started_at = rows.optional(1),
                       .ended_at = rows.integer(2),
                       .instance = rows.string(3),
                       .outcome = rows.string(4),
                       .failure_message = rows.string(5)});
    }
  });
  WAYBILL_TRY(status);
  return found;
}

base::Result<WaitingFacts> SqlStore::waiting_facts(TaskId id) {
  std::optional<WaitingFacts> facts;
  const auto status = readers_.run("waiting_facts", [&](Session& session) {
    auto rows = session.run("waiting_facts", id, kAheadShown);
    if (!rows.next()) return;
    facts.emplace();
    facts->now = rows.integer(0);
    facts->lane_paused = rows.integer(1) != 0;
    facts->has_command = !rows.is_null(2);
    facts->command_status = static_cast<core::CommandStatus>(rows.integer(2));
    facts->command_fail_count = rows.int32(3);
    facts->command_last_error = rows.text(4);
    facts->command_next_send_at = rows.optional(5);
    facts->lane_running = rows.integer(6);
    facts->key_holder = rows.optional(7);
    facts->ahead = std::min(rows.integer(8), kAheadShown);
  });
  WAYBILL_TRY(status);
  if (!facts) return base::not_found("no such task");
  return *std::move(facts);
}

base::Result<TaskRow> SqlStore::lock_and_read(TaskId id) {
  std::optional<TaskRow> row;
  const auto status = writer_.run("lock_and_read", [&](Session& session) {
    row.reset();
    auto rows = session.run("task_read", id);
    if (rows.next()) row = read_task_row(rows);
  });
  WAYBILL_TRY(status);
  if (!row) return base::not_found("no such task");
  return *std::move(row);
}

}  // namespace waybill::store
