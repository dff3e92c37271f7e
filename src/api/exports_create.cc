// POST /files/export-tasks

#include <algorithm>
#include <array>
#include <utility>

#include "api/context.h"
#include "api/json_reader.h"
#include "base/json_writer.h"
#include "base/sha256.h"
#include "base/text.h"
#include "core/validate.h"

namespace waybill::api {
namespace {

constexpr std::array<std::string_view, 5> kFields{"exportType", "format", "taskName", "parameters",
                                                  "priority"};
constexpr std::string_view kFormat = "XLSX";
constexpr int kCreateTries = 4;           // of a create whose commit was not answered
constexpr std::size_t kShownLength = 64;  // characters of what was sent, in an answer

// What the body asks for, checked.
struct Wish {
  const registry::ExportType* type = nullptr;
  std::string task_name;
  core::Level priority = 2;
  registry::NormalisedParameters parameters;
};

base::Error refused(std::string code, std::string field, std::string message,
                    std::string_view actual = {}) {
  base::Error error = base::invalid(std::move(field), std::move(message));
  error.code = std::move(code);
  error.actual = base::printable(actual, kShownLength);
  return error;
}

bool is_json(std::string_view content_type) {
  std::string type(base::trim(content_type.substr(0, content_type.find(';'))));
  std::ranges::transform(type, type.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return type == "application/json";
}

// A text field's value; empty when it is absent.
base::Result<std::string> text_field(const std::vector<JsonField>& body, std::string_view name) {
  const JsonField* const field = find_field(body, name);
  if (field == nullptr) return std::string();
  if (field->kind != JsonKind::kString) {
    return base::invalid(std::string(name), std::string(name) + " must be a string");
  }
  return field->text;
}

base::Result<std::vector<JsonField>> read_body(const Call& call) {
  if (!is_json(call.request.header("content-type"))) {
    return refused("UNSUPPORTED_MEDIA_TYPE", "", "the content type is not application/json");
  }
  auto body = read_json_object(call.request.body);
  if (!body.ok()) return body;
  for (const JsonField& field : *body) {
    if (std::ranges::find(kFields, field.key) == kFields.end()) {
      return refused("UNKNOWN_FIELD", base::printable(field.key, kShownLength),
                     "this field is not accepted");
    }
  }
  return body;
}

base::Result<const registry::ExportType*> read_type(const Call& call,
                                                    const registry::Snapshot& snapshot,
                                                    const std::vector<JsonField>& body) {
  WAYBILL_ASSIGN(const std::string key, text_field(body, "exportType"));
  if (key.empty()) return base::invalid("exportType", "exportType is missing");
  const registry::ExportType* const type = snapshot.find_export(key);
  if (type == nullptr)
    return refused("UNKNOWN_TYPE", "exportType", "there is no such export type", key);
  WAYBILL_TRY(require_type(call, *type));
  return type;
}

base::Status check_format(const std::vector<JsonField>& body) {
  const JsonField* const format = find_field(body, "format");
  if (format == nullptr) return {};
  if (format->kind == JsonKind::kString && format->text == kFormat) return {};
  return refused("UNKNOWN_FORMAT", "format", "only XLSX is offered", format->text);
}

// Everybody may wait longer; going ahead of others is a permission.
base::Result<core::Level> read_priority(const Call& call, const registry::ExportType& type,
                                        const std::vector<JsonField>& body) {
  if (find_field(body, "priority") == nullptr) return type.priority;
  WAYBILL_ASSIGN(const std::string word, text_field(body, "priority"));
  const auto level = core::parse_level(word);
  if (!level) return base::invalid("priority", "priority must be P0, P1, P2 or P3");
  if (*level < type.priority) WAYBILL_TRY(require(call, kPrioritizePermission));
  return *level;
}

base::Result<std::string> read_task_name(const Call& call, const registry::ExportType& type,
                                         const std::vector<JsonField>& body) {
  if (find_field(body, "taskName") == nullptr) {
    const std::string& title = call.language == Language::kChinese ? type.title_zh : type.title_en;
    return title.empty() ? type.key
                         : std::string(base::utf8_prefix(title, core::kMaxTaskNameLength));
  }
  WAYBILL_ASSIGN(std::string name, text_field(body, "taskName"));
  WAYBILL_TRY(core::check_task_name(name));
  return name;
}

base::Result<Wish> read_wish(const Call& call, const registry::Snapshot& snapshot) {
  WAYBILL_ASSIGN(const std::vector<JsonField> body, read_body(call));
  Wish wish;
  WAYBILL_ASSIGN(wish.type, read_type(call, snapshot, body));
  WAYBILL_TRY(check_format(body));
  WAYBILL_ASSIGN(wish.task_name, read_task_name(call, *wish.type, body));
  WAYBILL_ASSIGN(wish.priority, read_priority(call, *wish.type, body));
  const JsonField* const parameters = find_field(body, "parameters");
  if (parameters != nullptr && parameters->kind != JsonKind::kObject) {
    return base::invalid("parameters", "parameters must be an object");
  }
  WAYBILL_ASSIGN(wish.parameters, registry::normalise_parameters(
                                      *wish.type, parameters == nullptr ? "{}" : parameters->text));
  return wish;
}

// Without a key of the caller's, one of our own, so that a create whose answer was lost can be
// asked for again. It has a blank, which a caller's key cannot have.
base::Result<std::string> idempotency_key(Context& context, const Call& call) {
  const std::string_view given = call.request.header("idempotency-key");
  if (given.empty()) return "own " + base::make_uuid(context.deps.random);
  WAYBILL_TRY(core::check_idempotency_key(given));
  return std::string(given);
}

store::CreateExport make_request(const Context& context, const Call& call, const Wish& wish,
                                 std::string key) {
  const registry::ExportType& type = *wish.type;
  store::CreateExport request;
  request.task.kind = core::TaskKind::kExport;
  request.task.type = type.key;
  request.task.lane = type.lane;
  request.task.priority = wish.priority;
  request.task.tenant_id = call.who.tenant;
  request.task.app_code = call.who.app_code;
  request.task.requested_by = call.who.user;
  request.task.max_attempts = type.max_attempts;
  request.task.max_duration_ms = type.max_duration_ms;
  request.task.trace_id = call.request.request_id;
  request.task_name = wish.task_name;
  request.format = std::string(kFormat);
  request.parameters_json = wish.parameters.json;
  request.parameters_hash = wish.parameters.hash;
  request.idempotency_key = std::move(key);
  request.request_hash =
      base::sha256_hex(type.key + '\n' + wish.task_name + '\n' +
                       std::string(core::level_name(wish.priority)) + '\n' + wish.parameters.hash);
  request.limits = context.settings.limits;
  return request;
}

// The key makes the same request again either find what the lost commit made, or make it now.
base::Result<store::Created> create_surely(Context& context, const store::CreateExport& request) {
  for (int tried = 1;; ++tried) {
    auto created = context.deps.tasks.create_export(request);
    if (created.ok()) {
      const bool own_key = request.idempotency_key.find(' ') != std::string::npos;
      if (tried > 1 && own_key) created->deduplicated = false;
      return created;
    }
    if (created.error().category != base::ErrorCategory::kOutcomeUnknown || tried == kCreateTries)
      return created;
  }
}

// The task as it was just written, for the rare case that it cannot be read back: it exists, and
// that is the answer.
store::ExportRow as_written(const Context& context, const store::CreateExport& request,
                            core::TaskId id) {
  store::ExportRow row;
  row.task.id = id;
  row.task.type = request.task.type;
  row.task.priority = request.task.priority;
  row.task.requested_by = request.task.requested_by;
  row.task.max_attempts = request.task.max_attempts;
  row.task.requested_at = row.task.due_at = context.deps.clock.wall_ms();
  row.task_name = request.task_name;
  row.format = request.format;
  row.progress_version = row.task.dispatch_version;
  return row;
}

}  // namespace

base::Result<http::Response> create_export(Context& context, const Call& call) {
  const auto snapshot = context.deps.registry.current();
  WAYBILL_ASSIGN(const Wish wish, read_wish(call, *snapshot));
  WAYBILL_ASSIGN(std::string key, idempotency_key(context, call));
  const store::CreateExport request = make_request(context, call, wish, std::move(key));
  WAYBILL_ASSIGN(const store::Created created, create_surely(context, request));
  audit(call, "export_created",
        {{"taskId", created.id},
         {"type", request.task.type},
         {"deduplicated", created.deduplicated}});
  auto row = context.deps.tasks.find_export(created.id, own_scope(call.who));
  if (!row.ok()) row = as_written(context, request, created.id);
  auto detail = detail_of(context, call, *row, created.deduplicated);
  if (!detail.ok()) return std::move(detail).error();
  return success(call.request, *detail);
}

}  // namespace waybill::api
