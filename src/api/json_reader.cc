#include "api/json_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace waybill::api {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kShownKeyLength = 64;  // characters

base::Error malformed(std::string message) {
  base::Error error = base::invalid("", std::move(message));
  error.code = "BAD_REQUEST";
  return error;
}

// The parser keeps a repeated key as often as it stands there; whoever reads the object later takes
// the first or the last one, so two readers may disagree about what was asked.
base::Status check_keys(const dom::element& element) {
  dom::array array;
  if (element.get(array) == simdjson::SUCCESS) {
    for (const dom::element item : array) WAYBILL_TRY(check_keys(item));
    return {};
  }
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS) return {};
  std::set<std::string_view> seen;
  for (const dom::key_value_pair field : object) {
    if (!seen.insert(field.key).second) {
      return malformed("the key '" + base::printable(field.key, kShownKeyLength) +
                       "' is given twice");
    }
    WAYBILL_TRY(check_keys(field.value));
  }
  return {};
}

JsonKind kind_of(const dom::element& element) {
  switch (element.type()) {
    case dom::element_type::ARRAY:
      return JsonKind::kArray;
    case dom::element_type::OBJECT:
      return JsonKind::kObject;
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
      return JsonKind::kInteger;
    case dom::element_type::DOUBLE:
      return JsonKind::kNumber;
    case dom::element_type::STRING:
      return JsonKind::kString;
    case dom::element_type::BOOL:
      return JsonKind::kBool;
    case dom::element_type::NULL_VALUE:
      return JsonKind::kNull;
  }
  return JsonKind::kNull;
}

// The element lives in `parser`.
base::Status parse(std::string_view text, dom::parser& parser, dom::element& root) {
  if (parser.allocate(std::max<std::size_t>(text.size(), 1), kMaxJsonDepth) != simdjson::SUCCESS) {
    return base::internal("no memory for a JSON text");
  }
  const auto error = parser.parse(text.data(), text.size()).get(root);
  if (error == simdjson::NUMBER_ERROR) {
    return malformed("a number is malformed or has more than 64 bits");
  }
  if (error == simdjson::DEPTH_ERROR) {
    return malformed("the JSON text is nested deeper than " + std::to_string(kMaxJsonDepth) +
                     " levels");
  }
  if (error != simdjson::SUCCESS) return malformed("this is not valid JSON");
  return check_keys(root);
}

}  // namespace

base::Result<std::vector<JsonField>> read_json_object(std::string_view text) {
  dom::parser parser;
  dom::element root;
  WAYBILL_TRY(parse(text, parser, root));
  dom::object object;
  if (root.get(object) != simdjson::SUCCESS) return malformed("a JSON object is expected");
  std::vector<JsonField> fields;
  for (const dom::key_value_pair pair : object) {
    JsonField field;
    field.key = std::string(pair.key);
    field.kind = kind_of(pair.value);
    std::string_view characters;
    if (pair.value.get(characters) == simdjson::SUCCESS) {
      field.text = std::string(characters);
    } else {
      field.text = simdjson::minify(pair.value);
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

base::Result<std::vector<std::string>> read_json_strings(std::string_view text) {
  dom::parser parser;
  dom::element root;
  WAYBILL_TRY(parse(text, parser, root));
  dom::array array;
  if (root.get(array) != simdjson::SUCCESS) return malformed("an array of strings is expected");
  std::vector<std::string> out;
  for (const dom::element item : array) {
    std::string_view characters;
    if (item.get(characters) != simdjson::SUCCESS)
      return malformed("an array of strings is expected");
    out.emplace_back(characters);
  }
  return out;
}

const JsonField* find_field(const std::vector<JsonField>& fields, std::string_view key) {
  const auto at = std::ranges::find(fields, key, &JsonField::key);
  return at == fields.end() ? nullptr : &*at;
}

}  // namespace waybill::api
