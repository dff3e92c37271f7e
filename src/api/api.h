// The HTTP API of Waybill as a list of routes for http::Server: exports, their types, and, for the
// management listener, health. One file per resource; see docs/openapi.yaml for the contract.

#ifndef WAYBILL_API_API_H_
#define WAYBILL_API_API_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/identity.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time_zone.h"
#include "files/files.h"
#include "http/server.h"
#include "registry/registry.h"
#include "store/store.h"

namespace waybill::api {

inline constexpr std::string_view kPrefix = "/api/platform/v1";

// kPlatform: business outcomes are HTTP 200 and told by the envelope's code. kRest: they also set
// 4xx/5xx.
enum class HttpStatusMode : std::uint8_t { kPlatform, kRest };

// What the resources work with. Everything must outlive the server that runs the routes; all of it
// is thread-safe.
struct ApiDeps {
  store::TaskStore& tasks;
  store::AdminStore& admin;  // for the database's clock
  const registry::Registry& registry;
  files::Files& files;
  Authenticator& authenticator;
  const base::Clock& clock;
  base::Random& random;
};

struct ApiSettings {
  HttpStatusMode http_status = HttpStatusMode::kPlatform;
  base::TimeZone time_zone;                        // of every time in an answer
  store::CreateLimits limits;                      // limits.active_per_user, ...
  std::int64_t requests_per_user_per_second = 50;  // 0 = unlimited; beyond it 429 with Retry-After
  std::int64_t requests_burst = 100;
  base::Millis watch_period_ms = 1'000;    // one statement for all watchers of the process
  base::Millis watch_comment_ms = 15'000;  // keeps proxies from cutting a silent stream
};

// The routes under kPrefix, and /openapi.yaml. They share one state that lives as long as the
// routes.
std::vector<http::Route> make_routes(const ApiDeps& deps, const ApiSettings& settings);

// One thing a ready process needs. `check` may block for as long as its own time-outs allow.
struct HealthCheck {
  std::string name;  // "database", "storage", ...
  std::function<base::Status()> check;
};

// GET /healthz (the process answers) and GET /readyz (every check passes, else 503) for the
// management listener.
std::vector<http::Route> make_management_routes(std::vector<HealthCheck> checks);

// For http::ServerOptions::error_response: errors that the server finds itself, in the API's
// envelope.
http::Response server_error(int status, std::string_view code, std::string_view message,
                            const http::Request* request);

}  // namespace waybill::api

#endif  // WAYBILL_API_API_H_
