// GET /files/export-types

#include "api/context.h"
#include "base/json_writer.h"

namespace waybill::api {
namespace {

constexpr base::Millis kMsPerHour = 3'600'000;
constexpr std::int64_t kBytesPerMib = 1 << 20;

std::string_view word_of(registry::ParameterType type) {
  switch (type) {
    case registry::ParameterType::kString:
      return "string";
    case registry::ParameterType::kInteger:
      return "integer";
    case registry::ParameterType::kNumber:
      return "number";
    case registry::ParameterType::kBoolean:
      return "boolean";
    case registry::ParameterType::kDate:
      return "date";
    case registry::ParameterType::kDateTime:
      return "date-time";
    case registry::ParameterType::kArray:
      return "array";
  }
  return "string";
}

const std::string& in_language(Language language, const std::string& zh, const std::string& en) {
  const std::string& wanted = language == Language::kChinese ? zh : en;
  return wanted.empty() ? (language == Language::kChinese ? en : zh) : wanted;
}

template <class T>
void write_if(base::JsonWriter& json, std::string_view name, const std::optional<T>& value) {
  if (value) json.field(name, *value);
}

void write_parameter(base::JsonWriter& json, const registry::Parameter& parameter,
                     Language language) {
  json.begin_object().field("name", parameter.name);
  const std::string& title = in_language(language, parameter.title_zh, parameter.title_en);
  json.field("title", title.empty() ? parameter.name : title)
      .field("type", word_of(parameter.type));
  json.field("required", parameter.required);
  if (parameter.type == registry::ParameterType::kArray)
    json.field("itemType", word_of(parameter.item_type));
  if (!parameter.allowed.empty()) {
    json.key("enum").begin_array();
    for (const std::string& value : parameter.allowed) json.value(value);
    json.end_array();
  }
  write_if(json, "minimum", parameter.minimum);
  write_if(json, "maximum", parameter.maximum);
  write_if(json, "minLength", parameter.min_length);
  write_if(json, "maxLength", parameter.max_length);
  if (!parameter.pattern.empty()) json.field("pattern", parameter.pattern);
  if (!parameter.default_json.empty()) json.key("default").raw(parameter.default_json);
  json.end_object();
}

void write_type(base::JsonWriter& json, const registry::ExportType& type, Language language) {
  json.begin_object().field("exportType", type.key);
  const std::string& title = in_language(language, type.title_zh, type.title_en);
  json.field("title", title.empty() ? type.key : title);
  json.key("formats").begin_array().value("XLSX").end_array();
  json.field("priority", core::level_name(type.priority)).field("maxRows", type.max_rows);
  json.field("maxFileMib", type.max_file_bytes / kBytesPerMib);
  json.field("retentionHours", type.retention_ms / kMsPerHour);
  json.field("anyParameters", type.any_parameters).key("parameters").begin_array();
  for (const registry::Parameter& parameter : type.parameters)
    write_parameter(json, parameter, language);
  json.end_array().end_object();
}

bool may_create(const Identity& who, const registry::ExportType& type) {
  return type.enabled && type.app_scope == who.access_domain && who.may(type.required_permission);
}

}  // namespace

// What the caller could create now; the rest is nobody's business.
base::Result<http::Response> list_export_types(Context& context, const Call& call) {
  const auto snapshot = context.deps.registry.current();
  base::JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (const auto& [key, type] : snapshot->exports) {
    if (may_create(call.who, type)) write_type(json, type, call.language);
  }
  json.end_array();
  json.key("limits").begin_object().field("activePerUser", context.settings.limits.active_per_user);
  json.field("activePerType", context.settings.limits.active_per_type).end_object().end_object();
  return success(call.request, json.text());
}

}  // namespace waybill::api
