// The first lines of a response as bytes.

#ifndef WAYBILL_HTTP_RESPONSE_HEAD_H_
#define WAYBILL_HTTP_RESPONSE_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "http/server.h"

namespace waybill::http {

std::string_view reason_phrase(int status);

// "Mon, 30 Nov 2026 14:23:59 GMT" (RFC 9110 §5.6.7).
std::string http_date(base::Millis utc_ms);

// How the body is framed.
struct Framing {
  std::optional<std::uint64_t> content_length;  // absent: chunked, or until the connection closes
  bool chunked = false;
  bool keep_alive = true;
};

// The status line, the response's own headers and the server's. A header of the response whose name
// or value could break out of its line is left out.
std::string response_head(const Response& response, const Framing& framing,
                          std::string_view server_name, std::string_view request_id,
                          base::Millis now_ms);

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_RESPONSE_HEAD_H_
