#include "store/fields.h"

#include "base/text.h"

namespace waybill::store {

namespace {

base::Error out_of_range(std::string field, std::string limit, std::int64_t actual) {
  base::Error error = base::invalid(field, field + " must be " + limit);
  error.limit = std::move(limit);
  error.actual = std::to_string(actual);
  return error;
}

}  // namespace

base::Status check_text(std::string_view field, std::string_view text, std::size_t most,
                        bool required) {
  const std::string name(field);
  if (required && text.empty()) return base::invalid(name, name + " is missing");
  if (!base::is_utf8(text) || text.find('\0') != std::string_view::npos) {
    return base::invalid(name, name + " is not valid UTF-8 text");
  }
  // A character has at most four bytes, so most texts need no counting.
  if (text.size() <= most) return {};
  const std::size_t length = base::utf8_length(text);
  if (length <= most) return {};
  base::Error error =
      base::invalid(name, name + " has more than " + std::to_string(most) + " characters");
  error.limit = std::to_string(most);
  error.unit = "characters";
  error.actual = std::to_string(length);
  return error;
}

base::Status check_task(const NewTask& task) {
  WAYBILL_TRY(check_text("type", task.type, kMaxType, true));
  WAYBILL_TRY(check_text("lane", task.lane, kMaxLane, true));
  WAYBILL_TRY(check_text("tenantId", task.tenant_id, kMaxTenant));
  WAYBILL_TRY(check_text("appCode", task.app_code, kMaxApp));
  WAYBILL_TRY(check_text("requestedBy", task.requested_by, kMaxUser));
  WAYBILL_TRY(check_text("traceId", task.trace_id, kMaxTrace));
  if (task.serial_key) WAYBILL_TRY(check_text("serialKey", *task.serial_key, kMaxSerialKey, true));
  if (task.priority < 0 || task.priority >= core::kLevels)
    return out_of_range("priority", "0..3", task.priority);
  if (task.max_attempts < 1) return out_of_range("maxAttempts", "at least 1", task.max_attempts);
  if (task.max_duration_ms < 1)
    return out_of_range("maxDurationMs", "at least 1", task.max_duration_ms);
  return {};
}

base::Status check_export(const CreateExport& request) {
  WAYBILL_TRY(check_task(request.task));
  WAYBILL_TRY(check_text("taskName", request.task_name, kMaxTaskName));
  WAYBILL_TRY(check_text("format", request.format, kMaxFormat, true));
  WAYBILL_TRY(check_text("parametersHash", request.parameters_hash, kMaxHash));
  WAYBILL_TRY(check_text("requestHash", request.request_hash, kMaxHash));
  WAYBILL_TRY(check_text("idempotencyKey", request.idempotency_key, kMaxIdempotencyKey));
  if (!base::is_utf8(request.parameters_json)) {
    return base::invalid("parameters", "parameters is not valid UTF-8 text");
  }
  return {};
}

base::Status check_result(const ExportResult& result) {
  WAYBILL_TRY(check_text("objectKey", result.object_key, kMaxObjectKey));
  WAYBILL_TRY(check_text("storageId", result.storage_id, kMaxStorageId));
  WAYBILL_TRY(check_text("fileName", result.file_name, kMaxFileName));
  WAYBILL_TRY(check_text("contentType", result.content_type, kMaxContentType));
  return check_text("sha256", result.sha256, kMaxHash);
}

base::Status check_owner(std::string_view owner) {
  return check_text("owner", owner, kMaxOwner, true);
}

base::Status check_batch(std::size_t size) {
  if (size <= kMaxBatch) return {};
  return base::over_limit("batch", static_cast<std::int64_t>(kMaxBatch), "elements",
                          static_cast<std::int64_t>(size),
                          "a batch has at most " + std::to_string(kMaxBatch) + " elements");
}

}  // namespace waybill::store
