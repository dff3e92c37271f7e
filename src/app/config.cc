#include "app/config.h"

#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/check.h"
#include "base/text.h"
#include "base/time_zone.h"
#include "client/url.h"

namespace waybill::app {
namespace {

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::string plain(double number) {
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr;
  return {buffer, end};
}

double unit_ms(std::string_view unit) {
  if (unit == "s") return 1'000;
  if (unit == "min") return 60'000;
  if (unit == "h") return 3'600'000;
  if (unit == "days") return 86'400'000;
  return 0;
}

// "[a, b]" and "a, b" -> items.
std::vector<std::string> split_list(std::string_view text) {
  text = base::trim(text);
  if (text.starts_with('[') && text.ends_with(']'))
    text = base::trim(text.substr(1, text.size() - 2));
  std::vector<std::string> items;
  if (text.empty()) return items;
  for (const std::string_view item : base::split(text, ',')) items.emplace_back(base::trim(item));
  return items;
}

bool is_list(KeyType type) { return type == KeyType::kNumberList || type == KeyType::kTextList; }
bool is_number(KeyType type) {
  return type == KeyType::kInteger || type == KeyType::kNumber || type == KeyType::kNumberList;
}

std::string check_number(const KeySpec& spec, const std::string& item, bool quoted) {
  const std::string shown = base::printable(item, 60);
  if (quoted) return "must be a number, not the quoted text \"" + shown + "\"";
  const auto value =
      spec.type == KeyType::kInteger && !base::parse_int(item) ? std::nullopt : parse_number(item);
  if (!value) {
    return std::string("must be a ") +
           (spec.type == KeyType::kInteger ? "whole number" : "number") + ", not \"" + shown + "\"";
  }
  if (*value < spec.min || *value > spec.max) {
    return "must be between " + plain(spec.min) + " and " + plain(spec.max) +
           (*spec.unit ? " " : "") + spec.unit + ", not " + shown;
  }
  return {};
}

bool valid_http_url(std::string_view text) {
  const std::size_t scheme = text.starts_with("http://") ? 7 : text.starts_with("https://") ? 8 : 0;
  if (scheme == 0 || text.size() == scheme || text[scheme] == '/' || text[scheme] == ':')
    return false;
  return text.find_first_of(" \t\r\n\"<>?#@") == std::string_view::npos;
}

std::string check_text(const KeySpec& spec, const std::string& item) {
  if (item.size() > kMaxTextLength)
    return "is longer than " + std::to_string(kMaxTextLength) + " bytes";
  if (!base::is_utf8(item)) return "is not UTF-8 text";
  const std::string shown = base::printable(item, 100);
  if (*spec.choices != '\0') {
    for (const std::string_view choice : base::split(spec.choices, '|')) {
      if (choice == item) return {};
    }
    std::string words = spec.choices;
    for (std::size_t at = 0; (at = words.find('|', at)) != std::string::npos; at += 4)
      words.replace(at, 1, " or ");
    return "must be " + words + ", not \"" + shown + "\"";
  }
  switch (spec.format) {
    case KeyFormat::kListen:
      if (!parse_listen(item))
        return "must be an address and a port such as 127.0.0.1:8080, not \"" + shown + "\"";
      break;
    case KeyFormat::kHttpUrl:
      if (!item.empty() && !valid_http_url(item)) {
        return "must be a URL such as http://host:8080 without user, query or fragment, not \"" +
               mask_url(shown) + "\"";
      }
      // What the client would refuse at the first request is told now.
      if (const auto url = client::parse_url(item, {}); !item.empty() && !url.ok())
        return "must be a URL such as http://host:8080: " + url.error().message;
      break;
    case KeyFormat::kDatabaseUrl:
      if (!item.starts_with("sqlite:") || item.size() == 7) {
        return "must be sqlite:/path/to/waybill.db, not \"" + mask_url(shown) + "\"";
      }
      break;
    case KeyFormat::kTimeZone:
      if (!item.empty() && !base::TimeZone::find(item).ok())
        return "unknown time zone \"" + shown + "\"";
      break;
    case KeyFormat::kPath:
      if (item.find('\0') != std::string::npos) return "contains a NUL character";
      break;
    case KeyFormat::kPlain:
    case KeyFormat::kSecret:
      break;
  }
  return {};
}

bool valid_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameLength) return false;
  return name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == name.npos;
}

}  // namespace

