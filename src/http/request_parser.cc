#include "http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/text.h"
#include "http/head_check.h"

namespace waybill::http {
namespace {

namespace asio = boost::asio;
namespace beast_http = boost::beast::http;

constexpr std::string_view kHeadEnd = "\r\n\r\n";
// Beast 1.81 asserts that a last chunk which it has seen in part comes back with at least the five
// bytes of "0\r\n\r\n". Nothing shorter can end a chunked body, so shorter pieces wait for the next
// ones.
constexpr std::size_t kMinChunkedPiece = 5;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// RFC 9110 §10.1.1: a list; a member that is not known is answered with 417.
bool only_100_continue(std::string_view list) {
  const auto parts = base::split(list, ',');
  return std::ranges::all_of(
      parts, [](std::string_view part) { return lower(base::trim(part)) == "100-continue"; });
}

}  // namespace

struct RequestParser::Impl {
  beast_http::request_parser<beast_http::string_body> parser;
  bool limited = false;
};

RequestParser::RequestParser(const Limits& limits)
    : limits_(limits), impl_(std::make_unique<Impl>()) {
  impl_->parser.header_limit(static_cast<std::uint32_t>(limits.max_header_bytes));
  impl_->parser.body_limit(boost::none);  // set once the route is known
}

RequestParser::~RequestParser() = default;

RequestParser::State RequestParser::fail(Failure failure) {
  failure_ = std::move(failure);
  return State::kFailed;
}

RequestParser::State RequestParser::feed_head(std::string& bytes) {
  // RFC 9112 §2.2: one empty line before a request is forgiven, old clients send it after a body.
  if (!begun_) {
    if (bytes.empty() || bytes == "\r") return State::kNeedMore;
    if (bytes.starts_with("\r\n")) bytes.erase(0, 2);
    begun_ = true;
  }
  const std::size_t end = bytes.find(kHeadEnd, scanned_ < 3 ? 0 : scanned_ - 3);
  const std::string_view known =
      std::string_view(bytes).substr(0, end == std::string::npos ? end : end + 4);
  if (auto failure = check_partial_head(known, scanned_, limits_)) return fail(std::move(*failure));
  scanned_ = bytes.size();
  if (end == std::string::npos) return State::kNeedMore;
  if (auto failure = check_head(known, limits_)) return fail(std::move(*failure));

  boost::system::error_code error;
  auto& parser = impl_->parser;
  const std::size_t used = parser.put(asio::buffer(known.data(), known.size()), error);
  if (error || !parser.is_header_done() || used != known.size()) {
    return fail(bad_request("the request head is not valid HTTP"));
  }
  bytes.erase(0, used);
  const auto& message = parser.get();
  head_.method = std::string(message.method_string());
  head_.target = std::string(message.target());
  for (const auto& field : message) {
    head_.headers.emplace_back(lower(field.name_string()), std::string(field.value()));
  }
  head_.http_1_0 = message.version() < 11;
  head_.keep_alive = !head_.http_1_0 && parser.keep_alive();
  head_.has_body = parser.chunked() || parser.content_length().value_or(0) > 0;
  if (const auto length = parser.content_length()) head_.content_length = *length;
  bool asked = false;
  for (const auto& [name, value] : head_.headers) {
    if (name != "expect") continue;
    if (!only_100_continue(value))
      return fail({417, "EXPECTATION_FAILED", "the only expectation that is met is 100-continue"});
    asked = true;
  }
  // RFC 9110 §10.1.1: one of HTTP/1.0 must be ignored, one without a body may be.
  head_.expects_continue = asked && head_.has_body && !head_.http_1_0;
  return State::kDone;
}

RequestParser::State RequestParser::feed_body(std::string& bytes, std::size_t max_body_bytes) {
  auto& parser = impl_->parser;
  if (!impl_->limited) {
    parser.body_limit(max_body_bytes);
    parser.eager(true);
    impl_->limited = true;
  }
  const std::size_t least = parser.chunked() ? kMinChunkedPiece : 1;
  std::size_t used = 0;
  while (!parser.is_done() && bytes.size() - used >= least) {
    boost::system::error_code error;
    const std::size_t taken =
        parser.put(asio::buffer(bytes.data() + used, bytes.size() - used), error);
    used += taken;
    if (error == beast_http::error::need_more) break;
    if (error == beast_http::error::body_limit) return fail(body_too_large(max_body_bytes));
    if (error) return fail(bad_request("the request body is not framed as its head says"));
    if (taken == 0) break;
  }
  bytes.erase(0, used);
  if (parser.is_done()) return State::kDone;
  // A chunk's header or the trailer that does not fit is not going to end.
  if (bytes.size() > limits_.max_header_bytes)
    return fail(bad_request("a chunk header or trailer is too long"));
  return State::kNeedMore;
}

std::string RequestParser::take_body() { return std::move(impl_->parser.get().body()); }

Failure body_too_large(std::size_t limit) {
  return {413, "PAYLOAD_TOO_LARGE",
          "the request body is larger than " + std::to_string(limit) + " bytes"};
}

}  // namespace waybill::http
