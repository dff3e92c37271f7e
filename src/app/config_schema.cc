#include "app/config_schema.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/text.h"

namespace waybill::app {
namespace {

using enum KeyType;
using enum KeyFormat;

constexpr double kDay = 86'400;  // seconds

constexpr KeySpec flag(const char* path, const char* fallback, const char* description) {
  return {path, kBool, fallback, "", 0, 0, "", kPlain, description};
}
constexpr KeySpec integer(const char* path, const char* fallback, const char* unit, double min,
                          double max, const char* description) {
  return {path, kInteger, fallback, unit, min, max, "", kPlain, description};
}
constexpr KeySpec number(const char* path, const char* fallback, const char* unit, double min,
                         double max, const char* description) {
  return {path, kNumber, fallback, unit, min, max, "", kPlain, description};
}
constexpr KeySpec numbers(const char* path, const char* fallback, const char* unit, double min,
                          double max, const char* description) {
  return {path, kNumberList, fallback, unit, min, max, "", kPlain, description};
}
constexpr KeySpec text(const char* path, const char* fallback, KeyFormat format,
                       const char* description) {
  return {path, kText, fallback, "", 0, 0, "", format, description};
}
constexpr KeySpec word(const char* path, const char* fallback, const char* choices,
                       const char* description) {
  return {path, kText, fallback, "", 0, 0, choices, kPlain, description};
}

constexpr std::array kSchema{
    text("server.listen", "127.0.0.1:8080", kListen,
         "Address and port of the API. Port 0 takes a free one."),
    integer("server.handler_threads", "8", "threads", 1, 256, "Threads that run request handlers."),
    integer("server.max_connections", "6000", "connections", 1, 100'000,
            "Open connections in total; beyond it 503."),
    integer("server.max_connections_per_address", "6000", "connections", 1, 100'000,
            "Open connections of one client address."),
    text("management.listen", "127.0.0.1:8081", kListen,
         "Address and port of /healthz and /readyz. Not for users."),
    word("api.http_status", "envelope", "envelope|rest",
         "envelope: business outcomes answer HTTP 200 with a code in the body; rest: they set the "
         "HTTP status too."),

    text("database.url", nullptr, kDatabaseUrl,
         "Where tasks live: sqlite:/path/to/waybill.db. Required."),
    text("files.directory.path", nullptr, kPath, "Folder of the finished files. Required."),
    number("files.min_free_mib", "32", "MiB", 0, 1'000'000,
           "Below this much free space no export starts to write; it is tried again later."),
    text("registry.file", nullptr, kPath,
         "The list of export types (YAML), reloaded on change and on SIGHUP. Required."),
    number("registry.check_seconds", "5", "s", 0.1, 3600,
           "How often the registry file is looked at for a change."),
    text("provider_services.*.base_url", nullptr, kHttpUrl,
         "Where the service lives. Only services listed here are ever contacted; never reloaded "
         "while running."),
    text("provider_services.*.token_file", nullptr, kPath,
         "File with the service token (X-Internal-Service-Token). Either this or token."),
    text("provider_services.*.token", nullptr, kSecret,
         "The service token itself; prefer the file or the environment."),
    number("provider_services.*.rate_per_second", "0", "1/s", 0, 100'000,
           "Requests to the service; 0 = no limit."),
    integer("provider_services.*.max_concurrent", "0", "requests", 0, 10'000,
            "Requests to the service at the same time; 0 = no limit."),

    flag("roles.api", "true", "Serve the HTTP API."),
    flag("roles.consumer", "true", "Execute tasks. Off: tasks wait."),
    flag("roles.reconciler", "true",
         "Repair what was lost, expire files, delete old rows. Off: nothing is repaired."),
    flag("roles.publisher", "false", "Send commands to the broker. Needs a transport with one."),
    flag("roles.dead_letter", "false",
         "Handle the broker's dead letters. Needs a transport with one."),
    integer("lanes.*.workers", "4", "tasks", 1, 1'024,
            "Tasks of the lane that this process executes at the same time."),
    word("transport.kind", "embedded", "embedded",
         "What carries commands. embedded: workers read the outbox."),

    number("dispatch.lease_seconds", "300", "s", 0.5, 86'400,
           "Ownership of a running task, renewed by the heartbeat."),
    number("dispatch.heartbeat_seconds", "60", "s", 0.1, 28'800,
           "How often leases are renewed; at most a third of the lease."),
    number("dispatch.max_duration_minutes", "30", "min", 0.01, 720,
           "Longest execution of a type that names none."),
    numbers("dispatch.retry_backoff_seconds", "60, 900", "s", 0, kDay,
            "Wait before the 2nd, 3rd, ... attempt (+-20 %); the last repeats."),
    number("dispatch.recovery_spread_seconds", "30", "s", 0, 3600,
           "Spreads many recovered tasks over this time."),
    number("dispatch.sweep_after_seconds", "5", "s", 0, 3600,
           "With a broker: an idle worker takes sent commands of this age itself; 0 = off."),
    number("export.max_file_mib", "50", "MiB", 0.001, 4'096,
           "Largest file of a type that names none."),
    number("export.retention_days", "7", "days", 0.0001, 365,
           "How long a file of a type that names none is kept."),
    integer("export.page_retries", "3", "retries", 0, 10,
            "Tries of one page again before the task's own retry."),
    numbers("export.page_retry_seconds", "1, 2, 4", "s", 0, 300,
            "Wait before each of them; the last repeats."),
    number("export.connect_timeout_seconds", "3", "s", 0.1, 300, "Connecting to a provider."),
    number("export.read_timeout_seconds", "15", "s", 0.1, 3600,
           "One page, from request sent to last byte, so that a drip cannot extend it."),
    word("export.compression", "fast", "fast|small",
         "fast: about 1 GB/s of sheet per core; small: smaller files, slower."),
    word("export.formula_guard", "quote_prefix", "quote_prefix|apostrophe",
         "How text that looks like a formula is kept from being one."),
    flag("export.cell_refs", "true",
         "Write cell references; some readers need them, files are a third larger."),

    number("publisher.poll_seconds", "5", "s", 0.1, 3600,
           "With a broker: time between two passes of an idle publisher."),
    integer("publisher.batch", "500", "commands", 1, 500,
            "With a broker: commands leased at a time."),
    number("publisher.lease_seconds", "60", "s", 1, 3600,
           "With a broker: ownership of commands that are being sent."),
    number("publisher.batch_timeout_seconds", "15", "s", 0.1, 900,
           "With a broker: all answers to one batch; at most a quarter of the lease."),
    numbers("outbox.send_backoff_seconds", "5, 15, 60, 300, 900", "s", 0.1, kDay,
            "With a broker: wait before a failed command is sent again; the last repeats."),
    number("outbox.retention_days", "7", "days", 0.01, 365,
           "Sent commands that nobody claimed are deleted after this."),
    number("reconciler.period_seconds", "30", "s", 0.1, 3600, "Time between two passes."),
    number("reconciler.grace_seconds", "60", "s", 0, 3600,
           "A due task without a command is left alone this long."),
    number("reconciler.stale_seconds", "600", "s", 0.1, kDay,
           "A sent and unclaimed command is sent again after this."),
    integer("reconciler.batch", "500", "rows", 1, 500, "Rows per statement."),
    number("reconciler.clock_grace_seconds", "60", "s", 0.1, 3600,
           "After a gap this long between passes, or a clock step, leases get two heartbeats of "
           "grace."),
    number("reconciler.files_period_seconds", "600", "s", 0.1, kDay,
           "Time between two scans for expired and orphaned files."),
    number("retention.history_days", "90", "days", 0.01, 3'650,
           "Ended tasks are deleted after this."),
    number("retention.idempotency_hours", "24", "h", 0.01, 8'760,
           "An Idempotency-Key is remembered this long."),

    integer("limits.active_per_user", "3", "tasks", 1, 10'000,
            "PENDING and RUNNING exports of one user."),
    integer("limits.active_per_type", "5", "tasks", 1, 10'000,
            "PENDING and RUNNING exports of one type."),
    word("limits.active_per_type_scope", "tenant", "tenant|global",
         "Whether that counts per tenant or over all."),
    number("limits.dedup_window_seconds", "60", "s", 0, 3600,
           "The same user, type and parameters within this time answer with the active task."),
    integer("limits.requests_per_user_per_second", "50", "1/s", 0, 100'000,
            "API requests of one user; 0 = no limit."),
    integer("limits.requests_burst", "100", "requests", 1, 100'000,
            "And how many may come at once."),

    word("auth.mode", "jwt", "jwt|demo",
         "How callers are known. demo: tokens of the demo, loopback only."),
    word("auth.jwt.algorithm", "HS256", "HS256", "The only accepted alg."),
    text("auth.jwt.secret_file", nullptr, kPath, "File with the secret. Either this or secret."),
    text("auth.jwt.secret", nullptr, kSecret,
         "The secret itself; prefer the file or the environment."),
    text("auth.jwt.previous_secret_file", nullptr, kPath,
         "A second secret that is still accepted, while the first is being rolled out."),
    text("auth.jwt.issuer", nullptr, kPlain, "Required value of iss; empty = not checked."),
    text("auth.jwt.audience", nullptr, kPlain, "Required value of aud; empty = not checked."),
    text("auth.jwt.claims.user", "sub", kPlain, "Claim with the user."),
    text("auth.jwt.claims.tenant", "tenant", kPlain, "Claim with the tenant."),
    text("auth.jwt.claims.app_code", "app_code", kPlain, "Claim with the app code."),
    text("auth.jwt.claims.access_domain", "access_domain", kPlain,
         "Claim with PLATFORM or MERCHANT."),
    text("auth.jwt.claims.permissions", "permissions", kPlain,
         "Claim with the list of permissions."),

    number("shutdown.grace_seconds", "60", "s", 0, 3600,
           "On SIGTERM running tasks have this long; what is left is released at once for another "
           "process."),
    text("time_zone", nullptr, kTimeZone, "IANA name for what people read; empty = the system's."),
    word("log.level", "info", "debug|info|warn|error", "Least level that is written."),
};

std::vector<std::string_view> segments(std::string_view path) { return base::split(path, '.'); }

bool matches(std::string_view pattern, std::string_view path, bool prefix) {
  const auto want = segments(pattern);
  const auto have = segments(path);
  if (prefix ? have.size() >= want.size() : have.size() != want.size()) return false;
  for (std::size_t i = 0; i < have.size(); ++i) {
    if (want[i] != "*" && want[i] != have[i]) return false;
  }
  return true;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const KeySpec> config_schema() { return kSchema; }

const KeySpec* find_key(std::string_view path) {
  for (const KeySpec& spec : kSchema) {
    if (matches(spec.path, path, false)) return &spec;
  }
  return nullptr;
}

bool is_section(std::string_view path) {
  return std::any_of(kSchema.begin(), kSchema.end(),
                     [&](const KeySpec& spec) { return matches(spec.path, path, true); });
}

std::string nearest_key(std::string_view path) {
  constexpr std::size_t kMaxCompared = 80;  // characters: nobody misspells a longer key by three
  constexpr std::size_t kNear = 3;
  if (path.size() > kMaxCompared) return {};
  std::string best;
  std::size_t best_distance = kNear + 1;
  for (const KeySpec& spec : kSchema) {
    const std::size_t distance = edit_distance(path, spec.path);
    if (distance < best_distance) {
      best_distance = distance;
      best = spec.path;
    }
  }
  return best;
}

std::string environment_name(std::string_view path) {
  std::string name = "WAYBILL";
  for (const std::string_view segment : segments(path)) {
    name += '_';
    if (segment == "*") {
      name += "NAME";
      continue;
    }
    for (const char c : segment) {
      name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
  }
  return name;
}

}  // namespace waybill::app
