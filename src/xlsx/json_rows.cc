#include "xlsx/json_rows.h"

#include <cstring>
#include <limits>
#include <string>

#include <simdjson.h>

#include "xlsx/json_text.h"
#include "xlsx/key_table.h"

namespace waybill::xlsx {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kPadding = std::max<std::size_t>(simdjson::SIMDJSON_PADDING, kTextPadding);
static_assert(kPadding <= kJsonPadding);
static_assert(kMaxPageBytes < std::numeric_limits<std::uint32_t>::max());

base::Error unparsable(std::string_view why) {
  return base::unavailable("the page of rows is truncated or unparsable: " + std::string(why));
}

base::Error unparsable(simdjson::error_code error) {
  return unparsable(simdjson::error_message(error));
}

// A token as simdjson gives it reaches up to the next one.
std::string_view without_trailing_blanks(std::string_view token) {
  while (!token.empty()) {
    const char c = token.back();
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
    token.remove_suffix(1);
  }
  return token;
}

}  // namespace

class JsonRows::Impl {
 public:
  explicit Impl(const std::vector<Column>& columns)
      : keys_(columns, kMaxUndeclaredNames), values_(columns.size()) {}

  base::Status read(std::string_view json, std::size_t readable_behind, RowHandler& handler) {
    if (json.size() > kMaxPageBytes) {
      return base::over_limit("rows", static_cast<std::int64_t>(kMaxPageBytes), "bytes",
                              static_cast<std::int64_t>(json.size()),
                              "a page of rows is too large");
    }
    ondemand::document document;
    simdjson::error_code error = start(json, readable_behind, document);
    if (error == simdjson::UTF8_ERROR) {
      std::string repaired;
      repaired.reserve(json.size() + json.size() / 8);
      repaired_ += append_repaired(repaired, json);
      if (repaired.size() > kMaxPageBytes) return unparsable("far too much of it is not UTF-8");
      error = start(repaired, 0, document);
    }
    if (error != simdjson::SUCCESS) return unparsable(error);
    return read_array(document, handler);
  }

  [[nodiscard]] std::int64_t undeclared_keys() const { return keys_.undeclared(); }
  [[nodiscard]] std::int64_t repaired() const { return repaired_; }

 private:
  // The parser and the escapers read past the end: a page without room behind it is copied.
  simdjson::error_code start(std::string_view json, std::size_t readable_behind,
                             ondemand::document& document) {
    if (readable_behind >= kPadding) {
      page_end_ = json.data() + json.size();
      return parser_.iterate(json.data(), json.size(), json.size() + readable_behind).get(document);
    }
    if (page_.size() < json.size() + kPadding) page_.resize(json.size() + kPadding);
    if (!json.empty()) std::memcpy(page_.data(), json.data(), json.size());
    std::memset(page_.data() + json.size(), ' ', kPadding);
    page_end_ = page_.data() + json.size();
    return parser_.iterate(page_.data(), json.size(), page_.size()).get(document);
  }

  base::Status read_array(ondemand::document& document, RowHandler& handler) {
    ondemand::array rows;
    if (const auto error = document.get_array().get(rows)) return unparsable(error);
    for (auto element : rows) {
      ondemand::object object;
      if (const auto error = element.get_object().get(object)) return unparsable(error);
      WAYBILL_TRY(read_object(object));
      WAYBILL_TRY(handler.row(values_));
    }
    // A location exists only while tokens are left.
    if (!document.current_location().error()) return unparsable("text after the array");
    return {};
  }

  // Of a repeated key the last value counts, as in most JSON libraries.
  base::Status read_object(ondemand::object& object) {
    for (JsonValue& value : values_) value.kind = JsonKind::kAbsent;
    keys_.begin_row();
    JsonValue undeclared;
    for (auto field_result : object) {
      ondemand::field field;
      if (const auto error = std::move(field_result).get(field)) return unparsable(error);
      const char* raw = field.key().raw();
      const int column = keys_.find(raw, static_cast<std::size_t>(page_end_ - raw));
      if (column == KeyTable::kMalformed) return unparsable("a key is not a JSON string");
      JsonValue& value = column >= 0 ? values_[static_cast<std::size_t>(column)] : undeclared;
      if (const char* why = read_value(field.value(), value)) return unparsable(why);
    }
    return {};
  }

  // Null, or what is wrong. Runs once a cell: it writes its result field by field and returns no
  // object, because loading a whole one right after its parts were stored stalls the processor.
  static const char* read_value(ondemand::value& source, JsonValue& value) {
    std::string_view token = source.raw_json_token();
    switch (token.empty() ? '\0' : token.front()) {
      case '"':
        token = without_trailing_blanks(token);
        if (token.size() < 2 || token.back() != '"') return "a string has no end";
        set(value, JsonKind::kString, token.substr(1, token.size() - 2));
        return nullptr;
      case '{':
      case '[':
        return read_nested(source, token.front() == '{', value);
      case 't':
        return literal(value, JsonKind::kTrue, token, "true");
      case 'f':
        return literal(value, JsonKind::kFalse, token, "false");
      case 'n':
        return literal(value, JsonKind::kAbsent, token, "null");
      default:
        token = without_trailing_blanks(token);
        if (token.empty() || !(token[0] == '-' || (token[0] >= '0' && token[0] <= '9'))) {
          return "a value is none of JSON's";
        }
        set(value, JsonKind::kNumber, token);
        return nullptr;
    }
  }

  static void set(JsonValue& value, JsonKind kind, std::string_view text) {
    value.data = text.data();
    value.size = static_cast<std::uint32_t>(text.size());
    value.kind = kind;
  }

  static const char* literal(JsonValue& value, JsonKind kind, std::string_view token,
                             std::string_view expected) {
    token = without_trailing_blanks(token);
    if (token != expected) return "a value is none of JSON's";
    set(value, kind, token);
    return nullptr;
  }

  static const char* read_nested(ondemand::value& source, bool is_object, JsonValue& value) {
    std::string_view text;
    simdjson::error_code error;
    if (is_object) {
      ondemand::object object;
      error = source.get_object().get(object);
      if (!error) error = object.raw_json().get(text);
    } else {
      ondemand::array array;
      error = source.get_array().get(array);
      if (!error) error = array.raw_json().get(text);
    }
    if (error) return simdjson::error_message(error);
    set(value, JsonKind::kNested, without_trailing_blanks(text));
    return nullptr;
  }

  ondemand::parser parser_;
  std::string page_;
  const char* page_end_ = nullptr;
  KeyTable keys_;
  std::vector<JsonValue> values_;
  std::int64_t repaired_ = 0;
};

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

JsonRows::JsonRows(const std::vector<Column>& columns) : impl_(std::make_unique<Impl>(columns)) {}
JsonRows::~JsonRows() = default;
base::Status JsonRows::read(std::string_view json, std::size_t readable_behind,
                            RowHandler& handler) {
  return impl_->read(json, readable_behind, handler);
}
std::int64_t JsonRows::undeclared_keys() const { return impl_->undeclared_keys(); }
std::int64_t JsonRows::repaired() const { return impl_->repaired(); }

}  // namespace waybill::xlsx