// Puts the sources together, checks each value, then the relations.
class ConfigLoader {
 public:
  explicit ConfigLoader(const ConfigSources& sources) : sources_(sources) {}

  LoadedConfig run() {
    for (const KeySpec& spec : config_schema()) {
      if (std::string_view(spec.path).find('*') == std::string_view::npos)
        set_default(spec, spec.path);
    }
    std::vector<RawValue> values;
    if (sources_.file_text) values = read_yaml(*sources_.file_text, sources_.file_name, problems_);
    const auto environment = read_environment(sources_.environment, values, problems_);
    values.insert(values.end(), environment.begin(), environment.end());
    read_overrides(values);
    for (const RawValue& value : values) set(value);
    add_named_defaults();
    config_.folder_ = std::filesystem::path(sources_.file_name).parent_path().string();
    if (problems_.empty()) check_relations(config_, problems_);
    LoadedConfig loaded;
    if (problems_.empty()) {
      config_.read_.clear();
      loaded.config = std::move(config_);
    }
    loaded.problems = std::move(problems_);
    return loaded;
  }

 private:
  void read_overrides(std::vector<RawValue>& values) {
    for (const auto& [path, content] : sources_.overrides) {
      if (find_key(path) == nullptr) {
        const std::string near = nearest_key(path);
        problems_.push_back("--set " + base::printable(path, 200) + ": unknown key" +
                            (near.empty() ? "" : " (did you mean " + near + "?)"));
        continue;
      }
      RawValue value;
      value.path = path;
      value.items.push_back(content);
      value.origin = Origin::kCommandLine;
      value.where = "--set";
      values.push_back(std::move(value));
    }
  }

  void set_default(const KeySpec& spec, const std::string& path) {
    if (spec.fallback == nullptr) return;
    ConfigValue value;
    value.where = "default";
    value.items =
        is_list(spec.type) ? split_list(spec.fallback) : std::vector<std::string>{spec.fallback};
    config_.values_.try_emplace(path, std::move(value));
  }

  // A lane or service that is named at all has all keys of its section.
  void add_named_defaults() {
    for (const KeySpec& spec : config_schema()) {
      const std::string path = spec.path;
      const std::size_t star = path.find('*');
      if (star == std::string::npos) continue;
      const std::string section = path.substr(0, star - 1);
      std::vector<std::string> names = config_.names(section);
      // One lane exists without being named: the registry's default.
      if (section == "lanes" && names.empty()) names.emplace_back("export");
      for (const std::string& name : names)
        set_default(spec, section + "." + name + path.substr(star + 1));
    }
  }

  void problem(const RawValue& value, const std::string& what) {
    problems_.push_back(value.where + ": " + base::printable(value.path, 200) + ": " + what);
  }

  void set(RawValue value) {
    const KeySpec& spec = *find_key(value.path);
    const std::string pattern = spec.path;
    if (const std::size_t star = pattern.find('*'); star != std::string::npos) {
      const std::string_view name = base::split(value.path, '.')[1];
      if (!valid_name(name)) {
        problem(value, "a name here has 1 to " + std::to_string(kMaxNameLength) +
                           " letters, digits, '-' or '_'");
        return;
      }
      if (config_.names(pattern.substr(0, star - 1)).size() >= kMaxConfigNames) {
        problem(value, "more than " + std::to_string(kMaxConfigNames) + " names");
        return;
      }
    }
    if (is_list(spec.type) && value.origin != Origin::kFile)
      value.items = split_list(value.items.front());
    if (is_list(spec.type) != value.is_list && value.origin == Origin::kFile) {
      problem(value, is_list(spec.type) ? "must be a list such as [1, 2]"
                                        : "must be one value, not a list");
      return;
    }
    if (is_list(spec.type) && (value.items.empty() || value.items.size() > kMaxListItems)) {
      problem(value, "must have 1 to " + std::to_string(kMaxListItems) + " items");
      return;
    }
    for (const std::string& item : value.items) {
      std::string wrong;
      if (is_number(spec.type)) {
        wrong = check_number(spec, item, value.quoted);
      } else if (spec.type == KeyType::kBool) {
        if (value.quoted || (item != "true" && item != "false")) {
          wrong = "must be true or false, not \"" + base::printable(item, 60) + "\"";
        }
      } else {
        wrong = check_text(spec, item);
      }
      if (!wrong.empty()) {
        problem(value, wrong);
        return;
      }
    }
    config_.values_.insert_or_assign(
        value.path, ConfigValue{std::move(value.items), value.origin, std::move(value.where)});
  }

