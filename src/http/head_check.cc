#include "http/head_check.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/text.h"

namespace waybill::http {
namespace {

// "METHOD " and " HTTP/1.1" around a target.
constexpr std::size_t kRequestLineExtra = 32;

// Fields that mean something only once. A second one is ambiguous, whatever its value.
constexpr std::array<std::string_view, 9> kSingletons{
    "host",          "content-length", "transfer-encoding",
    "authorization", "content-type",   "idempotency-key",
    "range",         "if-range",       "x-request-id"};

bool is_token_char(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

Failure target_too_long(const Limits& limits) {
  return {
      414, "URI_TOO_LONG",
      "the request target is longer than " + std::to_string(limits.max_target_bytes) + " bytes"};
}

Failure head_too_large(const Limits& limits) {
  return {431, "HEADERS_TOO_LARGE",
          "the request head is larger than " + std::to_string(limits.max_header_bytes) + " bytes"};
}

// What the framing rules need to know about all fields together.
struct Seen {
  std::array<bool, kSingletons.size()> once{};
  std::string transfer_encoding;
  [[nodiscard]] bool has(std::string_view name) const {
    const auto at = std::ranges::find(kSingletons, name) - kSingletons.begin();
    return once[static_cast<std::size_t>(at)];
  }
};

std::optional<Failure> check_field(std::string_view line, Seen& seen) {
  if (line.front() == ' ' || line.front() == '\t') {
    return bad_request("a header field is folded over two lines");
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0)
    return bad_request("a header line has no name");
  const std::string_view raw_name = line.substr(0, colon);
  if (!std::ranges::all_of(raw_name,
                           [](char c) { return is_token_char(static_cast<unsigned char>(c)); })) {
    return bad_request("a header name has a character that is not allowed");
  }
  const std::string_view value = base::trim(line.substr(colon + 1));
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
      return bad_request("a header value has a control character");
    }
  }
  const std::string name = lower(raw_name);
  const auto* const at = std::ranges::find(kSingletons, name);
  if (at == kSingletons.end()) return std::nullopt;
  bool& before = seen.once[static_cast<std::size_t>(at - kSingletons.begin())];
  if (before) return bad_request("the header " + name + " is given twice");
  before = true;
  if (name == "content-length" &&
      (value.empty() || value.size() > 18 ||
       !std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; }))) {
    return bad_request("content-length is not a number");
  }
  if (name == "transfer-encoding") seen.transfer_encoding = lower(value);
  return std::nullopt;
}

std::optional<Failure> check_request_line(std::string_view line, const Limits& limits) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == 0 || last == first) {
    return bad_request("the request line is not 'METHOD TARGET HTTP/1.1'");
  }
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (target.size() > limits.max_target_bytes) return target_too_long(limits);
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f)
      return bad_request("the request line has a character that is not allowed");
  }
  if (target.empty() || target.find(' ') != std::string_view::npos ||
      target.find('#') != std::string_view::npos) {
    return bad_request("the request target has a character that is not allowed");
  }
  const std::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return bad_request("only HTTP/1.1 and HTTP/1.0 are spoken here");
  return std::nullopt;
}

std::optional<Failure> check_framing(const Seen& seen, bool http_1_0) {
  if (!http_1_0 && !seen.has("host")) return bad_request("the header host is missing");
  if (!seen.has("transfer-encoding")) return std::nullopt;
  if (seen.has("content-length"))
    return bad_request("content-length and transfer-encoding exclude each other");
  if (http_1_0) return bad_request("HTTP/1.0 has no transfer-encoding");
  if (seen.transfer_encoding != "chunked")
    return bad_request("the only transfer-encoding is chunked");
  return std::nullopt;
}

}  // namespace

std::optional<Failure> check_partial_head(std::string_view bytes, std::size_t from,
                                          const Limits& limits) {
  for (std::size_t i = from; i < bytes.size(); ++i) {
    if (bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r'))
      return bad_request("a line ends with a bare line feed");
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if ((byte < 0x20 && byte != '\r' && byte != '\n' && byte != '\t') || byte == 0x7f) {
      return bad_request("the request head has a control character");
    }
  }
  if (bytes.size() > limits.max_target_bytes + kRequestLineExtra &&
      bytes.substr(0, limits.max_target_bytes + kRequestLineExtra).find('\n') ==
          std::string_view::npos) {
    return target_too_long(limits);
  }
  if (bytes.size() > limits.max_header_bytes) return head_too_large(limits);
  return std::nullopt;
}

std::optional<Failure> check_head(std::string_view head, const Limits& limits) {
  Seen seen;
  bool http_1_0 = false;
  std::size_t lines = 0;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    if (end == std::string_view::npos || line.find_first_of("\r\n") != std::string_view::npos) {
      return bad_request("a line does not end with CR LF");
    }
    head.remove_prefix(end + 2);
    if (line.empty()) break;
    if (lines++ == 0) {
      if (auto failure = check_request_line(line, limits)) return failure;
      http_1_0 = line.ends_with("HTTP/1.0");
      continue;
    }
    if (lines > kMaxHeaderLines) {
      return Failure{431, "HEADERS_TOO_LARGE",
                     "more than " + std::to_string(kMaxHeaderLines) + " header lines"};
    }
    if (auto failure = check_field(line, seen)) return failure;
  }
  return check_framing(seen, http_1_0);
}

}  // namespace waybill::http
