// What all resources share: who calls, what they may see, how a failure is answered. Internal to
// api/.

#ifndef WAYBILL_API_CONTEXT_H_
#define WAYBILL_API_CONTEXT_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "api/envelope.h"
#include "api/export_watch.h"
#include "api/rate_limiter.h"
#include "base/log.h"
#include "core/task.h"

namespace waybill::api {

// One request by somebody who proved who they are.
struct Call {
  const http::Request& request;
  const Identity& who;
  Language language;
};

// One per process; shared by all handlers. Thread-safe.
struct Context {
  Context(const ApiDeps& d, const ApiSettings& s);
  const ApiDeps deps;
  const ApiSettings settings;
  RateLimiter limiter;
  ExportWatch watch;
};

using Resource = std::function<base::Result<http::Response>(Context&, const Call&)>;
// kBusiness: failures are HTTP 200 in platform mode. kFile: always the real status.
enum class RouteKind : std::uint8_t { kBusiness, kFile };

// A handler that authenticates, limits the user's rate, calls `resource` and turns an error into
// its answer.
http::Handler make_handler(std::shared_ptr<Context> context, RouteKind kind, Resource resource);

// Own tasks; with platform:download:all everybody's of the same tenant and app code, never further.
store::Scope visible_scope(const Identity& who);
store::Scope own_scope(const Identity& who);

// kDenied, and an audit line, without the permission.
base::Status require(const Call& call, std::string_view permission);
// What creating and retrying an export asks for. kDenied (code FORBIDDEN or TYPE_DISABLED), and an
// audit line.
base::Status require_type(const Call& call, const registry::ExportType& type);

// The path's {id}. kInvalid (field "id") for everything but a positive 64-bit number in plain
// digits.
base::Result<core::TaskId> path_id(const Call& call);

// A line that says who did what. Never pass tokens, parameters or file contents.
void audit(const Call& call, std::string_view event, std::initializer_list<base::LogField> fields);

// The whole of a task as its users see it. `deduplicated` is told to whoever created it.
base::Result<std::string> detail_of(Context& context, const Call& call, const store::ExportRow& row,
                                    bool deduplicated = false);

// The resources, one file each.
base::Result<http::Response> create_export(Context& context, const Call& call);
base::Result<http::Response> list_exports(Context& context, const Call& call);
base::Result<http::Response> get_export(Context& context, const Call& call);
base::Result<http::Response> retry_export(Context& context, const Call& call);
base::Result<http::Response> cancel_export(Context& context, const Call& call);
base::Result<http::Response> download_export(Context& context, const Call& call);
base::Result<http::Response> watch_export(Context& context, const Call& call);
base::Result<http::Response> list_export_types(Context& context, const Call& call);

}  // namespace waybill::api

#endif  // WAYBILL_API_CONTEXT_H_
