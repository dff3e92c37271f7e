// An error that the server finds before any handler: a status, a stable word, a sentence.

#ifndef WAYBILL_HTTP_FAILURE_H_
#define WAYBILL_HTTP_FAILURE_H_

#include <string>
#include <string_view>
#include <utility>

namespace waybill::http {

// `code` points to a literal.
struct Failure {
  int status = 400;
  std::string_view code = "BAD_REQUEST";
  std::string message;
};

inline Failure bad_request(std::string message) { return {400, "BAD_REQUEST", std::move(message)}; }

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_FAILURE_H_
