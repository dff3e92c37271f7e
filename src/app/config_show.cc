// What people read of the configuration: `config show` and docs/configuration.md.

#include <algorithm>
#include <charconv>

#include "app/config.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace waybill::app {
namespace {

bool is_list(const KeySpec& spec) {
  return spec.type == KeyType::kNumberList || spec.type == KeyType::kTextList;
}
bool is_text(const KeySpec& spec) {
  return spec.type == KeyType::kText || spec.type == KeyType::kTextList;
}

std::string shown(const KeySpec& spec, const std::string& item) {
  if (spec.format == KeyFormat::kSecret) return std::string(kMask);
  if (spec.format == KeyFormat::kDatabaseUrl || spec.format == KeyFormat::kHttpUrl)
    return mask_url(item);
  return item;
}

// A YAML scalar; JSON's strings are YAML's double-quoted ones.
std::string yaml_scalar(const KeySpec& spec, const std::string& item) {
  std::string text = shown(spec, item);
  if (!is_text(spec)) return text;
  std::string quoted;
  base::append_json_string(quoted, text);
  return quoted;
}

std::string yaml_value(const KeySpec& spec, const ConfigValue& value) {
  if (!is_list(spec)) return yaml_scalar(spec, value.items.front());
  std::string text = "[";
  for (const std::string& item : value.items)
    text += (text.size() > 1 ? ", " : "") + yaml_scalar(spec, item);
  return text + "]";
}

struct Line {
  std::string path;
  const KeySpec* spec;
  const ConfigValue* value;
};

// In the schema's order; the keys of one name stand together.
std::vector<Line> lines_of(const Config& config, bool effective) {
  std::vector<Line> lines;
  for (const auto& [path, value] : config.values()) {
    if (effective || value.origin != Origin::kDefault)
      lines.push_back({path, find_key(path), &value});
  }
  const auto section_rank = [](const Line& line) {
    const auto schema = config_schema();
    const auto root = base::split(line.path, '.')[0];
    return std::find_if(
               schema.begin(), schema.end(),
               [&](const KeySpec& spec) { return base::split(spec.path, '.')[0] == root; }) -
           schema.begin();
  };
  const auto name = [](const Line& line) {
    const bool named = std::string_view(line.spec->path).find('*') != std::string_view::npos;
    return named ? std::string(base::split(line.path, '.')[1]) : std::string();
  };
  std::sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
    return std::tuple(section_rank(a), name(a), a.spec) <
           std::tuple(section_rank(b), name(b), b.spec);
  });
  return lines;
}

std::string number_text(double number) {
  char buffer[32];
  return {buffer,
          std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed).ptr};
}

std::string type_text(const KeySpec& spec) {
  switch (spec.type) {
    case KeyType::kBool:
      return "true / false";
    case KeyType::kInteger:
      return "integer";
    case KeyType::kNumber:
      return "number";
    case KeyType::kNumberList:
      return "list of numbers";
    case KeyType::kTextList:
      return "list of texts";
    case KeyType::kText:
      break;
  }
  if (*spec.choices != '\0') {
    std::string words = spec.choices;
    std::replace(words.begin(), words.end(), '|', ',');
    for (std::size_t at = 0; (at = words.find(',', at)) != std::string::npos; at += 2)
      words.replace(at, 1, ", ");
    return words;
  }
  switch (spec.format) {
    case KeyFormat::kListen:
      return "address:port";
    case KeyFormat::kHttpUrl:
      return "URL";
    case KeyFormat::kDatabaseUrl:
      return "database URL";
    case KeyFormat::kPath:
      return "path";
    case KeyFormat::kSecret:
      return "secret";
    case KeyFormat::kTimeZone:
      return "time zone";
    case KeyFormat::kPlain:
      break;
  }
  return "text";
}

constexpr std::string_view kIntroduction = R"(# Configuration

<!-- Made by `waybill config docs`; a test compares the two. Change src/app/config_schema.cc. -->

One YAML file, given by `waybill serve --config FILE` (or `WAYBILL_CONFIG`). Each key can be
overridden by the environment variable beside it and by `--set key=value`; precedence is command
line, environment, file, default. Unknown keys, wrong types and impossible combinations are refused
at start with the file's line and the key's path; `waybill config check` does only that,
`waybill config show --effective` prints every value and where it comes from, secrets masked.

