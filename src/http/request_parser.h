// Bytes of a connection -> requests. The grammar is Boost.Beast's; what it is lenient about is
// refused before (head_check.h). Used by connections and by the fuzzer; does no I/O.

#ifndef WAYBILL_HTTP_REQUEST_PARSER_H_
#define WAYBILL_HTTP_REQUEST_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/failure.h"
#include "http/server.h"

namespace waybill::http {

struct RequestHead {
  std::string method;
  std::string target;                                        // as sent
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, values trimmed
  bool http_1_0 = false;
  bool keep_alive = true;
  bool expects_continue = false;
  bool has_body = false;                        // something follows the head
  std::optional<std::uint64_t> content_length;  // absent when chunked or without a body
};

// One request. Not thread-safe.
class RequestParser {
 public:
  explicit RequestParser(const Limits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  enum class State : std::uint8_t { kNeedMore, kDone, kFailed };

  // Takes the head from the front of `bytes`, once it is there. kDone: head() is set and `bytes`
  // begins with the body.
  State feed_head(std::string& bytes);
  // Takes body bytes from the front of `bytes`; kDone: body() is whole and `bytes` begins with the
  // next request. REQUIRES: feed_head() gave kDone, and the content length is within
  // `max_body_bytes`.
  State feed_body(std::string& bytes, std::size_t max_body_bytes);

  [[nodiscard]] RequestHead& head() { return head_; }
  [[nodiscard]] std::string take_body();
  // REQUIRES: kFailed.
  [[nodiscard]] const Failure& failure() const { return failure_; }

 private:
  struct Impl;
  State fail(Failure failure);
  const Limits& limits_;
  bool begun_ = false;  // past the empty line that may stand before a request
  std::size_t scanned_ = 0;
  RequestHead head_;
  Failure failure_;
  std::unique_ptr<Impl> impl_;
};

// 413 with the limit in its sentence.
Failure body_too_large(std::size_t limit);

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_REQUEST_PARSER_H_
