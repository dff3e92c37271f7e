#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "client/transfer.h"

namespace waybill::client {
namespace {

constexpr std::size_t kMaxMethodBytes = 16;
// Longer waits are no time-outs any more; also keeps arithmetic on time points far from overflow.
constexpr base::Millis kMaxTimeoutMs = 24LL * 60 * 60 * 1'000;

// Made by the client itself; a second one could make two peers disagree where a message ends or
// whom it is for.
constexpr std::array<std::string_view, 7> kOwnHeaders = {
    "content-length", "transfer-encoding", "host", "connection", "expect", "te", "upgrade"};

// RFC 9110 §5.6.2.
bool token_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// RFC 9110 §5.5: everything but control characters; a tab is allowed.
bool value_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= ' ' && byte != 0x7f);
}

base::Status check_header(const std::string& name, const std::string& value) {
  if (name.empty() || !std::all_of(name.begin(), name.end(), token_character)) {
    return base::invalid("headers",
                         "a header name is empty or holds characters that are not allowed");
  }
  if (!std::all_of(value.begin(), value.end(), value_character)) {
    return base::invalid("headers",
                         "the header " + name + " holds a line break or control character");
  }
  std::string lower_name = name;
  for (char& c : lower_name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (std::find(kOwnHeaders.begin(), kOwnHeaders.end(), lower_name) != kOwnHeaders.end()) {
    return base::invalid("headers", "the header " + name + " is set by the client itself");
  }
  return {};
}

base::Status check_timeout(const char* field, base::Millis timeout_ms) {
  if (timeout_ms >= 1 && timeout_ms <= kMaxTimeoutMs) return {};
  return base::invalid(field, "the time-out must be from 1 ms to 24 hours");
}

}  // namespace

base::Status check_request(const Request& request) {
  const std::string& method = request.method;
  const bool upper =
      std::all_of(method.begin(), method.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (method.empty() || method.size() > kMaxMethodBytes || !upper || method == "CONNECT" ||
      method == "TRACE") {
    return base::invalid("method", "not a method that may be sent");
  }
  if (method == "HEAD" && !request.body.empty()) {
    return base::invalid("body", "a HEAD request has no body");
  }
  for (const auto& [name, value] : request.headers) WAYBILL_TRY(check_header(name, value));
  WAYBILL_TRY(check_timeout("connect_timeout_ms", request.connect_timeout_ms));
  return check_timeout("total_timeout_ms", request.total_timeout_ms);
}

}  // namespace waybill::client
