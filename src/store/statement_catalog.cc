#include "store/statement_catalog.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"

namespace waybill::store {

namespace {

using base::trim;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "id int, type text"; nothing for an empty list.
std::optional<std::vector<SqlColumn>> parse_columns(std::string_view text) {
  std::vector<SqlColumn> columns;
  if (trim(text).empty()) return columns;
  for (const std::string_view part : base::split(text, ',')) {
    const std::string_view item = trim(part);
    const std::size_t blank = item.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    const std::string_view type = trim(item.substr(blank));
    if (type != "int" && type != "text") return std::nullopt;
    columns.push_back(
        {std::string(item.substr(0, blank)), type == "int" ? SqlType::kInt : SqlType::kText});
  }
  return columns;
}

// One macro with its argument. Nothing when it is unknown or malformed.
std::optional<std::string> expand_macro(std::string_view name, std::string_view argument,
                                        const Dialect& dialect) {
  if (name == "lock") return std::string(dialect.lock);
  if (name == "lock_skip") return std::string(dialect.lock_skip);
  if (name == "pairs") return dialect.pairs(trim(argument));
  if (name == "index") return dialect.index(trim(argument));
  if (name == "list") {
    const auto one = parse_columns(argument);
    if (!one || one->size() != 1) return std::nullopt;
    return dialect.list(one->front().name, one->front().type);
  }
  if (name == "rows") {
    const std::size_t colon = argument.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto columns = parse_columns(argument.substr(colon + 1));
    if (!columns || columns->empty()) return std::nullopt;
    return dialect.rows(trim(argument.substr(0, colon)), *columns);
  }
  return std::nullopt;
}

base::Result<std::string> expand(std::string_view sql, const Dialect& dialect) {
  std::string out;
  for (std::size_t at = 0; at < sql.size();) {
    if (sql[at] != '@') {
      out += sql[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < sql.size() && is_word(sql[end])) ++end;
    const std::string_view name = sql.substr(at + 1, end - at - 1);
    std::string_view argument;
    if (end < sql.size() && sql[end] == '(') {
      const std::size_t close = sql.find(')', end);
      if (close == std::string_view::npos)
        return base::internal("unclosed macro @" + std::string(name));
      argument = sql.substr(end + 1, close - end - 1);
      end = close + 1;
    }
    auto text = expand_macro(name, argument, dialect);
    if (!text) return base::internal("unknown or malformed macro @" + std::string(name));
    out += *text;
    at = end;
  }
  return out;
}

// The :names of a text.
std::set<std::string, std::less<>> used_parameters(std::string_view sql) {
  std::set<std::string, std::less<>> names;
  for (std::size_t at = 0; at + 1 < sql.size(); ++at) {
    if (sql[at] != ':' || !is_word(sql[at + 1]) || (at > 0 && sql[at - 1] == ':')) continue;
    std::size_t end = at + 1;
    while (end < sql.size() && is_word(sql[end])) ++end;
    names.emplace(sql.substr(at + 1, end - at - 1));
    at = end - 1;
  }
  return names;
}

base::Status check_parameters(const StatementText& statement) {
  auto used = used_parameters(statement.sql);
  for (const SqlColumn& parameter : statement.in) {
    if (used.erase(parameter.name) == 0)
      return base::internal("parameter " + parameter.name + " is not used");
  }
  if (!used.empty()) return base::internal("parameter " + *used.begin() + " is not declared");
  return {};
}

// The value of a head line such as "-- in: a int", or nothing when the line is another one.
std::optional<std::string_view> head_value(std::string_view line, std::string_view key) {
  line = trim(line);
  if (!line.starts_with("--")) return std::nullopt;
  line = trim(line.substr(2));
  if (!line.starts_with(key)) return std::nullopt;
  return trim(line.substr(key.size()));
}

base::Status parse_head_line(std::string_view line, StatementText& statement, bool& is_head) {
  is_head = false;
  for (const auto& [key, columns] : {std::pair{std::string_view("in:"), &statement.in},
                                     std::pair{std::string_view("out:"), &statement.out}}) {
    const auto value = head_value(line, key);
    if (!value) continue;
    auto parsed = parse_columns(*value);
    if (!parsed) {
      return base::internal(statement.file + ", statement " + statement.name +
                            ": malformed list in: " + std::string(line));
    }
    columns->insert(columns->end(), parsed->begin(), parsed->end());
    is_head = true;
  }
  return {};
}

base::Status finish_statement(StatementText&& statement, const Dialect& dialect,
                              std::map<std::string, StatementText, std::less<>>& into) {
  const std::string where = statement.file + ", statement " + statement.name;
  auto sql = expand(trim(statement.sql), dialect);
  if (!sql.ok()) return sql.error().with_context(where);
  statement.sql = *std::move(sql);
  if (statement.sql.ends_with(';')) statement.sql.pop_back();
  if (statement.sql.empty()) return base::internal(where + ": no text");
  if (const auto ok = check_parameters(statement); !ok.ok()) return ok.error().with_context(where);
  std::string name = statement.name;
  if (!into.try_emplace(std::move(name), std::move(statement)).second)
    return base::internal(where + ": defined twice");
  return {};
}

base::Status parse_file(const EmbeddedSql& file, const Dialect& dialect,
                        std::map<std::string, StatementText, std::less<>>& into) {
  StatementText current;
  for (const std::string_view line : base::split(file.text, '\n')) {
    if (const auto name = head_value(line, "name:")) {
      if (!current.name.empty()) WAYBILL_TRY(finish_statement(std::move(current), dialect, into));
      current = StatementText{.name = std::string(*name),
                              .file = std::string(file.file),
                              .in = {},
                              .out = {},
                              .sql = {}};
      continue;
    }
    bool is_head = false;
    WAYBILL_TRY(parse_head_line(line, current, is_head));
    if (is_head || current.name.empty() || trim(line).starts_with("--")) continue;
    current.sql.append(line).append("\n");
  }
  if (!current.name.empty()) WAYBILL_TRY(finish_statement(std::move(current), dialect, into));
  return {};
}

}  // namespace

base::Result<StatementCatalog> StatementCatalog::load(std::span<const EmbeddedSql> common,
                                                      std::span<const EmbeddedSql> own,
                                                      const Dialect& dialect) {
  StatementCatalog catalog;
  for (const EmbeddedSql& file : own) WAYBILL_TRY(parse_file(file, dialect, catalog.statements_));
  std::map<std::string, StatementText, std::less<>> shared;
  for (const EmbeddedSql& file : common) WAYBILL_TRY(parse_file(file, dialect, shared));
  catalog.statements_.merge(shared);
  return catalog;
}

const StatementText* StatementCatalog::find(std::string_view name) const {
  const auto it = statements_.find(name);
  return it == statements_.end() ? nullptr : &it->second;
}

}  // namespace waybill::store
