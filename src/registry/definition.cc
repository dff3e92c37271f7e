// parse_registry(): the checks of one registry file.

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "core/validate.h"
#include "registry/map_reader.h"
#include "registry/parameter_schema.h"
#include "registry/registry.h"
#include "registry/yaml_tree.h"

namespace waybill::registry {

namespace {

constexpr std::string_view kPathPrefix = "/internal/exports/v1/";
constexpr std::string_view kPathSuffix = "/batches";
constexpr std::size_t kMaxPermissionLength = 128;  // characters
constexpr base::Millis kMinuteMs = 60'000;
constexpr base::Millis kHourMs = 3'600'000;
constexpr std::int64_t kMib = 1 << 20;

// ^[a-z]+:[a-z-]+:[a-z-]+$
bool valid_permission(std::string_view permission) {
  const auto parts = base::split(permission, ':');
  if (parts.size() != 3 || permission.size() > kMaxPermissionLength) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool dash = i > 0;
    if (parts[i].empty() || !std::all_of(parts[i].begin(), parts[i].end(), [&](char c) {
          return (c >= 'a' && c <= 'z') || (dash && c == '-');
        })) {
      return false;
    }
  }
  return true;
}

// ^/internal/exports/v1/[A-Z0-9_]+/batches$ whose type is the entry's key.
void check_path(MapReader& reader, const ExportType& type) {
  std::string_view path = type.provider_path;
  const bool framed = path.starts_with(kPathPrefix) && path.ends_with(kPathSuffix) &&
                      path.size() > kPathPrefix.size() + kPathSuffix.size();
  if (framed)
    path = path.substr(kPathPrefix.size(), path.size() - kPathPrefix.size() - kPathSuffix.size());
  const bool word = framed && std::all_of(path.begin(), path.end(), [](char c) {
                      return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
                    });
  if (!word) {
    reader.fail("provider_path",
                "must be /internal/exports/v1/TYPE/batches with TYPE of A-Z, 0-9 and _");
  } else if (path != type.key) {
    reader.fail("provider_path",
                "names the type " + base::printable(path, 80) + ", the entry is " + type.key);
  }
}

void read_provider(MapReader& reader, const RegistryOptions& options, ExportType& type) {
  reader.text("provider_service", type.provider_service, true);
  reader.text("provider_path", type.provider_path, true);
  if (reader.failed()) return;
  const auto& allowed = options.allowed_services;
  if (std::find(allowed.begin(), allowed.end(), type.provider_service) == allowed.end()) {
    reader.fail("provider_service",
                "\"" + base::printable(type.provider_service, 80) +
                    "\" is not one of provider_services in the start-up configuration");
  }
  check_path(reader, type);
}

void read_access(MapReader& reader, ExportType& type) {
  reader.text("required_permission", type.required_permission, true);
  if (!reader.failed() && !valid_permission(type.required_permission)) {
    reader.fail("required_permission", "must have the form area:thing-kind:deed, lower case");
  }
  std::string scope;
  reader.text("app_scope", scope, true);
  if (scope == to_string(AppScope::kMerchant)) {
    type.app_scope = AppScope::kMerchant;
  } else if (scope != to_string(AppScope::kPlatform)) {
    reader.fail("app_scope", "must be PLATFORM or MERCHANT");
  }
  reader.boolean("enabled", type.enabled);
}

void read_limits(MapReader& reader, const RegistryOptions& options, ExportType& type) {
  std::int64_t attempts = type.max_attempts, batch = type.batch_size;
  reader.integer("max_rows", type.max_rows, 1, 500'000);
  reader.integer("max_attempts", attempts, 1, 5);
  reader.integer("batch_size", batch, 50, 1'000);
  type.max_attempts = static_cast<std::int32_t>(attempts);
  type.batch_size = static_cast<std::int32_t>(batch);

  std::optional<double> minutes, hours;
  std::int64_t mib = 0;
  reader.number("max_duration_minutes", minutes, 1, 720);
  reader.number("retention_hours", hours, 1, 8'760);
  reader.integer("max_file_mib", mib, 1, 4'096);
  const auto millis = [](double value, base::Millis unit) {
    return std::lround(value * static_cast<double>(unit));
  };
  type.max_duration_ms = minutes ? millis(*minutes, kMinuteMs) : options.default_max_duration_ms;
  type.retention_ms = hours ? millis(*hours, kHourMs) : options.default_retention_ms;
  type.max_file_bytes = mib > 0 ? mib * kMib : options.default_max_file_bytes;
}

void read_order(MapReader& reader, ExportType& type) {
  reader.text("lane", type.lane);
  if (!core::valid_lane(type.lane)) {
    reader.fail("lane",
                "must be a lower-case letter, then letters, digits and -, at most 32 characters");
  }
  std::string priority(core::level_name(type.priority));
  reader.text("priority", priority);
  if (const auto level = core::parse_level(priority)) {
    type.priority = *level;
  } else {
    reader.fail("priority", "must be P0, P1, P2 or P3");
  }
}

base::Result<ExportType> read_type(const YamlNode::Field& field, const std::string& name,
                                   const std::string& path, const RegistryOptions& options) {
  if (!core::valid_type(field.key)) {
    return rule_error(name, field.line, path,
                      "a key must be A-Z, then A-Z, 0-9 and _, at most 64 characters");
  }
  ExportType type;
  type.key = field.key;
  MapReader reader(field.value, name, path);
  read_title(reader, type.title_zh, type.title_en, true);
  read_provider(reader, options, type);
  read_access(reader, type);
  read_limits(reader, options, type);
  read_order(reader, type);
  const YamlNode* parameters = reader.get("parameters");
  type.any_parameters = parameters == nullptr;
  WAYBILL_TRY(reader.finish());
  if (parameters != nullptr) {
    WAYBILL_ASSIGN(type.parameters, read_parameter_schema(*parameters, name, path + ".parameters"));
  }
  return type;
}

}  // namespace

std::string_view to_string(AppScope scope) {
  return scope == AppScope::kMerchant ? "MERCHANT" : "PLATFORM";
}

const ExportType* Snapshot::find_export(std::string_view type) const {
  const auto found = exports.find(type);
  return found == exports.end() ? nullptr : &found->second;
}

base::Result<Snapshot> parse_registry(std::string_view yaml, const std::string& name,
                                      const RegistryOptions& options) {
  WAYBILL_ASSIGN(const YamlNode root, parse_yaml(yaml, name));
  MapReader reader(root, name, "");
  const YamlNode* definitions = reader.get("definitions", true);
  WAYBILL_TRY(reader.finish());
  Snapshot snapshot;
  MapReader entries(*definitions, name, "definitions");
  for (const auto& field : definitions->fields) {
    entries.get(field.key);
    const std::string path = "definitions." + base::printable(field.key, 80);
    WAYBILL_ASSIGN(ExportType type, read_type(field, name, path, options));
    snapshot.exports.emplace(field.key, std::move(type));
  }
  WAYBILL_TRY(entries.finish());
  return snapshot;
}

}  // namespace waybill::registry
