// GET /files/export-tasks and /files/export-tasks/{id}

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "api/context.h"
#include "api/task_view.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "core/validate.h"

namespace waybill::api {
namespace {

constexpr std::int64_t kDefaultLimit = 20;  // items of one page
constexpr std::int64_t kMaxLimit = 100;
constexpr std::array<std::string_view, 8> kFilters{"status", "type", "requestedBy", "text",
                                                   "from",   "to",   "cursor",      "limit"};

base::Result<std::optional<base::Millis>> time_filter(const http::Request& request,
                                                      const std::string& name) {
  const auto text = request.query_value(name);
  if (!text) return std::optional<base::Millis>();
  const auto at = base::parse_iso(*text);
  if (!at.ok()) return base::invalid(name, "a time looks like 2026-11-30T14:23:59+08:00");
  return std::optional(*at);
}

// A filter that is misspelt or given twice would silently show the wrong list.
base::Status check_filters(const http::Request& request) {
  std::set<std::string_view> seen;
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(kFilters, name) == kFilters.end()) {
      base::Error error =
          base::invalid(base::printable(name, core::kMaxTypeLength), "there is no such filter");
      error.code = "UNKNOWN_FIELD";
      return error;
    }
    if (!seen.insert(name).second)
      return base::invalid(name, "the filter " + name + " is given twice");
  }
  return {};
}

base::Result<std::int64_t> page_size(const http::Request& request) {
  const auto text = request.query_value("limit");
  if (!text) return kDefaultLimit;
  const auto number = base::parse_int(*text);
  if (!number || *number < 1)
    return base::invalid("limit", "limit is a whole number from 1 to 100");
  if (*number > kMaxLimit) {
    return base::over_limit("limit", kMaxLimit, "items", *number, "a page has at most 100 items");
  }
  return *number;
}

base::Status read_texts(const Call& call, store::ListExports& list) {
  const http::Request& request = call.request;
  if (const auto word = request.query_value("status")) {
    list.status = core::parse_task_status(*word);
    if (!list.status) return base::invalid("status", "there is no such status");
  }
  if (const auto type = request.query_value("type")) {
    if (!core::valid_type(*type))
      return base::invalid("type", "this cannot be the name of an export type");
    list.type = std::string(*type);
  }
  if (const auto text = request.query_value("text"); text && !text->empty()) {
    WAYBILL_TRY(core::check_text("text", *text, core::kMaxTaskNameLength));
    list.name_contains = std::string(*text);
  }
  const auto user = request.query_value("requestedBy");
  if (!user) return {};
  WAYBILL_TRY(core::check_text("requestedBy", *user, core::kMaxRequestedByLength));
  if (*user != call.who.user) WAYBILL_TRY(require(call, kAllPermission));
  list.scope.requested_by = std::string(*user);
  return {};
}

base::Result<store::ListExports> read_list(const Call& call) {
  WAYBILL_TRY(check_filters(call.request));
  store::ListExports list;
  list.scope = visible_scope(call.who);
  WAYBILL_TRY(read_texts(call, list));
  WAYBILL_ASSIGN(list.created_from, time_filter(call.request, "from"));
  WAYBILL_ASSIGN(list.created_to, time_filter(call.request, "to"));
  WAYBILL_ASSIGN(list.limit, page_size(call.request));
  if (const auto cursor = call.request.query_value("cursor")) {
    list.before = base::parse_int(*cursor);
    if (!list.before || *list.before < 1)
      return base::invalid("cursor", "cursor is not the nextCursor of a page");
  }
  return list;
}

}  // namespace

base::Result<std::string> detail_of(Context& context, const Call& call, const store::ExportRow& row,
                                    bool deduplicated) {
  const auto snapshot = context.deps.registry.current();
  const ViewStyle style{call.language, context.settings.time_zone, *snapshot,
                        context.deps.clock.wall_ms()};
  // What stands around the task is told if it can be read; the task itself is the answer.
  auto attempts = context.deps.tasks.attempts(row.task.id);
  store::WaitingFacts facts;
  facts.now = style.now;
  bool known = true;
  if (needs_waiting_facts(row.task.status)) {
    auto read = context.deps.tasks.waiting_facts(row.task.id);
    known = read.ok();
    if (known) facts = std::move(read).value();
  }
  TaskExtras extras;
  if (attempts.ok()) extras.attempts = *attempts;
  if (known)
    extras.waiting_for = waiting_for_row(row, facts, *snapshot, context.settings.time_zone);
  extras.deduplicated = deduplicated;
  base::JsonWriter json;
  write_task(json, style, row, &extras);
  return json.take();
}

base::Result<http::Response> get_export(Context& context, const Call& call) {
  WAYBILL_TRY(require(call, kListPermission));
  WAYBILL_ASSIGN(const core::TaskId id, path_id(call));
  WAYBILL_ASSIGN(const store::ExportRow row,
                 context.deps.tasks.find_export(id, visible_scope(call.who)));
  WAYBILL_ASSIGN(const std::string detail, detail_of(context, call, row));
  return success(call.request, detail);
}

base::Result<http::Response> list_exports(Context& context, const Call& call) {
  WAYBILL_TRY(require(call, kListPermission));
  WAYBILL_ASSIGN(const store::ListExports list, read_list(call));
  WAYBILL_ASSIGN(const store::ExportPage page, context.deps.tasks.list_exports(list));
  const auto snapshot = context.deps.registry.current();
  const ViewStyle style{call.language, context.settings.time_zone, *snapshot,
                        context.deps.clock.wall_ms()};
  base::JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (const store::ExportRow& row : page.rows) write_task(json, style, row, nullptr);
  json.end_array().key("nextCursor");
  page.older ? json.id(*page.older) : json.null();
  json.end_object();
  return success(call.request, json.text());
}

}  // namespace waybill::api
