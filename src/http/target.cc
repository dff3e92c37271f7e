#include "http/target.h"

#include <optional>

#include "base/text.h"

namespace waybill::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// nullopt where an escape is broken or the result has a control character or is not UTF-8.
std::optional<std::string> decode(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_blank) {
      c = ' ';
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return std::nullopt;
    out += c;
  }
  if (!base::is_utf8(out)) return std::nullopt;
  return out;
}

Failure nothing_there() { return {404, "NOT_FOUND", "there is nothing at this address"}; }

std::optional<Failure> decode_path(std::string_view raw, std::string& path) {
  for (const std::string_view part : base::split(raw.substr(1), '/')) {
    auto segment = decode(part, false);
    if (!segment) return bad_request("the path is not properly percent-encoded UTF-8");
    if (*segment == "." || *segment == ".." || segment->find_first_of("/\\") != std::string::npos) {
      return nothing_there();
    }
    path += '/';
    path += *segment;
  }
  return std::nullopt;
}

std::optional<Failure> decode_query(std::string_view raw, Target& target) {
  if (raw.empty()) return std::nullopt;
  for (const std::string_view pair : base::split(raw, '&')) {
    if (pair.empty()) continue;
    if (target.query.size() == kMaxQueryValues) {
      return bad_request("more than " + std::to_string(kMaxQueryValues) + " query values");
    }
    const std::size_t equals = pair.find('=');
    auto name = decode(pair.substr(0, equals), true);
    auto value = decode(
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
    if (!name || !value) return bad_request("the query is not properly percent-encoded UTF-8");
    target.query.emplace_back(std::move(*name), std::move(*value));
  }
  return std::nullopt;
}

}  // namespace

std::variant<Target, Failure> parse_target(std::string_view target) {
  // RFC 9112 §3.2.2: a server takes the absolute form too; the authority says nothing to us.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::size_t slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    break;
  }
  if (!target.starts_with('/')) return bad_request("the request target is not a path");
  const std::size_t question = target.find('?');
  Target out;
  if (auto failure = decode_path(target.substr(0, question), out.path)) return *failure;
  if (question != std::string_view::npos) {
    if (auto failure = decode_query(target.substr(question + 1), out)) return *failure;
  }
  return out;
}

}  // namespace waybill::http
