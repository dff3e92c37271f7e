// The configuration as the structs that the modules take. Reads every key of the schema; a test
// proves it.

#ifndef WAYBILL_APP_SETTINGS_H_
#define WAYBILL_APP_SETTINGS_H_

#include <string>
#include <vector>

#include "api/api.h"
#include "api/jwt.h"
#include "app/config.h"
#include "app/log_sink.h"
#include "base/result.h"
#include "core/decide.h"
#include "dispatch/dispatch.h"
#include "exporting/file_keeper.h"
#include "exporting/settings.h"
#include "http/server.h"
#include "registry/registry.h"

namespace waybill::app {

// How much one provider service is asked at a time; 0 = no limit.
struct ServiceLimit {
  std::string base_url;
  double rate_per_second = 0;
  std::int64_t max_concurrent = 0;
};

struct Settings {
  ListenAddress server, management;
  int handler_threads = 8;
  http::Limits http_limits;
  bool serve_api = true;
  std::string database_path;
  core::RetryPolicy retry;
  std::string files_path;
  base::Millis registry_check_ms = 5'000;
  registry::RegistryOptions registry;
  std::vector<ServiceLimit> services;
  dispatch::Settings dispatch;  // without owner
  dispatch::RoleSwitches roles;
  exporting::ExportSettings exporting;  // without owner
  exporting::FileKeeperSettings keeper;
  api::ApiSettings api;
  api::JwtSettings jwt;
  base::LogLevel log_level = base::LogLevel::kInfo;
  base::TimeZone time_zone;
};

// Reads secrets from their files. kInvalid naming key and file when one is missing, empty,
// unreadable or, outside loopback, too weak.
base::Result<Settings> make_settings(const Config& config);

// The first line of a file that holds a secret, without blanks around it. kInvalid when the file is
// missing, empty or larger than kMaxSecretBytes.
base::Result<std::string> read_secret(const std::string& file);
inline constexpr std::size_t kMaxSecretBytes = 16u << 10;

}  // namespace waybill::app

#endif  // WAYBILL_APP_SETTINGS_H_
