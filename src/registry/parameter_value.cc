#include "registry/parameter_value.h"

#include <simdjson.h>

#include <algorithm>
#include <boost/regex.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "base/json_writer.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/time_zone.h"

namespace waybill::registry {

namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr double kExactDoubles = 9007199254740992.0;  // 2^53: beyond it a double is not one integer
constexpr std::string_view kRoot = "parameters";

base::Error broken(const std::string& path, const std::string& rule) {
  return base::invalid(path, path + " " + rule);
}

std::string child(const std::string& path, std::string_view key) {
  return path + "." + base::printable(key, 64);
}

base::Status check_string(std::string_view text, const std::string& path) {
  const auto length = base::utf8_length(text);
  if (length <= kMaxParameterStringLength) return {};
  return base::over_limit(
      path, kMaxParameterStringLength, "characters", static_cast<std::int64_t>(length),
      path + " has more than " + std::to_string(kMaxParameterStringLength) + " characters");
}

// ---- normal form ----

// By value: 1, 1.0 and 1e0 are the same.
base::Status append_number(const element& value, const std::string& path, std::string& out) {
  if (value.is<std::int64_t>()) {
    out += std::to_string(value.get_int64().value_unsafe());
    return {};
  }
  if (value.is<std::uint64_t>()) return broken(path, "is an integer beyond 64 bits");
  const double number = value.get_double().value_unsafe();
  if (std::fabs(number) >= kExactDoubles) {
    return broken(path, "is beyond 2^53; write large whole numbers without fraction and exponent");
  }
  if (number == std::trunc(number)) {
    out += std::to_string(static_cast<std::int64_t>(number));
    return {};
  }
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  if (error != std::errc()) return broken(path, "is not a number");
  out.append(text, end);
  return {};
}

// Writes values with sorted keys and without blanks, within the general limits.
class Normaliser {
 public:
  base::Status append(const element& value, const std::string& path, int depth, std::string& out) {
    switch (value.type()) {
      case element_type::NULL_VALUE:
        out += "null";
        return {};
      case element_type::BOOL:
        out += value.get_bool().value_unsafe() ? "true" : "false";
        return {};
      case element_type::INT64:
      case element_type::UINT64:
      case element_type::DOUBLE:
        return append_number(value, path, out);
      case element_type::STRING: {
        const std::string_view text = value.get_string().value_unsafe();
        WAYBILL_TRY(check_string(text, path));
        base::append_json_string(out, text);
        return {};
      }
      case element_type::ARRAY:
        return append_array(value, path, depth, out);
      case element_type::OBJECT:
        return append_object(value, path, depth, out);
    }
    return broken(path, "is not a value");
  }

  // The fields of an object, each once, sorted.
  base::Result<std::map<std::string_view, element>> fields(const element& value,
                                                           const std::string& path) {
    std::map<std::string_view, element> sorted;
    const simdjson::dom::object object = value.get_object().value_unsafe();
    for (const auto field : object) {
      if (++keys_ > kMaxParameterKeys) {
        return base::over_limit(
            std::string(kRoot), kMaxParameterKeys, "keys", static_cast<std::int64_t>(keys_),
            "parameters have more than " + std::to_string(kMaxParameterKeys) + " keys");
      }
      WAYBILL_TRY(check_string(field.key, child(path, field.key)));
      if (!sorted.emplace(field.key, field.value).second)
        return broken(child(path, field.key), "appears twice");
    }
    return sorted;
  }

 private:
  static base::Status check_depth(const std::string& path, int depth) {
    if (depth <= kMaxParameterDepth) return {};
    return base::over_limit(
        path, kMaxParameterDepth, "levels", depth,
        path + " is nested deeper than " + std::to_string(kMaxParameterDepth) + " levels");
  }

  base::Status append_array(const element& value, const std::string& path, int depth,
                            std::string& out) {
    WAYBILL_TRY(check_depth(path, depth + 1));
    out += '[';
    std::size_t index = 0;
    const simdjson::dom::array array = value.get_array().value_unsafe();
    for (const element item : array) {
      if (index > 0) out += ',';
      WAYBILL_TRY(append(item, path + "[" + std::to_string(index) + "]", depth + 1, out));
      ++index;
    }
    out += ']';
    return {};
  }

  base::Status append_object(const element& value, const std::string& path, int depth,
                             std::string& out) {
    WAYBILL_TRY(check_depth(path, depth + 1));
    WAYBILL_ASSIGN(const auto sorted, fields(value, path));
    out += '{';
    for (const auto& [key, item] : sorted) {
      if (out.back() != '{') out += ',';
      base::append_json_string(out, key);
      out += ':';
      WAYBILL_TRY(append(item, child(path, key), depth + 1, out));
    }
    out += '}';
    return {};
  }

