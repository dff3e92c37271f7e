#include "registry/parameter_schema.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "core/validate.h"
#include "registry/map_reader.h"
#include "registry/parameter_value.h"

namespace waybill::registry {

namespace {

constexpr std::size_t kMaxTitleLength = 100;  // characters
constexpr std::size_t kMaxEnumValues = 200;
constexpr double kLargest = std::numeric_limits<double>::max();

bool valid_parameter_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && name.size() <= 64 && letter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::optional<ParameterType> type_of(std::string_view type, std::string_view format) {
  if (type == "string" && format == "date") return ParameterType::kDate;
  if (type == "string" && format == "date-time") return ParameterType::kDateTime;
  if (!format.empty()) return std::nullopt;
  if (type == "string") return ParameterType::kString;
  if (type == "integer") return ParameterType::kInteger;
  if (type == "number") return ParameterType::kNumber;
  if (type == "boolean") return ParameterType::kBoolean;
  if (type == "array") return ParameterType::kArray;
  return std::nullopt;
}

bool is_number(ParameterType type) {
  return type == ParameterType::kInteger || type == ParameterType::kNumber;
}
bool is_text(ParameterType type) {
  return type == ParameterType::kString || type == ParameterType::kDate ||
         type == ParameterType::kDateTime;
}

// A YAML scalar as the JSON that a request would contain. A value that is no number or truth value
// becomes a JSON string, which the checks of the parameter's type refuse.
std::string scalar_json(ParameterType type, const YamlNode& node) {
  const bool literal =
      node.plain && !node.text.empty() &&
      ((type == ParameterType::kBoolean && (node.text == "true" || node.text == "false")) ||
       (is_number(type) && node.text.find_first_not_of("0123456789+-.eE") == std::string::npos));
  if (literal) return node.text;
  std::string json;
  base::append_json_string(json, node.text);
  return json;
}

std::string value_json(const Parameter& parameter, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kScalar) return scalar_json(parameter.type, node);
  if (node.kind != YamlNode::Kind::kList) return "null";
  std::string json = "[";
  for (const YamlNode& item : node.items) {
    if (json.size() > 1) json += ',';
    json += item.kind == YamlNode::Kind::kScalar ? scalar_json(parameter.item_type, item) : "null";
  }
  return json + "]";
}

void read_type(MapReader& reader, ParameterType& out) {
  std::string type, format;
  reader.text("type", type, true);
  reader.text("format", format);
  if (reader.failed()) return;
  const auto found = type_of(type, format);
  if (!found) {
    reader.fail(format.empty() ? "type" : "format",
                "must be string (format: date or date-time), integer, number, boolean or array");
    return;
  }
  out = *found;
}

// Rules for a value, or for the items of an array.
void read_rules(MapReader& reader, ParameterType type, Parameter& parameter) {
  if (is_number(type)) {
    reader.number("minimum", parameter.minimum, -kLargest, kLargest);
    reader.number("maximum", parameter.maximum, -kLargest, kLargest);
    if (parameter.minimum && parameter.maximum && *parameter.minimum > *parameter.maximum) {
      reader.fail("maximum", "must not be below minimum");
    }
  }
  if (is_text(type)) {
    std::int64_t least = -1, most = -1;
    const auto limit = static_cast<std::int64_t>(kMaxParameterStringLength);
    reader.integer("minLength", least, 0, limit);
    reader.integer("maxLength", most, 0, limit);
    if (least >= 0) parameter.min_length = least;
    if (most >= 0) parameter.max_length = most;
    if (least >= 0 && most >= 0 && least > most)
      reader.fail("maxLength", "must not be below minLength");
    reader.text("pattern", parameter.pattern);
    if (const auto status = check_pattern(parameter.pattern); !status)
      reader.fail("pattern", status.error().message);
  }
}

// After the other rules: each value has to obey them.
void read_enum(MapReader& reader, ParameterType type, Parameter& parameter) {
  const YamlNode* list = reader.get("enum");
  if (list == nullptr) return;
  if (list->kind != YamlNode::Kind::kList || list->items.empty() ||
      list->items.size() > kMaxEnumValues) {
    reader.fail("enum", "must be a list of 1 to " + std::to_string(kMaxEnumValues) + " values");
    return;
  }
  Parameter item = parameter;
  item.type = type;
  std::vector<std::string> allowed;
  for (const YamlNode& node : list->items) {
    const std::string json =
        node.kind == YamlNode::Kind::kScalar ? scalar_json(type, node) : "null";
    const auto normal = normalise_value(item, json);
    if (!normal) {
      reader.fail(
          rule_error(reader.name(), node.line, reader.path("enum"), normal.error().message));
      return;
    }
    const std::string& word = is_text(type) ? node.text : *normal;
    if (std::find(allowed.begin(), allowed.end(), word) != allowed.end()) {
      reader.fail(rule_error(reader.name(), node.line, reader.path("enum"), "names a value twice"));
      return;
    }
    allowed.push_back(word);
  }
  parameter.allowed = std::move(allowed);
}

void read_items(MapReader& reader, Parameter& parameter) {
  const YamlNode* node = reader.get("items", true);
  if (node == nullptr) return;
  MapReader items(*node, reader.name(), reader.path("items"));
  read_type(items, parameter.item_type);
  if (parameter.item_type == ParameterType::kArray) items.fail("type", "must not be array");
  read_rules(items, parameter.item_type, parameter);
  if (!items.failed()) read_enum(items, parameter.item_type, parameter);
  if (auto status = items.finish(); !status) reader.fail(std::move(status).error());
}

void read_default(MapReader& reader, Parameter& parameter) {
  const YamlNode* node = reader.get("default");
  if (node == nullptr || reader.failed()) return;
  auto normal = normalise_value(parameter, value_json(parameter, *node));
  if (!normal) {
    reader.fail("default", normal.error().message);
    return;
  }
  parameter.default_json = *std::move(normal);
}

base::Result<Parameter> read_parameter(const YamlNode::Field& field, const std::string& name,
                                       const std::string& path) {
  Parameter parameter;
  parameter.name = field.key;
  parameter.title_zh = parameter.title_en = field.key;
  MapReader reader(field.value, name, path);
  read_title(reader, parameter.title_zh, parameter.title_en, false);
  read_type(reader, parameter.type);
  if (!reader.failed()) {
    if (parameter.type == ParameterType::kArray) {
      read_items(reader, parameter);
    } else {
      read_rules(reader, parameter.type, parameter);
      if (!reader.failed()) read_enum(reader, parameter.type, parameter);
    }
    read_default(reader, parameter);
  }
  WAYBILL_TRY(reader.finish());
  return parameter;
}

void read_required(MapReader& reader, std::vector<Parameter>& parameters) {
  const YamlNode* list = reader.get("required");
  if (list == nullptr) return;
  if (list->kind != YamlNode::Kind::kList) {
    reader.fail("required", "must be a list of parameter names");
    return;
  }
  for (const YamlNode& item : list->items) {
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const Parameter& p) { return p.name == item.text; });
    if (item.kind != YamlNode::Kind::kScalar || found == parameters.end()) {
      reader.fail(
          rule_error(reader.name(), item.line, reader.path("required"),
                     "\"" + base::printable(item.text, 64) + "\" is not one of the properties"));
      return;
    }
    found->required = true;
  }
}

}  // namespace

