#include "api/task_view.h"

#include <algorithm>
#include <cmath>

namespace waybill::api {
namespace {

constexpr base::Millis kMinRateMs = 1'000;  // a rate over less than this says nothing

void write_time(base::JsonWriter& json, const ViewStyle& style, std::string_view name,
                const std::optional<base::Millis>& at) {
  json.key(name);
  if (at) {
    json.value(style.zone.iso(*at));
  } else {
    json.null();
  }
}

void write_text_or_null(base::JsonWriter& json, std::string_view name, std::string_view text) {
  json.key(name);
  if (text.empty()) {
    json.null();
  } else {
    json.value(text);
  }
}

std::string title_of(const ViewStyle& style, const std::string& type) {
  const registry::ExportType* const entry = style.registry.find_export(type);
  if (entry == nullptr) return type;
  const std::string& title =
      style.language == Language::kChinese ? entry->title_zh : entry->title_en;
  return title.empty() ? type : title;
}

// A retried task never shows the rows of the run before.
void write_progress(base::JsonWriter& json, const ViewStyle& style, const store::ExportRow& row) {
  const bool current = row.progress_version == row.task.dispatch_version;
  const std::int64_t processed = current ? row.processed_rows : 0;
  const auto total = current ? row.total_rows : std::nullopt;
  json.key("progress").begin_object().field("processed", processed);
  json.key("total");
  total ? json.value(*total) : json.null();
  std::optional<double> rate;
  if (row.task.status == core::TaskStatus::kRunning && row.task.started_at && processed > 0) {
    const base::Millis elapsed = style.now - *row.task.started_at;
    if (elapsed >= kMinRateMs)
      rate = static_cast<double>(processed) * 1000.0 / static_cast<double>(elapsed);
  }
  json.key("rowsPerSecond");
  rate ? json.value(static_cast<std::int64_t>(std::llround(*rate))) : json.null();
  json.key("etaSeconds");
  if (rate && total) {
    const auto left = static_cast<double>(std::max<std::int64_t>(0, *total - processed));
    json.value(static_cast<std::int64_t>(std::ceil(left / *rate)));
  } else {
    json.null();
  }
  json.end_object();
}

void write_failure(base::JsonWriter& json, const ViewStyle& style, const store::TaskRow& task) {
  json.key("failure");
  if (task.failure_class.empty()) {
    json.null();
    return;
  }
  json.begin_object().field("class", task.failure_class).field("message", task.failure_message);
  const bool retries = task.status == core::TaskStatus::kPending;
  write_time(json, style, "retryAt", retries ? std::optional(task.due_at) : std::nullopt);
  json.end_object();
}

void write_file(base::JsonWriter& json, const ViewStyle& style, const store::ExportRow& row) {
  json.key("file");
  const bool there = row.task.status == core::TaskStatus::kSucceeded &&
                     (!row.expires_at || *row.expires_at > style.now);
  if (!there) {
    json.null();
    return;
  }
  json.begin_object().field("name", row.file_name).field("size", row.size_bytes);
  json.field("sha256", row.sha256).field("contentType", row.content_type).end_object();
}

void write_attempt(base::JsonWriter& json, const ViewStyle& style,
                   const store::AttemptRow& attempt) {
  json.begin_object().field("dispatchVersion", static_cast<std::int64_t>(attempt.dispatch_version));
  write_time(json, style, "startedAt", attempt.started_at);
  write_time(json, style, "endedAt",
             attempt.ended_at > 0 ? std::optional(attempt.ended_at) : std::nullopt);
  json.field("instance", attempt.instance).field("outcome", attempt.outcome);
  write_text_or_null(json, "message", attempt.failure_message);
  json.end_object();
}

// The earlier attempts have rows of their own; the latest is the task itself.
void write_attempts(base::JsonWriter& json, const ViewStyle& style, const store::TaskRow& task,
                    std::span<const store::AttemptRow> earlier) {
  json.key("attempts").begin_array();
  bool latest_has_row = false;
  for (const store::AttemptRow& attempt : earlier) {
    write_attempt(json, style, attempt);
    latest_has_row = latest_has_row || attempt.dispatch_version == task.dispatch_version;
  }
  const bool began = task.started_at && task.status != core::TaskStatus::kPending;
  if (began && !latest_has_row) {
    store::AttemptRow latest;
    latest.dispatch_version = task.dispatch_version;
    latest.started_at = task.started_at;
    latest.ended_at = task.completed_at.value_or(0);
    latest.instance = task.lease_owner;
    latest.outcome = std::string(to_string(task.status));
    latest.failure_message = task.failure_message;
    write_attempt(json, style, latest);
  }
  json.end_array();
}

void write_waiting(base::JsonWriter& json, const ViewStyle& style,
                   const std::optional<core::WaitingFor>& waiting) {
  json.key("waitingFor");
  if (!waiting) {
    json.null();
    return;
  }
  json.begin_object().field("code", to_string(waiting->code));
  json.field("message",
             style.language == Language::kChinese ? waiting->message_zh : waiting->message_en);
  write_time(json, style, "until", waiting->until);
  json.key("ahead");
  waiting->ahead ? json.value(*waiting->ahead) : json.null();
  json.end_object();
}

}  // namespace

void write_task(base::JsonWriter& json, const ViewStyle& style, const store::ExportRow& row,
                const TaskExtras* extras) {
  const store::TaskRow& task = row.task;
  json.begin_object();
  json.key("id").id(task.id);
  json.field("exportType", task.type).field("title", title_of(style, task.type));
  json.field("format", row.format).field("taskName", row.task_name);
  json.field("status", to_string(task.status)).field("priority", core::level_name(task.priority));
  json.field("requestedBy", task.requested_by);
  write_time(json, style, "requestedAt", task.requested_at);
  write_time(json, style, "startedAt", task.started_at);
  write_time(json, style, "completedAt", task.completed_at);
  write_time(json, style, "expiresAt", row.expires_at);
  json.field("attempt", static_cast<std::int64_t>(task.attempt_count));
  json.field("maxAttempts", static_cast<std::int64_t>(task.max_attempts));
  json.field("dispatchVersion", static_cast<std::int64_t>(task.dispatch_version));
  json.field("cancelRequested", task.cancel_requested);
  write_progress(json, style, row);
  write_failure(json, style, task);
  write_file(json, style, row);
  if (extras != nullptr) {
    write_waiting(json, style, extras->waiting_for);
    write_attempts(json, style, task, extras->attempts);
    json.key("receipt");
    row.receipt_json.empty() ? json.null() : json.raw(row.receipt_json);
    json.field("deduplicated", extras->deduplicated);
  }
  json.end_object();
}

bool needs_waiting_facts(core::TaskStatus status) {
  return status == core::TaskStatus::kPending || status == core::TaskStatus::kBlocked;
}

std::optional<core::WaitingFor> waiting_for_row(const store::ExportRow& row,
                                                const store::WaitingFacts& facts,
                                                const registry::Snapshot& registry,
                                                const base::TimeZone& zone) {
  core::WaitFacts all;
  all.status = row.task.status;
  all.now = facts.now;
  all.due_at = row.task.due_at;
  all.unknown_type = registry.find_export(row.task.type) == nullptr;
  all.lane_paused = facts.lane_paused;
  all.has_command = facts.has_command;
  all.command_status = facts.command_status;
  all.command_fail_count = facts.command_fail_count;
  all.command_next_send_at = facts.command_next_send_at;
  all.ahead = facts.ahead;
  all.ahead_shown = store::kAheadShown;
  all.key_holder = facts.key_holder;
  all.lease_owner = row.task.lease_owner;
  all.lease_until = row.task.lease_until;
  return core::waiting_for(all, zone);
}

}  // namespace waybill::api
