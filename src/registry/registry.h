// The controlled list of export types (design of the file: docs/formats.md). A snapshot is
// immutable; a reload either replaces the whole snapshot or changes nothing.

#ifndef WAYBILL_REGISTRY_REGISTRY_H_
#define WAYBILL_REGISTRY_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/task.h"

namespace waybill::registry {

enum class AppScope : std::uint8_t { kPlatform, kMerchant };
std::string_view to_string(AppScope scope);  // "PLATFORM", "MERCHANT"

// A JSON Schema subset for parameters: drives validation and a console's form.
enum class ParameterType : std::uint8_t {
  kString,
  kInteger,
  kNumber,
  kBoolean,
  kDate,
  kDateTime,
  kArray
};
struct Parameter {
  std::string name;
  std::string title_zh, title_en;
  ParameterType type = ParameterType::kString;
  bool required = false;
  std::vector<std::string> allowed;                    // enum; empty = any
  std::optional<double> minimum, maximum;              // numbers
  std::optional<std::int64_t> min_length, max_length;  // strings, in characters
  std::string pattern;       // ECMAScript-like, checked at load; empty = any
  std::string default_json;  // empty = none
  ParameterType item_type = ParameterType::kString;  // of an array
};

struct ExportType {
  std::string key;  // [A-Z][A-Z0-9_]{0,63}
  std::string title_zh, title_en;
  std::string provider_service;
  std::string provider_path;
  std::string required_permission;
  AppScope app_scope = AppScope::kPlatform;
  bool enabled = true;
  std::int64_t max_rows = 200'000;  // 1..500000
  std::int32_t max_attempts = 3;    // 1..5
  std::int32_t batch_size = 500;    // 50..1000 rows per page
  std::string lane = "export";
  core::Level priority = 2;
  base::Millis max_duration_ms = 1'800'000;  // 1..720 minutes
  base::Millis retention_ms = 604'800'000;   // 1..8760 hours
  std::int64_t max_file_bytes = 50ll << 20;  // 1..4096 MiB
  std::vector<Parameter> parameters;         // in the file's order; unknown parameters are refused
  bool any_parameters = false;  // no `parameters` key: anything within the general limits
};

struct Snapshot {
  std::map<std::string, ExportType, std::less<>> exports;
  std::int64_t generation = 1;  // grows with every successful load
  [[nodiscard]] const ExportType* find_export(std::string_view type) const;
};

struct ReloadResult {
  bool ok = true;
  std::string error;  // names file, line, entry and rule
  std::int64_t generation = 0;
};

struct RegistryOptions {
  std::string file;
  std::vector<std::string> allowed_services;  // the start-up allow-list; never reloaded
  base::Millis default_max_duration_ms = 1'800'000;
  base::Millis default_retention_ms = 604'800'000;
  std::int64_t default_max_file_bytes = 50ll << 20;
};

// Parses and checks a registry text (its rules: docs/formats.md). kInvalid or kLimit names the
// entry
// ("definitions.CUSTOMER_LIST.max_rows"), the line and the rule. `name` is shown in messages. The
// text ends with a line break; one that does not is taken for a file that was cut off. The
// snapshot's generation is 1.
base::Result<Snapshot> parse_registry(std::string_view yaml, const std::string& name,
                                      const RegistryOptions& options);

// Thread-safe. current() never blocks on a reload.
class Registry {
 public:
  // Any failure: no registry, and the process must not start.
  static base::Result<std::unique_ptr<Registry>> load(RegistryOptions options);

  [[nodiscard]] std::shared_ptr<const Snapshot> current() const;
  // Reads the file again. On any failure the old snapshot stays in force and the result says why.
  // Once a file that ends with the line "..." is in force, one without it is refused as cut off.
  ReloadResult reload();
  // Reloads when the file changed since it was read (mtime, size, inode) and is the same as at the
  // last call: one that is still being written is left alone. nullopt when it did not reload.
  std::optional<ReloadResult> reload_if_changed();
  [[nodiscard]] ReloadResult last_result() const;
  // Called after every successful reload, from the reloading thread; must not reload. Register
  // before the first reload.
  void on_reload(std::function<void(const Snapshot&)> listener);

 private:
  struct Impl;
  explicit Registry(std::unique_ptr<Impl> impl);

 public:
  ~Registry();

 private:
  std::unique_ptr<Impl> impl_;
};

// Checks parameters (one JSON object as text; empty text = none) against a type and normalises
// them: keys sorted, no blanks, numbers by value (integers in decimal, others shortest round trip;
// integers beyond 64 bits are refused), defaults filled in. kInvalid or kLimit naming the field
// ("parameters.status") and the limit: <= 20 keys, <= 4 KiB, strings <= 256 characters, depth <= 2.
struct NormalisedParameters {
  std::string json;
  std::string hash;  // SHA-256 hex of type + '\n' + json
};
base::Result<NormalisedParameters> normalise_parameters(const ExportType& type,
                                                        std::string_view parameters_json);

inline constexpr std::size_t kMaxParameterKeys = 20;
inline constexpr std::size_t kMaxParametersBytes = 4096;
inline constexpr std::size_t kMaxParameterStringLength = 256;  // characters
inline constexpr int kMaxParameterDepth = 2;
inline constexpr std::size_t kMaxRegistryBytes = 4u << 20;
inline constexpr std::size_t kMaxRegistryEntries = 2'000;

}  // namespace waybill::registry

#endif  // WAYBILL_REGISTRY_REGISTRY_H_
