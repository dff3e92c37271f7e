#include "exporting/provider_page.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "exporting/settings.h"

namespace waybill::exporting {
namespace {

namespace od = simdjson::ondemand;
using core::FailureClass;

constexpr std::size_t kShownMessage = 500;   // characters of a provider's own message
constexpr std::size_t kShownName = 60;       // characters of a code or key inside a message
constexpr std::size_t kMaxNumberBytes = 64;  // of a number that stands in for a string
constexpr std::string_view kNoRows = "[]";

// Text that a proxy cut or mixed up may arrive whole next time.
Failure not_json() {
  return transient(FailureClass::kSystem,
                   "The business service's answer is truncated or not valid JSON.");
}

Failure breaks_contract(const std::string& what) {
  return permanent(FailureClass::kValidation,
                   "The business service's answer breaks the export contract: " + what + ".");
}

Failure over(const std::string& what) {
  return permanent(FailureClass::kLimit,
                   "The business service's answer is over a limit: " + what + ".");
}

using Problem = std::optional<Failure>;

enum class Scalar : std::uint8_t { kNull, kText, kOther };

// A string, or a number in its own spelling (64-bit integers travel as strings; a number is
// tolerated).
Problem read_scalar(od::value value, Scalar& kind, std::string& out) {
  od::json_type type{};
  if (value.type().get(type)) return not_json();
  kind = Scalar::kOther;
  if (type == od::json_type::null) {
    bool is_null = false;
    if (value.is_null().get(is_null) || !is_null) return not_json();
    kind = Scalar::kNull;
  } else if (type == od::json_type::string) {
    std::string_view text;
    const auto error = value.get_string().get(text);
    if (error == simdjson::STRING_ERROR)
      return {};  // an escape without a meaning: not text we can use
    if (error) return not_json();
    kind = Scalar::kText;
    out.assign(text);
  } else if (type == od::json_type::number) {
    const std::string_view token = base::trim(value.raw_json_token());
    if (token.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return not_json();
    if (token.size() > kMaxNumberBytes) return {};
    kind = Scalar::kText;
    out.assign(token);
  }
  return {};
}

// A token of at most kMaxTokenCharacters; null and absent are the empty text.
Problem read_token(od::value value, const char* name, std::string& out) {
  Scalar kind{};
  if (auto problem = read_scalar(value, kind, out)) return problem;
  if (kind == Scalar::kOther) return breaks_contract(std::string(name) + " is not a string");
  if (base::utf8_length(out) > kMaxTokenCharacters) {
    return over(std::string(name) + " has more than " + std::to_string(kMaxTokenCharacters) +
                " characters");
  }
  return {};
}

std::optional<xlsx::ColumnType> column_type(std::string_view word) {
  using Entry = std::pair<std::string_view, xlsx::ColumnType>;
  static constexpr std::array<Entry, 6> kTypes{{{"STRING", xlsx::ColumnType::kString},
                                                {"INTEGER", xlsx::ColumnType::kInteger},
                                                {"DECIMAL", xlsx::ColumnType::kDecimal},
                                                {"BOOLEAN", xlsx::ColumnType::kBoolean},
                                                {"DATE", xlsx::ColumnType::kDate},
                                                {"DATETIME", xlsx::ColumnType::kDateTime}}};
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const Entry& e) { return e.first == word; });
  if (found == kTypes.end()) return std::nullopt;
  return found->second;
}

// Visits the fields of an object in order; a name of `known` that comes twice is refused, as
// readers disagree about which one counts. `visit(index in known, value)`.
template <std::size_t N, class Visit>
Problem read_fields(od::object object, const std::array<std::string_view, N>& known, Visit visit) {
  std::array<bool, N> seen{};
  for (auto field : object) {
    std::string_view key;
    const auto error = field.unescaped_key().get(key);
    if (error == simdjson::STRING_ERROR) continue;  // no name of ours has such an escape
    if (error) return not_json();
    const auto at =
        static_cast<std::size_t>(std::find(known.begin(), known.end(), key) - known.begin());
    if (at == N) continue;
    if (seen[at]) return breaks_contract("the field " + std::string(known[at]) + " comes twice");
    seen[at] = true;
    od::value value;
    if (field.value().get(value)) return not_json();
    if (auto problem = visit(at, value)) return problem;
  }
  return {};
}

Problem read_width(od::value value, const std::string& where, double& out) {
  Scalar kind{};
  std::string text;
  od::json_type type{};
  if (value.type().get(type)) return not_json();
  if (type == od::json_type::number)
    return value.get_double().get(out) ? Problem(not_json()) : Problem();
  if (auto problem = read_scalar(value, kind, text)) return problem;
  if (kind != Scalar::kNull) return breaks_contract(where + ".width is not a number");
  return {};
}

Problem read_column(od::object object, const std::string& where, xlsx::Column& column) {
  static constexpr std::array<std::string_view, 4> kFields{"key", "title", "type", "width"};
  std::string type;
  auto problem = read_fields(object, kFields, [&](std::size_t field, od::value value) -> Problem {
    if (field == 3) return read_width(value, where, column.width);
    std::string& out = field == 0 ? column.key : field == 1 ? column.title : type;
    Scalar kind{};
    if (auto broken = read_scalar(value, kind, out)) return broken;
    if (kind != Scalar::kOther) return {};
    return breaks_contract(where + "." + std::string(kFields[field]) +
                           " is not a string of whole characters");
  });
  if (problem) return problem;
  if (column.key.empty()) return breaks_contract(where + " has no key");
  if (column.title.empty()) column.title = column.key;
  const auto known = column_type(type);
  if (!known) {
    return breaks_contract(where + ".type is \"" + base::printable(type, kShownName) +
                           "\", not one of STRING INTEGER DECIMAL BOOLEAN DATE DATETIME");
  }
  column.type = *known;
  return {};
}

Problem read_columns(od::value value, std::vector<xlsx::Column>& columns) {
  od::json_type type{};
  if (value.type().get(type)) return not_json();
  if (type == od::json_type::null) return {};
  if (type != od::json_type::array) return breaks_contract("columns is not an array");
  od::array array;
  if (value.get_array().get(array)) return not_json();
  std::set<std::string, std::less<>> keys;
  for (auto element : array) {
    const std::string where = "columns[" + std::to_string(columns.size()) + "]";
    if (columns.size() == kMaxPageColumns) {
      return over("more than " + std::to_string(kMaxPageColumns) + " columns");
    }
    od::json_type element_type{};
    if (element.type().get(element_type)) return not_json();
    if (element_type != od::json_type::object) return breaks_contract(where + " is not an object");
    od::object object;
    if (element.get_object().get(object)) return not_json();
    xlsx::Column column;
    if (auto problem = read_column(object, where, column)) return problem;
    if (!keys.insert(column.key).second) {
      return breaks_contract("two columns have the key \"" +
                             base::printable(column.key, kShownName) + "\"");
    }
    columns.push_back(std::move(column));
  }
  return {};
}

// Counts the rows and finds where their text stands; what is inside a row is the writer's business.
Problem read_rows(od::value value, std::int64_t max_rows, std::int64_t& rows,
                  std::string_view& text) {
  od::json_type type{};
  if (value.type().get(type)) return not_json();
  if (type != od::json_type::array) return breaks_contract("rows is not an array");
  od::array array;
  if (value.get_array().get(array)) return not_json();
  for (auto element : array) {
    od::json_type element_type{};
    if (element.type().get(element_type)) return not_json();
    if (element_type != od::json_type::object) {
      return breaks_contract("rows[" + std::to_string(rows) + "] is not an object");
    }
    if (++rows > max_rows) {
      return over("more than the " + std::to_string(max_rows) + " rows that were asked for");
    }
  }
  if (rows == 0) return {};
  if (array.reset().error() || array.raw_json().get(text)) return not_json();
  text = base::trim(text);
  return {};
}

Problem read_has_more(od::value value, std::optional<bool>& out) {
  od::json_type type{};
  if (value.type().get(type)) return not_json();
  if (type != od::json_type::boolean) return breaks_contract("hasMore is not true or false");
  bool truth = false;
  if (value.get_bool().get(truth)) return not_json();
  out = truth;
  return {};
}

struct Data {
  bool is_object = false;
  bool has_rows = false;
  std::string_view rows_text = kNoRows;
  std::optional<bool> has_more;
  Problem problem;  // told only when the envelope says success
};

Problem read_data_fields(od::object object, const PageRules& rules, Data& data,
                         ProviderPage& page) {
  static constexpr std::array<std::string_view, 7> kFields{
      "schemaHash", "snapshotToken", "columns", "rows", "nextCursor", "hasMore", "totalRows"};
  return read_fields(object, kFields, [&](std::size_t field, od::value value) -> Problem {
    switch (field) {
      case 0:
        return read_token(value, "schemaHash", page.schema_hash);
      case 1:
        // A later page's token is ignored, whatever it is: the first is always sent.
        return rules.first ? read_token(value, "snapshotToken", page.snapshot_token) : Problem();
      case 2:
        return rules.first ? read_columns(value, page.columns) : Problem();
      case 3:
        data.has_rows = true;
        return read_rows(value, rules.max_rows, page.rows, data.rows_text);
      case 4:
        return read_token(value, "nextCursor", page.next_cursor);
      case 5:
        return read_has_more(value, data.has_more);
      default: {
        Scalar kind{};
        std::string text;
        if (auto problem = read_scalar(value, kind, text)) return problem;
        const auto number = base::parse_int(text);
        if (number && *number >= 0) page.total_rows = *number;
        return {};
      }
    }
  });
}

Problem check_data(const PageRules& rules, const Data& data, ProviderPage& page) {
  if (!data.is_object) return breaks_contract("data is missing");
  if (data.problem) return data.problem;
  if (!data.has_rows) return breaks_contract("rows is missing");
  if (!data.has_more) return breaks_contract("hasMore is missing");
  if (rules.first && page.columns.empty()) return breaks_contract("the first page has no columns");
  if (rules.first && page.schema_hash.empty()) {
    return breaks_contract("the first page has no schemaHash");
  }
  if (rules.first && page.snapshot_token.empty()) {
    return breaks_contract("the first page has no snapshotToken");
  }
  page.has_more = *data.has_more;
  return {};
}

Failure refused_by_provider(std::string_view code, std::string_view message) {
  std::string text = "The business service refused the export";
  if (!message.empty()) text += ": " + base::printable(message, kShownMessage);
  text += " (code " + base::printable(code, kShownName) + ").";
  return permanent(FailureClass::kBusiness, std::move(text));
}

}  // namespace

