#include "client/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"

namespace waybill::client {
namespace {

constexpr std::size_t kMaxHostBytes = 253;  // RFC 1035 §2.3.4
constexpr int kMaxPort = 65'535;

bool digits_only(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::optional<std::string> ipv6_host(std::string_view text) {
  in6_addr address{};
  if (::inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1) return std::nullopt;
  char shortest[INET6_ADDRSTRLEN];
  if (::inet_ntop(AF_INET6, &address, shortest, sizeof shortest) == nullptr) return std::nullopt;
  return "[" + std::string(shortest) + "]";
}

// A name or a plain dotted IPv4 address. Resolvers also read "127.1", "0x7f.1", "0177.0.0.1" and
// "2130706433" as addresses; a host whose last label is a number must therefore be written the one
// normal way.
std::optional<std::string> name_host(std::string_view text) {
  if (text.empty() || text.size() > kMaxHostBytes) return std::nullopt;
  std::string host = lower(text);
  std::string_view last;
  for (const std::string_view label : base::split(host, '.')) {
    if (label.empty()) return std::nullopt;
    for (const char c : label) {
      if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')) {
        return std::nullopt;
      }
    }
    last = label;
  }
  if (digits_only(last) || last.starts_with("0x")) {
    in_addr address{};
    if (::inet_pton(AF_INET, host.c_str(), &address) != 1) return std::nullopt;
  }
  return host;
}

std::optional<int> parse_port(std::string_view text) {
  if (!digits_only(text) || text.size() > 5) return std::nullopt;
  const auto port = base::parse_int(text);
  if (!port || *port < 1 || *port > kMaxPort) return std::nullopt;
  return static_cast<int>(*port);
}

bool url_character(char c) { return c > ' ' && c < 0x7f && c != '\\' && c != '#'; }

}  // namespace

base::Result<Url> parse_url(std::string_view text, std::string_view field) {
  const auto refuse = [&](const char* why) {
    return base::invalid(std::string(field), "the URL is refused: " + std::string(why));
  };
  if (text.size() > kMaxUrlBytes) return refuse("it is longer than 8192 bytes");
  if (!std::all_of(text.begin(), text.end(), url_character)) {
    return refuse("it holds blanks, control characters, back-slashes, '#' or non-ASCII characters");
  }
  Url url;
  const std::string start = lower(text.substr(0, 8));
  if (start.starts_with("http://")) {
    text.remove_prefix(7);
  } else if (start == "https://") {
    url.tls = true;
    text.remove_prefix(8);
  } else {
    return refuse("it does not start with http:// or https://");
  }

  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  std::string_view authority = text.substr(0, end);
  url.target = text.substr(end);
  if (!url.target.starts_with('/')) url.target.insert(0, 1, '/');
  if (authority.find('@') != std::string_view::npos) return refuse("it holds a user name");

  std::optional<std::string> host;
  std::string_view port_text;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return refuse("its IPv6 address has no end");
    host = ipv6_host(authority.substr(1, close - 1));
    port_text = authority.substr(close + 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    host = name_host(authority.substr(0, colon));
    port_text = authority.substr(colon);
  }
  if (!host) return refuse("its host is no name and no plainly written address");
  url.host = *host;
  url.port = url.tls ? 443 : 80;
  if (!port_text.empty()) {
    const auto port = port_text.front() == ':' ? parse_port(port_text.substr(1)) : std::nullopt;
    if (!port) return refuse("its port is not a number from 1 to 65535");
    url.port = *port;
  }
  return url;
}

}  // namespace waybill::client
