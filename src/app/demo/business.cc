#include "app/demo/business.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <optional>

#include "app/demo/rows.h"
#include "base/json_writer.h"
#include "base/sha256.h"
#include "base/text.h"

namespace waybill::app::demo {

struct BusinessService::Call {
  std::string type, task_id, tenant, app_code;
  boost::json::object parameters;
  std::optional<std::string> cursor, snapshot;
  std::int64_t limit = 0;
};

namespace {

constexpr std::int64_t kDefaultOrders = 10'000;
constexpr std::int64_t kReportRows = 1'000;

http::Response json_response(int status, std::string body) {
  http::Response response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

http::Response refusal(int status, std::string_view code, std::string_view message) {
  base::JsonWriter json;
  json.begin_object().field("code", code).field("message", message).key("data").null().end_object();
  return json_response(status, json.take());
}

std::optional<std::string> text_of(const boost::json::object& object, std::string_view key) {
  const auto* value = object.if_contains({key.data(), key.size()});
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->as_string());
}

Table table_of(std::string_view type) {
  if (type == "CUSTOMER_LIST") return Table::kCustomers;
  return type == "ORDER_LIST" ? Table::kOrders : Table::kReport;
}

std::int64_t rows_of(std::string_view type, const boost::json::object& parameters) {
  if (type == "CUSTOMER_LIST") return kCustomers;
  if (type == "SLOW_REPORT") return kSlowRows;
  if (type != "ORDER_LIST") return kReportRows;
  const auto* rows = parameters.if_contains("rows");
  return rows != nullptr && rows->is_int64()
             ? std::clamp<std::int64_t>(rows->as_int64(), 1, kMaxOrders)
             : kDefaultOrders;
}

}  // namespace

BusinessService::BusinessService(std::string token, std::vector<std::string> tenants)
    : token_(std::move(token)), tenants_(std::move(tenants)) {}

std::vector<http::Route> BusinessService::routes() {
  return {{.method = "POST",
           .pattern = "/internal/exports/v1/{type}/batches",
           .handler = [this](const http::Request& request) { return answer(request); }}};
}

void BusinessService::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  stopped_condition_.notify_all();
}

http::Response BusinessService::answer(const http::Request& request) {
  if (!base::equal_constant_time(request.header("x-internal-service-token"), token_)) {
    return refusal(401, "UNAUTHENTICATED", "the service token is missing or wrong");
  }
  boost::system::error_code error;
  const boost::json::value body = boost::json::parse(request.body, error);
  if (error || !body.is_object()) return refusal(400, "MALFORMED", "the body is not a JSON object");
  const boost::json::object& object = body.as_object();

  Call call;
  const auto type = request.path_values.find("type");
  if (type != request.path_values.end()) call.type = type->second;
  for (const auto& [key, member] :
       {std::pair<std::string_view, std::string*>{"taskId", &call.task_id},
        {"tenantId", &call.tenant},
        {"appCode", &call.app_code}}) {
    *member = text_of(object, key).value_or("");
    if (member->empty()) return refusal(400, "MALFORMED", std::string(key) + " is required");
  }
  if (text_of(object, "requestedBy").value_or("").empty())
    return refusal(400, "MALFORMED", "requestedBy is required");
  const auto* limit = object.if_contains("limit");
  if (limit == nullptr || !limit->is_int64() || limit->as_int64() < 1 ||
      limit->as_int64() > static_cast<std::int64_t>(kMaxPageRows)) {
    return refusal(400, "MALFORMED", "limit must be between 1 and " + std::to_string(kMaxPageRows));
  }
  call.limit = limit->as_int64();
  call.cursor = text_of(object, "cursor");
  call.snapshot = text_of(object, "snapshotToken");
  if (const auto* parameters = object.if_contains("parameters");
      parameters != nullptr && parameters->is_object()) {
    call.parameters = parameters->as_object();
  }
  return page(call);
}

bool BusinessService::flaky_fails(const std::string& task_id) {
  const std::lock_guard lock(mutex_);
  if (flaky_.size() >= kMaxFlakyTasks && !flaky_.contains(task_id)) flaky_.erase(flaky_.begin());
  return ++flaky_[task_id] <= kFlakyFailures;
}

// A signed upper bound: rows that appear later have larger ids and stay out.
std::string BusinessService::snapshot_token(const Call& call, std::int64_t upper) const {
  const std::string bound = std::to_string(upper);
  const std::string signature = base::sha256_hex(token_ + '\n' + call.type + '\n' + call.tenant +
                                                 '\n' + call.app_code + '\n' + bound);
  return bound + "." + signature.substr(0, 32);
}