void read_title(MapReader& reader, std::string& zh, std::string& en, bool required) {
  const YamlNode* node = reader.get("title", required);
  if (node == nullptr) return;
  MapReader title(*node, reader.name(), reader.path("title"));
  title.text("zh", zh, true);
  title.text("en", en, true);
  for (const auto& [key, text] : {std::pair("zh", &zh), std::pair("en", &en)}) {
    const auto status = core::check_text(key, *text, kMaxTitleLength);
    if (!title.failed() && !status) title.fail(key, status.error().message);
  }
  if (auto status = title.finish(); !status) reader.fail(std::move(status).error());
}

base::Result<std::vector<Parameter>> read_parameter_schema(const YamlNode& node,
                                                           const std::string& name,
                                                           const std::string& path) {
  std::vector<Parameter> parameters;
  MapReader reader(node, name, path);
  std::string type = "object";
  bool additional = false;
  reader.text("type", type);
  if (type != "object") reader.fail("type", "must be object");
  reader.boolean("additionalProperties", additional);
  if (additional) reader.fail("additionalProperties", "must be false");
  const YamlNode* properties = reader.get("properties");
  if (properties != nullptr) {
    MapReader shape(*properties, name, reader.path("properties"));
    if (properties->fields.size() > kMaxParameterKeys) {
      shape.fail("", "must have at most " + std::to_string(kMaxParameterKeys) + " parameters");
    }
    for (const auto& field : properties->fields) {
      shape.get(field.key);
      if (!valid_parameter_name(field.key)) {
        shape.fail(field.key,
                   "must be a letter, then letters, digits and _, at most 64 characters");
      }
      if (shape.failed()) break;
      WAYBILL_ASSIGN(auto parameter, read_parameter(field, name, shape.path(field.key)));
      parameters.push_back(std::move(parameter));
    }
    if (auto status = shape.finish(); !status) reader.fail(std::move(status).error());
  }
  read_required(reader, parameters);
  WAYBILL_TRY(reader.finish());
  return parameters;
}

}  // namespace waybill::registry
