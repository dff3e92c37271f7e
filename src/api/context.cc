#include "api/context.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace waybill::api {
namespace {

constexpr std::size_t kMaxIdDigits = 19;  // of a 64-bit number

base::Error denied(std::string message) {
  base::Error error = base::denied(std::move(message));
  error.code = "FORBIDDEN";
  return error;
}

void log_failure(const http::Request& request, const base::Error& error) {
  const bool ours = error.category == base::ErrorCategory::kInternal;
  const bool away =
      base::is_transient(error.category) || error.category == base::ErrorCategory::kOutcomeUnknown;
  if (!ours && !away) return;
  base::log(ours ? base::LogLevel::kError : base::LogLevel::kWarn, "request_failed",
            {{"requestId", request.request_id},
             {"path", request.path},
             {"category", base::to_string(error.category)},
             {"error", error.message}});
}

}  // namespace

Context::Context(const ApiDeps& d, const ApiSettings& s)
    : deps(d),
      settings(s),
      limiter(s.requests_per_user_per_second, s.requests_burst),
      watch(deps.tasks, deps.registry, deps.clock, settings) {}

http::Handler make_handler(std::shared_ptr<Context> context, RouteKind kind, Resource resource) {
  return [context = std::move(context), kind,
          resource = std::move(resource)](const http::Request& request) {
    const bool real_status =
        kind == RouteKind::kFile || context->settings.http_status == HttpStatusMode::kRest;
    const auto who = context->deps.authenticator.authenticate(request);
    if (!who.ok()) {
      base::log(base::LogLevel::kAudit, "login_refused",
                {{"requestId", request.request_id},
                 {"path", request.path},
                 {"address", request.remote_address},
                 {"reason", who.error().message}});
      return failure(request, who.error(), real_status);
    }
    if (!context->limiter.take(who->tenant + '\n' + who->user, context->deps.clock.boot_ms())) {
      base::Error error = base::unavailable("");
      error.code = "RATE_LIMITED";
      return failure(request, error, real_status);
    }
    const Call call{request, *who, language_of(request)};
    auto response = resource(*context, call);
    if (response.ok()) return std::move(response).value();
    log_failure(request, response.error());
    return failure(request, response.error(), real_status);
  };
}

store::Scope own_scope(const Identity& who) { return {who.tenant, who.app_code, who.user}; }

store::Scope visible_scope(const Identity& who) {
  store::Scope scope = own_scope(who);
  if (who.may(kAllPermission)) scope.requested_by.reset();
  return scope;
}

base::Status require(const Call& call, std::string_view permission) {
  if (call.who.may(permission)) return {};
  audit(call, "permission_refused", {{"permission", permission}, {"path", call.request.path}});
  return denied("the permission " + std::string(permission) + " is needed");
}

base::Status require_type(const Call& call, const registry::ExportType& type) {
  if (call.who.access_domain != type.app_scope) {
    audit(call, "permission_refused", {{"type", type.key}, {"reason", "access domain"}});
    return denied("this export belongs to the access domain " +
                  std::string(to_string(type.app_scope)));
  }
  WAYBILL_TRY(require(call, type.required_permission));
  if (type.enabled) return {};
  base::Error error = base::denied("the export type is disabled");
  error.code = "TYPE_DISABLED";
  error.actual = type.key;
  return error;
}

base::Result<core::TaskId> path_id(const Call& call) {
  const std::string& text = call.request.path_values.at("id");
  const bool digits = text.size() <= kMaxIdDigits && text.front() != '0' &&
                      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const auto id = digits ? base::parse_int(text) : std::nullopt;
  if (!id) return base::invalid("id", "an id is a whole number from 1 to 9223372036854775807");
  return *id;
}

void audit(const Call& call, std::string_view event, std::initializer_list<base::LogField> fields) {
  std::vector<base::LogField> all{{"requestId", call.request.request_id},
                                  {"tenantId", call.who.tenant},
                                  {"appCode", call.who.app_code},
                                  {"user", call.who.user},
                                  {"address", call.request.remote_address}};
  all.insert(all.end(), fields.begin(), fields.end());
  base::log(base::LogLevel::kAudit, event, all);
}

}  // namespace waybill::api
