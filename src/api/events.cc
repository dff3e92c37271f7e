// GET /files/export-tasks/{id}/events

#include <utility>

#include "api/context.h"

namespace waybill::api {

base::Result<http::Response> watch_export(Context& context, const Call& call) {
  WAYBILL_TRY(require(call, kListPermission));
  WAYBILL_ASSIGN(const core::TaskId id, path_id(call));
  WAYBILL_ASSIGN(const store::ExportRow row,
                 context.deps.tasks.find_export(id, visible_scope(call.who)));
  http::Response response;
  if (call.request.method == "GET") {
    WAYBILL_ASSIGN(response.events, context.watch.open(row, call.language));
  }
  response.headers.emplace_back("Content-Type", "text/event-stream");
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("X-Accel-Buffering",
                                "no");  // a proxy that collects would hold progress back
  return response;
}

}  // namespace waybill::api