struct PageParser::Impl {
  od::parser parser;

  // Makes `body` a document with the padding that the parser reads over its end.
  simdjson::simdjson_result<od::document> open(std::string& body, std::size_t size) {
    return parser.iterate(simdjson::padded_string_view(body.data(), size, body.size()));
  }
  static void pad(std::string& body) { body.append(simdjson::SIMDJSON_PADDING, ' '); }

  Problem read_envelope(od::document& document, const PageRules& rules, ProviderPage& page,
                        Data& data);
};

Problem PageParser::Impl::read_envelope(od::document& document, const PageRules& rules,
                                        ProviderPage& page, Data& data) {
  static constexpr std::array<std::string_view, 3> kFields{"code", "message", "data"};
  od::object envelope;
  if (document.get_object().get(envelope)) return not_json();
  std::string code;
  std::string message;
  auto problem = read_fields(envelope, kFields, [&](std::size_t field, od::value value) -> Problem {
    if (field != 2) {
      Scalar kind{};
      return read_scalar(value, kind, field == 0 ? code : message);
    }
    od::json_type type{};
    if (value.type().get(type)) return not_json();
    if (type != od::json_type::object) return {};
    data.is_object = true;
    od::object object;
    if (value.get_object().get(object)) return not_json();
    data.problem = read_data_fields(object, rules, data, page);
    const bool broken = data.problem && data.problem->kind == Failure::Kind::kTransient;
    return broken ? data.problem : Problem();
  });
  if (problem) return problem;
  if (code.empty()) return breaks_contract("code is missing");
  if (code != "200") return refused_by_provider(code, message);
  // The parser stops looking at the first contract problem, so only a clean pass can vouch for the
  // end of the text.
  const bool at_end = document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  if (!data.problem && !at_end) return not_json();
  return check_data(rules, data, page);
}