- Numbers take decimals where the type says *number*, also for seconds and minutes. Lists are
  `[60, 900]` in the file and `60, 900` in a variable.
- Paths in the file are relative to the file's folder, others to the working folder.
- `NAME` is a name of yours (letters, digits, `-`, `_`; at most 32). In a variable it is written in
  upper case with `_` for `-`: `WAYBILL_PROVIDER_SERVICES_IAM_SERVICE_BASE_URL` is
  `provider_services.iam-service.base_url`.
- A variable that begins like a section (`WAYBILL_LIMITS_...`) and names no key is refused; other
  `WAYBILL_...` variables are nobody's business here.
- The section `lanes` may be missing: then there is the lane `export`.

Combinations that are refused: three heartbeats longer than a lease; a provider read time-out of a
lease or more; a reconciler period of its clock grace or more; a batch time-out of more than a
quarter of the publisher's lease; a request burst below the rate; the same address for both
listeners; a service without address or token; a missing, doubled, short or well-known secret (the
last two outside loopback); demo authentication outside loopback; a broker's role without a broker;
every role switched off.
)";

}  // namespace

std::string show_yaml(const Config& config, bool effective) {
  std::string out;
  std::vector<std::string> open;
  for (const Line& line : lines_of(config, effective)) {
    const auto parts = base::split(line.path, '.');
    std::size_t common = 0;
    while (common < open.size() && common + 1 < parts.size() && open[common] == parts[common])
      ++common;
    open.resize(common);
    for (; open.size() + 1 < parts.size(); open.emplace_back(parts[open.size()])) {
      out += std::string(open.size() * 2, ' ') + std::string(parts[open.size()]) + ":\n";
    }
    out += std::string(open.size() * 2, ' ') + std::string(parts.back()) + ": " +
           yaml_value(*line.spec, *line.value) + "  # " + line.value->where + "\n";
  }
  return out;
}

std::string show_json(const Config& config, bool effective) {
  base::JsonWriter json;
  json.begin_object();
  for (const Line& line : lines_of(config, effective)) {
    json.key(line.path).begin_object().key("value");
    if (is_list(*line.spec)) json.begin_array();
    for (const std::string& item : line.value->items) {
      if (is_text(*line.spec)) {
        json.value(shown(*line.spec, item));
      } else {
        json.raw(item);
      }
    }
    if (is_list(*line.spec)) json.end_array();
    json.field("from", line.value->where).end_object();
  }
  json.end_object();
  return json.take();
}

std::string configuration_document() {
  std::string out(kIntroduction);
  std::string section;
  for (const KeySpec& spec : config_schema()) {
    const std::string root(base::split(spec.path, '.')[0]);
    if (root != section) {
      section = root;
      out += "\n## " + root +
             "\n| key | type | default | unit | limits | meaning |\n|---|---|---|---|---|---|\n";
    }
    std::string path = spec.path;
    if (const std::size_t star = path.find('*'); star != std::string::npos)
      path.replace(star, 1, "NAME");
    const bool bounded = spec.type == KeyType::kInteger || spec.type == KeyType::kNumber ||
                         spec.type == KeyType::kNumberList;
    std::string fallback = spec.fallback == nullptr ? "" : spec.fallback;
    if (spec.type == KeyType::kNumberList) fallback = "[" + fallback + "]";
    out += "| `" + path + "`<br>`" + environment_name(spec.path) + "` | " + type_text(spec) +
           " | " + (fallback.empty() ? "" : "`" + fallback + "`") + " | " + spec.unit + " | " +
           (bounded ? number_text(spec.min) + " .. " + number_text(spec.max) : "") + " | " +
           spec.description + " |\n";
  }
  return out;
}

std::string mask_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t start = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t slash = url.find('/', start);
  const std::size_t at = url.substr(0, slash).rfind('@');
  const std::size_t colon = url.find(':', start);
  if (at == std::string_view::npos || at < start || colon == std::string_view::npos || colon > at)
    return std::string(url);
  return std::string(url.substr(0, colon + 1)) + std::string(kMask) + std::string(url.substr(at));
}

}  // namespace waybill::app
