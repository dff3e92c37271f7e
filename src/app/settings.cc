#include "app/settings.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/text.h"

namespace waybill::app {
namespace {

base::LogLevel level_of(const std::string& word) {
  if (word == "debug") return base::LogLevel::kDebug;
  if (word == "warn") return base::LogLevel::kWarn;
  if (word == "error") return base::LogLevel::kError;
  return base::LogLevel::kInfo;
}

std::int64_t mebibytes(double number) { return std::llround(number * 1'048'576.0); }

void read_server(const Config& config, Settings& settings) {
  settings.server = parse_listen(config.text("server.listen")).value_or(ListenAddress{});
  settings.management = parse_listen(config.text("management.listen")).value_or(ListenAddress{});
  settings.handler_threads = static_cast<int>(config.integer("server.handler_threads"));
  settings.http_limits.max_connections =
      static_cast<std::size_t>(config.integer("server.max_connections"));
  settings.http_limits.max_connections_per_address =
      static_cast<std::size_t>(config.integer("server.max_connections_per_address"));
  settings.serve_api = config.boolean("roles.api");
  settings.api.http_status = config.text("api.http_status") == "rest"
                                 ? api::HttpStatusMode::kRest
                                 : api::HttpStatusMode::kPlatform;
}

void read_dispatch(const Config& config, Settings& settings) {
  dispatch::Settings& to = settings.dispatch;
  settings.retry.backoff_ms = config.millis_list("dispatch.retry_backoff_seconds");
  for (const std::string& lane : config.names("lanes")) {
    to.lanes.push_back({lane, static_cast<int>(config.integer("lanes." + lane + ".workers"))});
  }
  to.lease_ms = config.millis("dispatch.lease_seconds");
  to.heartbeat_ms = config.millis("dispatch.heartbeat_seconds");
  to.renewal_retry_ms = std::min(to.renewal_retry_ms, to.heartbeat_ms);
  to.sweep_after_ms = config.millis("dispatch.sweep_after_seconds");
  to.publisher_poll_ms = config.millis("publisher.poll_seconds");
  to.publisher_batch = config.integer("publisher.batch");
  to.command_lease_ms = config.millis("publisher.lease_seconds");
  to.send_deadline_ms = config.millis("publisher.batch_timeout_seconds");
  to.send_backoff_ms = config.millis_list("outbox.send_backoff_seconds");
  to.reconciler_period_ms = config.millis("reconciler.period_seconds");
  to.reconciler_due_for_ms = config.millis("reconciler.grace_seconds");
  to.stale_ms = config.millis("reconciler.stale_seconds");
  to.reconciler_batch = config.integer("reconciler.batch");
  to.clock_grace_ms = config.millis("reconciler.clock_grace_seconds");
  to.recovery_spread_ms = config.millis("dispatch.recovery_spread_seconds");
  to.sent_keep_ms = config.millis("outbox.retention_days");
  to.history_keep_ms = config.millis("retention.history_days");
  to.shutdown_grace_ms = config.millis("shutdown.grace_seconds");
  settings.roles.consumer = config.boolean("roles.consumer");
  settings.roles.reconciler = config.boolean("roles.reconciler");
  settings.roles.publisher = config.boolean("roles.publisher");
  settings.roles.dead_letter = config.boolean("roles.dead_letter");
}

// The token of this moment: a rotated file counts with the next request.
base::Status read_services(const Config& config, Settings& settings) {
  for (const std::string& name : config.names("provider_services")) {
    const std::string section = "provider_services." + name;
    exporting::ProviderService service;
    service.base_url = config.text(section + ".base_url");
    const std::string file = config.text(section + ".token_file");
    const std::string token = config.text(section + ".token");
    if (token.empty()) {
      if (const auto now = read_secret(file); !now.ok())
        return now.error().with_context(section + ".token_file");
      service.token = [file] { return read_secret(file); };
    } else {
      service.token = [token] { return base::Result<std::string>(token); };
    }
    settings.services.push_back({service.base_url, config.number(section + ".rate_per_second"),
                                 config.integer(section + ".max_concurrent")});
    settings.registry.allowed_services.push_back(name);
    settings.exporting.services.emplace(name, std::move(service));
  }
  return {};
}

void read_exporting(const Config& config, Settings& settings) {
  exporting::ExportSettings& to = settings.exporting;
  to.connect_timeout_ms = config.millis("export.connect_timeout_seconds");
  to.read_timeout_ms = config.millis("export.read_timeout_seconds");
  const auto delays = config.millis_list("export.page_retry_seconds");
  to.page_retry_ms.clear();
  for (std::int64_t i = 0; i < config.integer("export.page_retries"); ++i) {
    to.page_retry_ms.push_back(delays[std::min(static_cast<std::size_t>(i), delays.size() - 1)]);
  }
  to.time_zone = settings.time_zone;
  to.min_free_bytes = mebibytes(config.number("files.min_free_mib"));
  to.compression = config.text("export.compression") == "small" ? xlsx::Compression::kSmall
                                                                : xlsx::Compression::kFast;
  to.formula_guard = config.text("export.formula_guard") == "apostrophe"
                         ? xlsx::FormulaGuard::kApostrophe
                         : xlsx::FormulaGuard::kQuotePrefix;
  to.cell_refs = config.boolean("export.cell_refs");
  settings.keeper.scan_period_ms = config.millis("reconciler.files_period_seconds");
  settings.keeper.batch = config.integer("reconciler.batch");
  settings.registry.file = config.text("registry.file");
  settings.registry.default_max_duration_ms = config.millis("dispatch.max_duration_minutes");
  settings.registry.default_retention_ms = config.millis("export.retention_days");
  settings.registry.default_max_file_bytes = mebibytes(config.number("export.max_file_mib"));
  settings.registry_check_ms = config.millis("registry.check_seconds");
}

void read_limits(const Config& config, Settings& settings) {
  store::CreateLimits& to = settings.api.limits;
  to.active_per_user = config.integer("limits.active_per_user");
  to.active_per_type = config.integer("limits.active_per_type");
  to.type_limit_global = config.text("limits.active_per_type_scope") == "global";
  to.dedup_window_ms = config.millis("limits.dedup_window_seconds");
  to.idempotency_keep_ms = config.millis("retention.idempotency_hours");
  settings.api.requests_per_user_per_second = config.integer("limits.requests_per_user_per_second");
  settings.api.requests_burst = config.integer("limits.requests_burst");
}

base::Status read_authentication(const Config& config, Settings& settings) {
  api::JwtSettings& to = settings.jwt;
  to.algorithm = config.text("auth.jwt.algorithm");
  if (config.has("auth.jwt.secret")) to.secrets.push_back(config.text("auth.jwt.secret"));
  for (const char* key : {"auth.jwt.secret_file", "auth.jwt.previous_secret_file"}) {
    if (!config.has(key)) continue;
    auto secret = read_secret(config.text(key));
    if (!secret.ok()) return secret.error().with_context(key);
    to.secrets.push_back(std::move(*secret));
  }
  // Demo tokens are only accepted where no other machine can send them (a rule of the
  // configuration).
  const bool loopback = config.text("auth.mode") == "demo" || is_loopback(settings.server.host);
  if (!loopback) {
    for (const std::string& secret : to.secrets) {
      if (const auto strong = api::check_secret(secret); !strong.ok())
        return strong.error().with_context("auth.jwt");
    }
  }
  to.issuer = config.text("auth.jwt.issuer");
  to.audience = config.text("auth.jwt.audience");
  to.claims = {.user = config.text("auth.jwt.claims.user"),
               .tenant = config.text("auth.jwt.claims.tenant"),
               .app_code = config.text("auth.jwt.claims.app_code"),
               .access_domain = config.text("auth.jwt.claims.access_domain"),
               .permissions = config.text("auth.jwt.claims.permissions")};
  return {};
}

}  // namespace

base::Result<Settings> make_settings(const Config& config) {
  Settings settings;
  WAYBILL_ASSIGN(settings.time_zone, base::TimeZone::find(config.text("time_zone")));
  settings.api.time_zone = settings.time_zone;
  settings.log_level = level_of(config.text("log.level"));
  settings.database_path = config.text("database.url").substr(std::string_view("sqlite:").size());
  settings.files_path = config.text("files.directory.path");
  if (config.text("transport.kind") != "embedded") return base::internal("no such transport");
  read_server(config, settings);
  read_dispatch(config, settings);
  read_exporting(config, settings);
  read_limits(config, settings);
  WAYBILL_TRY(read_services(config, settings));
  WAYBILL_TRY(read_authentication(config, settings));
  return settings;
}

base::Result<std::string> read_secret(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(kMaxSecretBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (text.empty())
    return base::invalid(file,
                         "the file " + file + " with the secret is missing, unreadable or empty");
  if (text.size() > kMaxSecretBytes)
    return base::invalid(file, "the file " + file + " is too large for a secret");
  const std::string secret(base::trim(std::string_view(text).substr(0, text.find('\n'))));
  if (secret.empty()) return base::invalid(file, "the first line of " + file + " is empty");
  return secret;
}

}  // namespace waybill::app
