// The HTTP client for services inside the site: providers, actions, storage. One request = one
// call; limits are measured while reading; redirects are never followed; only hosts of the start-up
// allow-list are contacted.

#ifndef WAYBILL_CLIENT_HTTP_CLIENT_H_
#define WAYBILL_CLIENT_HTTP_CLIENT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace waybill::client {

struct Request {
  std::string method = "POST";
  std::string url;                                           // absolute; scheme http or https
  std::vector<std::pair<std::string, std::string>> headers;  // no CR or LF (kInvalid)
  std::string body;
  base::Millis connect_timeout_ms = 3'000;
  base::Millis total_timeout_ms =
      15'000;  // request sent to last byte, so that a drip cannot extend it
  std::size_t max_body_bytes =
      4u << 20;  // of the answer, decoded; over it the transfer is cut while reading
  std::size_t max_header_bytes = 64u << 10;
  std::function<bool()> stop;  // asked at least every 200 ms; true ends the call with kCancelled
  // Takes the body of a 2xx answer piece by piece, on the calling thread; Response::body then stays
  // empty. An error ends the call with that error. max_body_bytes counts all pieces together.
  std::function<base::Status(std::string_view)> on_body{};
};

struct Response {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  // The first value of a header, empty when absent. `name` in lower case.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

// Which origins may be contacted: scheme, host and port must all match, case-insensitively, before
// any look-up.
class AllowList {
 public:
  // "http://host:port" or with a path, which is ignored here. kInvalid for anything else.
  base::Status allow(std::string_view base_url);
  [[nodiscard]] bool allows(std::string_view url) const;

 private:
  std::vector<std::string> origins_;
};

// Thread-safe; keeps connections alive between calls.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // Any complete HTTP answer is a Response, whatever its status. Errors: kTimeout, kUnavailable
  // (connection refused, reset, name not found, body shorter than announced), kLimit (field "body"
  // or "headers"), kCancelled, kDenied (origin not in the allow-list), kInvalid (malformed
  // request).
  virtual base::Result<Response> send(const Request& request) = 0;
};

// libcurl underneath. No proxies from the environment, no cookies, no automatic decompression, no
// Accept-Encoding.
std::unique_ptr<HttpClient> make_http_client(AllowList allow_list);

}  // namespace waybill::client

#endif  // WAYBILL_CLIENT_HTTP_CLIENT_H_
