// Rules between keys: each value may be right by itself and the combination still impossible.

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "app/config.h"

namespace waybill::app {
namespace {

class Rules {
 public:
  Rules(const Config& config, std::vector<std::string>& problems)
      : config_(config), problems_(problems) {}

  void run() {
    required("database.url");
    required("files.directory.path");
    required("registry.file");
    times();
    listeners();
    services();
    authentication();
    roles();
  }

 private:
  // Named by the place of whichever of the two keys somebody has set.
  void problem(const std::string& path, const std::string& what, const std::string& other = {}) {
    const bool mine = other.empty() || config_.where(path) != "default";
    problems_.push_back(config_.where(mine ? path : other) + ": " + path + ": " + what);
  }
  void required(const std::string& path) {
    if (!config_.has(path)) problem(path, "is required");
  }

  void times() {
    if (config_.millis("dispatch.heartbeat_seconds") * 3 >
        config_.millis("dispatch.lease_seconds")) {
      problem("dispatch.heartbeat_seconds",
              "three heartbeats must fit into dispatch.lease_seconds, or one lost answer loses the "
              "task",
              "dispatch.lease_seconds");
    }
    if (config_.millis("export.read_timeout_seconds") >= config_.millis("dispatch.lease_seconds")) {
      problem("export.read_timeout_seconds", "must be less than dispatch.lease_seconds",
              "dispatch.lease_seconds");
    }
    if (config_.millis("publisher.batch_timeout_seconds") * 4 >
        config_.millis("publisher.lease_seconds")) {
      problem("publisher.batch_timeout_seconds",
              "must be at most a quarter of publisher.lease_seconds", "publisher.lease_seconds");
    }
    if (config_.millis("reconciler.period_seconds") >=
        config_.millis("reconciler.clock_grace_seconds")) {
      problem("reconciler.clock_grace_seconds",
              "must be more than reconciler.period_seconds, or every pass looks like a stall",
              "reconciler.period_seconds");
    }
    if (config_.number("limits.requests_burst") <
        config_.number("limits.requests_per_user_per_second")) {
      problem("limits.requests_burst", "must not be less than limits.requests_per_user_per_second",
              "limits.requests_per_user_per_second");
    }
  }

  void listeners() {
    const auto server = parse_listen(config_.text("server.listen"));
    const auto management = parse_listen(config_.text("management.listen"));
    if (server && management && server->port != 0 && server->port == management->port &&
        server->host == management->host) {
      problem("management.listen", "must differ from server.listen");
    }
  }

  void services() {
    for (const std::string& name : config_.names("provider_services")) {
      const std::string section = "provider_services." + name;
      required(section + ".base_url");
      one_of(section + ".token_file", section + ".token");
    }
  }

  // Exactly one of a file and a value.
  void one_of(const std::string& file, const std::string& value) {
    if (config_.has(file) && config_.has(value))
      problem(value, "either this or " + file + ", not both");
    if (!config_.has(file) && !config_.has(value)) problem(file, "is required (or " + value + ")");
  }

  void authentication() {
    const std::string mode = config_.text("auth.mode");
    const auto server = parse_listen(config_.text("server.listen"));
    const bool loopback = server && is_loopback(server->host);
    if (mode == "demo" && !loopback) {
      problem("auth.mode", "demo is for a loopback server.listen only");
    }
    one_of("auth.jwt.secret_file", "auth.jwt.secret");
  }

  void roles() {
    if (!config_.boolean("roles.api") && !config_.boolean("roles.consumer") &&
        !config_.boolean("roles.reconciler")) {
      problem("roles.api", "every role is off: there is nothing to do");
    }
    for (const char* role : {"roles.publisher", "roles.dead_letter"}) {
      if (config_.boolean(role) && config_.text("transport.kind") == "embedded") {
        problem(role, "needs a broker, and transport.kind is embedded");
      }
    }
  }

  const Config& config_;
  std::vector<std::string>& problems_;
};

}  // namespace

void check_relations(const Config& config, std::vector<std::string>& problems) {
  Rules(config, problems).run();
}

std::optional<ListenAddress> parse_listen(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  int family = AF_INET;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    family = AF_INET6;
  }
  in6_addr address{};  // large enough for either
  if (host != "localhost" && ::inet_pton(family, std::string(host).c_str(), &address) != 1)
    return std::nullopt;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (host.empty() || port.empty() || error != std::errc() || end != port.data() + port.size() ||
      number > 65'535) {
    return std::nullopt;
  }
  return ListenAddress{host == "localhost" ? "127.0.0.1" : std::string(host),
                       static_cast<std::uint16_t>(number)};
}

bool is_loopback(std::string_view host) {
  return host.starts_with("127.") || host == "::1" || host == "localhost";
}

}  // namespace waybill::app
