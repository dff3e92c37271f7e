// GET /healthz and /readyz, for the management listener.

#include <memory>
#include <utility>

#include "api/api.h"
#include "base/json_writer.h"
#include "base/log.h"

namespace waybill::api {
namespace {

http::Response json_response(int status, std::string body) {
  http::Response response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "application/json; charset=utf-8");
  response.headers.emplace_back("Cache-Control", "no-store");
  response.body = std::move(body);
  return response;
}

http::Response ready(const std::vector<HealthCheck>& checks) {
  bool all = true;
  base::JsonWriter results;
  results.begin_array();
  for (const HealthCheck& check : checks) {
    const base::Status status = check.check();
    all = all && status.ok();
    results.begin_object().field("name", check.name).field("ok", status.ok());
    if (!status.ok()) {
      results.field("message", status.error().message);
      base::log(base::LogLevel::kWarn, "not_ready",
                {{"check", check.name}, {"error", status.error().message}});
    }
    results.end_object();
  }
  results.end_array();
  base::JsonWriter json;
  json.begin_object()
      .field("status", all ? "ready" : "not_ready")
      .key("checks")
      .raw(results.text())
      .end_object();
  return json_response(all ? 200 : 503, json.take());
}

}  // namespace

std::vector<http::Route> make_management_routes(std::vector<HealthCheck> checks) {
  auto shared = std::make_shared<const std::vector<HealthCheck>>(std::move(checks));
  std::vector<http::Route> routes;
  routes.push_back({"GET", "/healthz",
                    [](const http::Request&) { return json_response(200, R"({"status":"ok"})"); }});
  routes.push_back({"GET", "/readyz", [shared](const http::Request&) { return ready(*shared); }});
  return routes;
}

}  // namespace waybill::api