  const ConfigSources& sources_;
  Config config_;
  std::vector<std::string> problems_;
};

LoadedConfig load_config(const ConfigSources& sources) { return ConfigLoader(sources).run(); }

const ConfigValue* Config::find(std::string_view path) const {
  WAYBILL_CHECK(find_key(path) != nullptr, "a configuration key that is not in the schema");
  read_.emplace(path);
  const auto found = values_.find(path);
  return found == values_.end() ? nullptr : &found->second;
}

bool Config::has(std::string_view path) const { return !text(path).empty(); }

bool Config::boolean(std::string_view path) const {
  const ConfigValue* value = find(path);
  return value != nullptr && value->items.front() == "true";
}

std::int64_t Config::integer(std::string_view path) const {
  const ConfigValue* value = find(path);
  return value == nullptr ? 0 : base::parse_int(value->items.front()).value_or(0);
}

double Config::number(std::string_view path) const {
  const ConfigValue* value = find(path);
  return value == nullptr ? 0 : parse_number(value->items.front()).value_or(0);
}

base::Millis Config::millis(std::string_view path) const {
  const auto list = millis_list(path);
  return list.empty() ? 0 : list.front();
}

std::vector<base::Millis> Config::millis_list(std::string_view path) const {
  const ConfigValue* value = find(path);
  const double factor = unit_ms(find_key(path)->unit);
  WAYBILL_CHECK(factor > 0, "a duration key without a unit of time");
  std::vector<base::Millis> list;
  if (value == nullptr) return list;
  for (const std::string& item : value->items) {
    list.push_back(
        static_cast<base::Millis>(std::llround(parse_number(item).value_or(0) * factor)));
  }
  return list;
}

std::string Config::text(std::string_view path) const {
  const ConfigValue* value = find(path);
  if (value == nullptr) return {};
  const std::string& text = value->items.front();
  const KeyFormat format = find_key(path)->format;
  if (value->origin != Origin::kFile || folder_.empty() || text.empty()) return text;
  if (format == KeyFormat::kPath) return (std::filesystem::path(folder_) / text).string();
  constexpr std::string_view kFileScheme = "sqlite:";
  if (format == KeyFormat::kDatabaseUrl && text.starts_with(kFileScheme)) {
    return std::string(kFileScheme) +
           (std::filesystem::path(folder_) / text.substr(kFileScheme.size())).string();
  }
  return text;
}

std::vector<std::string> Config::names(std::string_view section) const {
  std::set<std::string> names;
  const std::string prefix = std::string(section) + ".";
  for (const auto& [path, value] : values_) {
    if (path.starts_with(prefix))
      names.emplace(base::split(std::string_view(path).substr(prefix.size()), '.')[0]);
  }
  return {names.begin(), names.end()};
}

std::string Config::where(std::string_view path) const {
  const auto found = values_.find(path);
  return found == values_.end() ? "configuration" : found->second.where;
}

std::vector<std::string> Config::unread() const {
  std::vector<std::string> paths;
  for (const KeySpec& spec : config_schema()) {
    bool seen = false;
    for (const std::string& path : read_) seen = seen || find_key(path) == &spec;
    if (!seen) paths.emplace_back(spec.path);
  }
  return paths;
}

}  // namespace waybill::app