http::Response BusinessService::page(const Call& call) {
  static constexpr std::array<std::string_view, 6> kTypes{"CUSTOMER_LIST", "ORDER_LIST",
                                                          "SLOW_REPORT",   "FLAKY_REPORT",
                                                          "BROKEN_REPORT", "DISABLED_REPORT"};
  if (std::find(kTypes.begin(), kTypes.end(), call.type) == kTypes.end()) {
    return refusal(404, "UNKNOWN_TYPE", "this service has no such export");
  }
  if (call.type == "BROKEN_REPORT") {
    return refusal(200, "REPORT_BROKEN",
                   "the source table of this report is being rebuilt, please ask its owners");
  }
  if (call.type == "FLAKY_REPORT" && flaky_fails(call.task_id)) {
    return refusal(503, "BUSY", "the report service is busy");
  }
  if (call.type == "SLOW_REPORT") {
    std::unique_lock lock(mutex_);
    stopped_condition_.wait_for(lock, std::chrono::milliseconds(kSlowPageMs),
                                [this] { return stopped_; });
    if (stopped_) return refusal(503, "STOPPING", "the service is stopping");
  }

  const bool ours = std::find(tenants_.begin(), tenants_.end(), call.tenant) != tenants_.end();
  const std::int64_t upper = ours ? rows_of(call.type, call.parameters) : 0;
  const std::string snapshot = snapshot_token(call, upper);
  if (call.snapshot && !base::equal_constant_time(*call.snapshot, snapshot)) {
    return refusal(200, "SNAPSHOT_INVALID", "the snapshot token is not one of this export");
  }
  std::int64_t id = 0;
  if (call.cursor) {
    const auto after = base::parse_int(*call.cursor);
    if (!after || *after < 0 || *after > upper)
      return refusal(200, "CURSOR_INVALID", "the cursor is not one of this export");
    id = *after;
  }

  const Table table = table_of(call.type);
  const std::uint64_t seed = tenant_seed(call.tenant, call.app_code);
  const auto status = table == Table::kOrders ? text_of(call.parameters, "status") : std::nullopt;
  std::string out;
  out.reserve(static_cast<std::size_t>(call.limit) * 600 + 4'096);
  out += R"({"code":"200","message":"ok","data":{"schemaVersion":1,"schemaHash":")";
  out += base::sha256_hex(columns_json(table)).substr(0, 16);
  out += R"(","snapshotToken":")" + snapshot + R"(","columns":)";
  out += columns_json(table);
  out += R"(,"rows":[)";
  std::int64_t rows = 0;
  while (id < upper && rows < call.limit) {
    ++id;
    if (status && order_status(seed, id) != *status) continue;
    if (rows++ > 0) out += ',';
    append_row(out, table, seed, id);
  }
  out += R"(],"nextCursor":)";
  out += id < upper ? '"' + std::to_string(id) + '"' : "null";
  out += id < upper ? R"(,"hasMore":true)" : R"(,"hasMore":false)";
  out += R"(,"totalRows":)" + std::to_string(status ? upper / 5 : upper) + "}}";
  return json_response(200, std::move(out));
}

std::string_view registry_yaml() {
  return R"(# The export types of the demo. Change it while the demo runs: it is read again within seconds.
definitions:
  CUSTOMER_LIST:
    title: {zh: 客户列表, en: Customers}
    provider_service: demo-service
    provider_path: /internal/exports/v1/CUSTOMER_LIST/batches
    required_permission: platform:customer:export
    app_scope: PLATFORM
    enabled: true
    max_rows: 200000
    batch_size: 1000
    parameters: {}
  ORDER_LIST:
    title: {zh: 订单列表, en: Orders}
    provider_service: demo-service
    provider_path: /internal/exports/v1/ORDER_LIST/batches
    required_permission: platform:order:export
    app_scope: PLATFORM
    enabled: true
    max_rows: 500000
    batch_size: 1000
    max_file_mib: 200
    parameters:
      type: object
      properties:
        rows:
          type: integer
          title: {zh: 行数, en: Rows}
          minimum: 1
          maximum: 500000
          default: 10000
        status:
          type: string
          title: {zh: 状态, en: Status}
          enum: [PENDING, PAID, SHIPPED, DELIVERED, RETURNED]
  SLOW_REPORT:
    title: {zh: 慢速报表, en: Slow report}
    provider_service: demo-service
    provider_path: /internal/exports/v1/SLOW_REPORT/batches
    required_permission: platform:report:export
    app_scope: PLATFORM
    enabled: true
    batch_size: 200
    priority: P3
    parameters: {}
  FLAKY_REPORT:
    title: {zh: 不稳定报表, en: Flaky report}
    provider_service: demo-service
    provider_path: /internal/exports/v1/FLAKY_REPORT/batches
    required_permission: platform:report:export
    app_scope: PLATFORM
    enabled: true
    parameters: {}
  BROKEN_REPORT:
    title: {zh: 损坏报表, en: Broken report}
    provider_service: demo-service
    provider_path: /internal/exports/v1/BROKEN_REPORT/batches
    required_permission: platform:report:export
    app_scope: PLATFORM
    enabled: true
    parameters: {}
  DISABLED_REPORT:
    title: {zh: 停用报表, en: Disabled report}
    provider_service: demo-service
    provider_path: /internal/exports/v1/DISABLED_REPORT/batches
    required_permission: platform:report:export
    app_scope: PLATFORM
    enabled: false
    parameters: {}
...
)";
}

}  // namespace waybill::app::demo
