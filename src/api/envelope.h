// Answers in the API's envelope: {"code","message","data","requestId"}.

#ifndef WAYBILL_API_ENVELOPE_H_
#define WAYBILL_API_ENVELOPE_H_

#include <string>
#include <string_view>

#include "api/errors.h"
#include "base/error.h"
#include "http/server.h"

namespace waybill::api {

// What the caller reads: the better of zh and en by Accept-Language (RFC 9110 §12.5.4), English
// where it says nothing.
Language language_of(const http::Request& request);

// HTTP 200, code "200". `data` is one JSON value.
http::Response success(const http::Request& request, std::string_view data);

// `real_status`: the table's HTTP status, else 200 for business outcomes. 503 and 429 carry
// Retry-After.
http::Response failure(const http::Request& request, const base::Error& error, bool real_status);

}  // namespace waybill::api

#endif  // WAYBILL_API_ENVELOPE_H_
