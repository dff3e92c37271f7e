#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "app/config.h"
#include "base/text.h"

namespace waybill::app {
namespace {

constexpr std::string_view kPrefix = "WAYBILL_";

// Read by the command line, not configuration of the server.
constexpr std::array<std::string_view, 4> kClientVariables{"WAYBILL_URL", "WAYBILL_TOKEN",
                                                           "WAYBILL_DATA", "WAYBILL_CONFIG"};

// What Kubernetes and old Docker links put beside a service called "waybill...".
bool is_service_link(std::string_view name) {
  for (const std::string_view end : {"_SERVICE_HOST", "_SERVICE_PORT", "_PORT"}) {
    if (name.ends_with(end)) return true;
  }
  return name.find("_SERVICE_PORT_") != name.npos || name.find("_TCP") != name.npos ||
         name.find("_UDP") != name.npos;
}

// WAYBILL_LIMITS_... is meant for us; WAYBILL_BUILD is somebody else's.
bool names_a_section(std::string_view variable) {
  const auto schema = config_schema();
  return std::any_of(schema.begin(), schema.end(), [&](const KeySpec& spec) {
    return variable.starts_with(environment_name(base::split(spec.path, '.')[0]) + "_");
  });
}

std::string name_part(std::string_view path, std::string_view pattern) {
  const auto have = base::split(path, '.');
  const auto want = base::split(pattern, '.');
  for (std::size_t i = 0; i < want.size() && i < have.size(); ++i) {
    if (want[i] == "*") return std::string(have[i]);
  }
  return {};
}

std::string upper(std::string_view name) { return environment_name(name).substr(kPrefix.size()); }

// WAYBILL_LANES_BIG_ONES_WORKERS -> lanes.big-ones.workers: a name of the file that is written so,
// else the variable's own words in lower case joined by '-'.
std::string path_of_named(const KeySpec& spec, std::string_view middle,
                          const std::vector<RawValue>& known) {
  const std::string pattern = spec.path;
  const std::size_t star = pattern.find('*');
  const std::string section = pattern.substr(0, star);
  std::string name;
  for (const RawValue& value : known) {
    if (!value.path.starts_with(section)) continue;
    const std::string candidate = name_part(value.path, pattern);
    if (!candidate.empty() && upper(candidate) == middle) name = candidate;
  }
  if (name.empty()) {
    for (const char c : middle) {
      name += c == '_' ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
  }
  return section + name + pattern.substr(star + 1);
}

std::string path_of(std::string_view variable, const std::vector<RawValue>& known) {
  for (const KeySpec& spec : config_schema()) {
    if (std::string_view(spec.path).find('*') == std::string_view::npos &&
        environment_name(spec.path) == variable) {
      return spec.path;
    }
  }
  const KeySpec* best = nullptr;
  std::string_view middle;
  for (const KeySpec& spec : config_schema()) {
    const std::string_view path = spec.path;
    const std::size_t star = path.find('*');
    if (star == std::string_view::npos) continue;
    const std::string before = environment_name(path.substr(0, star - 1)) + "_";
    const std::string after = "_" + upper(path.substr(star + 2));
    if (variable.size() <= before.size() + after.size() || !variable.starts_with(before) ||
        !variable.ends_with(after)) {
      continue;
    }
    // The longest ending wins: ..._TOKEN_FILE is token_file, never a service called "..._token".
    if (best == nullptr ||
        std::string_view(spec.path).substr(star).size() >
            std::string_view(best->path).substr(std::string_view(best->path).find('*')).size()) {
      best = &spec;
      middle = variable.substr(before.size(), variable.size() - before.size() - after.size());
    }
  }
  return best == nullptr ? std::string() : path_of_named(*best, middle, known);
}

}  // namespace

std::vector<RawValue> read_environment(const Pairs& environment, const std::vector<RawValue>& known,
                                       std::vector<std::string>& problems) {
  std::vector<RawValue> values;
  for (const auto& [variable, content] : environment) {
    if (std::find(kClientVariables.begin(), kClientVariables.end(), variable) !=
        kClientVariables.end())
      continue;
    const std::string path = path_of(variable, known);
    if (path.empty()) {
      if (names_a_section(variable) && !is_service_link(variable)) {
        problems.push_back(base::printable(variable, 200) +
                           ": unknown variable: no configuration key has this name");
      }
      continue;
    }
    RawValue value;
    value.path = path;
    value.items.push_back(content);
    value.origin = Origin::kEnvironment;
    value.where = variable;
    values.push_back(std::move(value));
  }
  return values;
}

Pairs waybill_environment() {
  Pairs pairs;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !text.starts_with(kPrefix)) continue;
    pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

}  // namespace waybill::app
