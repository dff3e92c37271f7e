// The effective configuration: every key's value and where it came from. Precedence: command line,
// environment, file, default. Loading either gives a configuration that passed every check, or the
// list of everything wrong with it.

#ifndef WAYBILL_APP_CONFIG_H_
#define WAYBILL_APP_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/config_schema.h"
#include "base/clock.h"

namespace waybill::app {

enum class Origin : std::uint8_t { kDefault, kFile, kEnvironment, kCommandLine };

struct ConfigValue {
  std::vector<std::string> items;  // one for everything but lists
  Origin origin = Origin::kDefault;
  std::string where;  // "waybill.yaml:12", "WAYBILL_TIME_ZONE", "--set", "default"
};

// Not thread-safe (reads are noted); used at start-up only. Getters take full paths of the schema
// and check that the key exists and has that type: a wrong path is a programmer's error.
class Config {
 public:
  [[nodiscard]] bool has(std::string_view path) const;
  [[nodiscard]] bool boolean(std::string_view path) const;
  [[nodiscard]] std::int64_t integer(std::string_view path) const;
  [[nodiscard]] double number(std::string_view path) const;
  // A number or list whose unit is s, min, h or days.
  [[nodiscard]] base::Millis millis(std::string_view path) const;
  [[nodiscard]] std::vector<base::Millis> millis_list(std::string_view path) const;
  // Empty when not set. A kPath comes back resolved.
  [[nodiscard]] std::string text(std::string_view path) const;
  // The names of a section: names("lanes") -> {"export"}.
  [[nodiscard]] std::vector<std::string> names(std::string_view section) const;
  // Where the value stands, for messages.
  [[nodiscard]] std::string where(std::string_view path) const;

  [[nodiscard]] const std::map<std::string, ConfigValue, std::less<>>& values() const {
    return values_;
  }
  // Keys that no getter has asked for: a test proves that no documented key is ignored.
  [[nodiscard]] std::vector<std::string> unread() const;

 private:
  friend class ConfigLoader;
  const ConfigValue* find(std::string_view path) const;
  std::map<std::string, ConfigValue, std::less<>> values_;  // full paths; defaults included
  std::string folder_;                                      // of the file, for relative paths
  mutable std::set<std::string, std::less<>> read_;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct ConfigSources {
  std::optional<std::string> file_text;  // absent: no file
  std::string file_name;                 // shown in messages; relative paths start at its folder
  Pairs environment;                     // WAYBILL_... only
  Pairs overrides;                       // --set key=value, in order
};

struct LoadedConfig {
  std::optional<Config> config;
  std::vector<std::string>
      problems;  // one line each: "waybill.yaml:12: publisher.poll_seconds: ..."
};

LoadedConfig load_config(const ConfigSources& sources);

// The process's WAYBILL_... variables.
Pairs waybill_environment();

// For `config show`. `effective`: defaults too. Secrets are masked.
std::string show_yaml(const Config& config, bool effective);
std::string show_json(const Config& config, bool effective);

// A URL with the password of its user part masked.
std::string mask_url(std::string_view url);
inline constexpr std::string_view kMask = "********";

// ---- used by the loader's parts ----

struct RawValue {
  std::string path;
  std::vector<std::string> items;
  bool is_list = false;
  bool quoted = false;  // a quoted scalar is a text, never a number
  Origin origin = Origin::kFile;
  std::string where;
};
// YAML -> flat list, unknown and repeated keys into `problems`.
std::vector<RawValue> read_yaml(std::string_view text, const std::string& name,
                                std::vector<std::string>& problems);
// Variables -> flat list. `known` are the values so far, which give the names that variables refer
// to.
std::vector<RawValue> read_environment(const Pairs& environment, const std::vector<RawValue>& known,
                                       std::vector<std::string>& problems);
// Rules between keys ("heartbeat * 3 > lease").
void check_relations(const Config& config, std::vector<std::string>& problems);

// "host:port" of a listen key. Null for anything else.
struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;
};
std::optional<ListenAddress> parse_listen(std::string_view text);
bool is_loopback(std::string_view host);

}  // namespace waybill::app

#endif  // WAYBILL_APP_CONFIG_H_