  std::size_t keys_ = 0;
};

// ---- schema ----

std::wstring wide(std::string_view text) {
  std::wstring out;
  while (!text.empty()) {
    const std::size_t size = std::max<std::size_t>(base::utf8_sequence(text), 1);
    wchar_t c = static_cast<unsigned char>(text[0]);
    if (size > 1) c &= static_cast<wchar_t>(0x7F >> size);
    for (std::size_t i = 1; i < size; ++i)
      c = (c << 6) | (static_cast<unsigned char>(text[i]) & 0x3F);
    out += c;
    text.remove_prefix(size);
  }
  return out;
}

// Characters, not bytes, and a bound on the work: the library gives up on a pattern that backtracks
// for ever.
base::Result<bool> matches(std::string_view pattern, std::string_view text) {
  try {
    return boost::regex_search(wide(text), boost::wregex(wide(pattern), boost::wregex::perl));
  } catch (const std::exception& error) {
    return base::invalid("", base::printable(error.what(), 200));
  }
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto year = base::parse_int(text.substr(0, 4));
  const auto month = base::parse_int(text.substr(5, 2));
  const auto day = base::parse_int(text.substr(8, 2));
  if (!year || !month || !day || *year < 1 || *month < 1 || *day < 1) return false;
  return std::chrono::year_month_day(std::chrono::year(static_cast<int>(*year)),
                                     std::chrono::month(static_cast<unsigned>(*month)),
                                     std::chrono::day(static_cast<unsigned>(*day)))
      .ok();
}

base::Status check_allowed(const Parameter& parameter, std::string_view value,
                           const std::string& path) {
  const auto& allowed = parameter.allowed;
  if (allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end())
    return {};
  std::string list;
  for (const std::string& word : allowed) list += (list.empty() ? "" : ", ") + word;
  return broken(path, "must be one of: " + base::printable(list, 400));
}

base::Status check_text_rules(const Parameter& parameter, ParameterType type, std::string_view text,
                              const std::string& path) {
  const auto length = static_cast<std::int64_t>(base::utf8_length(text));
  if (parameter.min_length && length < *parameter.min_length) {
    return base::over_limit(
        path, *parameter.min_length, "characters", length,
        path + " must have at least " + std::to_string(*parameter.min_length) + " characters");
  }
  if (parameter.max_length && length > *parameter.max_length) {
    return base::over_limit(
        path, *parameter.max_length, "characters", length,
        path + " must have at most " + std::to_string(*parameter.max_length) + " characters");
  }
  if (type == ParameterType::kDate && !is_date(text))
    return broken(path, "must be a date such as 2026-11-30");
  if (type == ParameterType::kDateTime && !base::parse_iso(text)) {
    return broken(path, "must be a time such as 2026-11-30T14:23:59+08:00");
  }
  if (!parameter.pattern.empty()) {
    const auto matched = matches(parameter.pattern, text);
    if (!matched || !*matched)
      return broken(path, "does not match the pattern " + parameter.pattern);
  }
  return check_allowed(parameter, text, path);
}

// 500000, not 5e+05: a person reads it.
std::string shown_number(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  return base::JsonWriter().value(number).text();
}

base::Status check_number_rules(const Parameter& parameter, const element& value,
                                std::string_view normal, const std::string& path) {
  double number = 0;
  if (value.get_double().get(number) != simdjson::SUCCESS) return broken(path, "must be a number");
  if (parameter.minimum && number < *parameter.minimum) {
    return broken(path, "must be at least " + shown_number(*parameter.minimum));
  }
  if (parameter.maximum && number > *parameter.maximum) {
    return broken(path, "must be at most " + shown_number(*parameter.maximum));
  }
  return check_allowed(parameter, normal, path);
}

base::Status check_scalar(const Parameter& parameter, ParameterType type, const element& value,
                          const std::string& path) {
  std::string normal;
  switch (type) {
    case ParameterType::kBoolean:
      if (!value.is_bool()) return broken(path, "must be true or false");
      return check_allowed(parameter, value.get_bool().value_unsafe() ? "true" : "false", path);
    case ParameterType::kInteger:
    case ParameterType::kNumber:
      if (!value.is_number()) return broken(path, "must be a number");
      WAYBILL_TRY(append_number(value, path, normal));
      if (type == ParameterType::kInteger && normal.find_first_of(".e") != std::string::npos) {
        return broken(path, "must be a whole number");
      }
      return check_number_rules(parameter, value, normal, path);
    case ParameterType::kString:
    case ParameterType::kDate:
    case ParameterType::kDateTime:
      if (!value.is_string()) return broken(path, "must be a text");
      WAYBILL_TRY(check_string(value.get_string().value_unsafe(), path));
      return check_text_rules(parameter, type, value.get_string().value_unsafe(), path);
    case ParameterType::kArray:
      break;
  }
  return broken(path, "must not be a list of lists");
}

base::Status check_against(const Parameter& parameter, const element& value,
                           const std::string& path) {
  if (parameter.type != ParameterType::kArray)
    return check_scalar(parameter, parameter.type, value, path);
  if (!value.is_array()) return broken(path, "must be a list");
  std::size_t index = 0;
  const simdjson::dom::array array = value.get_array().value_unsafe();
  for (const element item : array) {
    WAYBILL_TRY(check_scalar(parameter, parameter.item_type, item,
                             path + "[" + std::to_string(index++) + "]"));
  }
  return {};
}

// ---- whole texts ----

// Deeper than the limit, so that the limit's own message is given for texts that exceed it.
constexpr std::size_t kParserDepth = 32;

base::Result<element> parse(simdjson::dom::parser& parser, std::string_view json) {
  if (json.size() > kMaxParametersBytes) {
    return base::over_limit(
        std::string(kRoot), kMaxParametersBytes, "bytes", static_cast<std::int64_t>(json.size()),
        "parameters are larger than " + std::to_string(kMaxParametersBytes) + " bytes");
  }
  if (parser.allocate(kMaxParametersBytes, kParserDepth) != simdjson::SUCCESS) {
    return base::unavailable("no memory to read parameters");
  }
  element root;
  const auto error = parser.parse(json.data(), json.size()).get(root);
  if (error == simdjson::SUCCESS) return root;
  if (error == simdjson::NUMBER_ERROR) {
    return broken(std::string(kRoot), "contain a number that is malformed or beyond 64 bits");
  }
  if (error == simdjson::DEPTH_ERROR) {
    return base::over_limit(
        std::string(kRoot), kMaxParameterDepth, "levels", kParserDepth,
        "parameters are nested deeper than " + std::to_string(kMaxParameterDepth) + " levels");
  }
  return broken(std::string(kRoot),
                std::string("are not valid JSON: ") + simdjson::error_message(error));
}

const Parameter* find_parameter(const ExportType& type, std::string_view name) {
  for (const Parameter& parameter : type.parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

using Values = std::map<std::string, std::string, std::less<>>;  // name -> normal form

base::Result<Values> given_values(const ExportType& type, const element& root) {
  Normaliser normaliser;
  Values values;
  const std::string base_path(kRoot);
  WAYBILL_ASSIGN(const auto sorted, normaliser.fields(root, base_path));
  for (const auto& [key, value] : sorted) {
    const std::string path = child(base_path, key);
    std::string normal;
    WAYBILL_TRY(normaliser.append(value, path, 1, normal));
    if (!type.any_parameters) {
      const Parameter* parameter = find_parameter(type, key);
      if (parameter == nullptr) return broken(path, "is not a parameter of " + type.key);
      WAYBILL_TRY(check_against(*parameter, value, path));
    }
    values.emplace(key, std::move(normal));
  }
  return values;
}

}  // namespace

base::Status check_pattern(std::string_view pattern) {
  if (base::utf8_length(pattern) > kMaxPatternLength) {
    return base::invalid(
        "", "pattern is longer than " + std::to_string(kMaxPatternLength) + " characters");
  }
  const auto matched = matches(pattern, "");
  if (!matched)
    return base::invalid("", "pattern is no regular expression: " + matched.error().message);
  return {};
}

base::Result<std::string> normalise_value(const Parameter& parameter, std::string_view json) {
  simdjson::dom::parser parser;
  WAYBILL_ASSIGN(const element root, parse(parser, json));
  const std::string path = child(std::string(kRoot), parameter.name);
  std::string normal;
  WAYBILL_TRY(Normaliser().append(root, path, 1, normal));
  WAYBILL_TRY(check_against(parameter, root, path));
  return normal;
}

base::Result<NormalisedParameters> normalise_parameters(const ExportType& type,
                                                        std::string_view parameters_json) {
  if (base::trim(parameters_json).empty()) parameters_json = "{}";
  simdjson::dom::parser parser;
  WAYBILL_ASSIGN(const element root, parse(parser, parameters_json));
  if (!root.is_object()) return broken(std::string(kRoot), "must be a JSON object");
  WAYBILL_ASSIGN(Values values, given_values(type, root));
  for (const Parameter& parameter : type.parameters) {
    if (values.contains(parameter.name)) continue;
    if (!parameter.default_json.empty()) {
      values.emplace(parameter.name, parameter.default_json);
    } else if (parameter.required) {
      return broken(child(std::string(kRoot), parameter.name), "is missing");
    }
  }
  base::JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : values) json.key(name).raw(value);
  json.end_object();
  NormalisedParameters normalised{json.take(), {}};
  if (normalised.json.size() > kMaxParametersBytes) {
    return base::over_limit(std::string(kRoot), kMaxParametersBytes, "bytes",
                            static_cast<std::int64_t>(normalised.json.size()),
                            "parameters are larger than " + std::to_string(kMaxParametersBytes) +
                                " bytes with their defaults");
  }
  normalised.hash = base::sha256_hex(type.key + '\n' + normalised.json);
  return normalised;
}

}  // namespace waybill::registry