PageParser::PageParser() : impl_(std::make_unique<Impl>()) {}
PageParser::~PageParser() = default;

std::variant<ProviderPage, Failure> PageParser::parse(std::string body, const PageRules& rules) {
  ProviderPage page;
  std::size_t size = body.size();
  Impl::pad(body);
  auto document = impl_->open(body, size);
  if (document.error() == simdjson::UTF8_ERROR) {
    body.resize(size);
    body = base::to_utf8(body);
    size = body.size();
    Impl::pad(body);
    document = impl_->open(body, size);
    page.repaired = true;
  }
  od::document opened;
  if (std::move(document).get(opened)) return not_json();
  Data data;
  if (auto problem = impl_->read_envelope(opened, rules, page, data)) return *std::move(problem);
  page.rows_size_ = data.rows_text.size();
  if (page.rows == 0) {
    page.body_ = kNoRows;
    return page;
  }
  page.rows_begin_ = static_cast<std::size_t>(data.rows_text.data() - body.data());
  page.body_ = std::move(body);
  return page;
}

std::string PageParser::error_message(std::string body) {
  const std::size_t size = body.size();
  Impl::pad(body);
  od::document document;
  od::object envelope;
  if (impl_->open(body, size).get(document) || document.get_object().get(envelope)) return {};
  std::string message;
  static constexpr std::array<std::string_view, 1> kFields{"message"};
  const auto problem = read_fields(envelope, kFields, [&](std::size_t, od::value value) {
    Scalar kind{};
    return read_scalar(value, kind, message);
  });
  return problem ? std::string() : base::printable(message, kShownMessage);
}

bool rows_all_differ(std::string_view rows_json) {
  od::parser parser;
  const simdjson::padded_string padded(rows_json);
  od::document document;
  od::array array;
  if (parser.iterate(padded).get(document) || document.get_array().get(array)) return false;
  std::unordered_set<std::string_view> seen;
  for (auto element : array) {
    od::object object;
    std::string_view text;
    if (element.get_object().get(object) || object.raw_json().get(text)) return false;
    if (!seen.insert(base::trim(text)).second) return false;
  }
  return true;
}

}  // namespace waybill::exporting
