// One request of a connection and its answer. Internal to http/.

#ifndef WAYBILL_HTTP_CONNECTION_EXCHANGE_H_
#define WAYBILL_HTTP_CONNECTION_EXCHANGE_H_

#include <optional>

#include "http/connection.h"

namespace waybill::http {

struct Connection::Exchange {
  explicit Exchange(const Limits& limits) : parser(limits) {}
  RequestParser parser;
  Request request;
  const Route* route = nullptr;
  base::Millis started_ms = 0;
  bool head_known = false;
  bool body_taken = false;
  std::optional<Response> early;  // an answer found before any handler
  [[nodiscard]] bool is_head() const { return request.method == "HEAD"; }
};

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_CONNECTION_EXCHANGE_H_
