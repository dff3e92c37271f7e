#include <memory>
#include <string>
#include <utility>

#include "api/api.h"
#include "api/context.h"
#include "api/openapi.h"

namespace waybill::api {

std::vector<http::Route> make_routes(const ApiDeps& deps, const ApiSettings& settings) {
  const auto context = std::make_shared<Context>(deps, settings);
  std::vector<http::Route> routes;
  const auto add = [&](const char* method, const std::string& path, Resource resource,
                       RouteKind kind = RouteKind::kBusiness) {
    routes.push_back(
        {method, std::string(kPrefix) + path, make_handler(context, kind, std::move(resource))});
  };
  const std::string tasks = "/files/export-tasks";
  add("POST", tasks, create_export);
  add("GET", tasks, list_exports);
  add("GET", tasks + "/{id}", get_export);
  add("POST", tasks + "/{id}/retry", retry_export);
  add("POST", tasks + "/{id}/cancel", cancel_export);
  add("GET", tasks + "/{id}/download", download_export, RouteKind::kFile);
  add("GET", tasks + "/{id}/events", watch_export);
  add("GET", "/files/export-types", list_export_types);
  routes.push_back({"GET", "/openapi.yaml", [](const http::Request&) {
                      http::Response response;
                      response.headers.emplace_back("Content-Type",
                                                    "application/yaml; charset=utf-8");
                      response.body = std::string(openapi_yaml());
                      return response;
                    }});
  return routes;
}

}  // namespace waybill::api
