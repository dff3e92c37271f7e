#include "store/session.h"

#include <soci/soci.h>

#include <deque>
#include <stdexcept>
#include <type_traits>

#include "base/check.h"
#include "base/text.h"

namespace waybill::store {

// A SOCI statement with the places that its parameters and columns live in. SOCI keeps their
// addresses, so they never move.
class PreparedStatement {
 public:
  struct Place {
    SqlType type = SqlType::kInt;
    long long number = 0;
    std::string text;
    soci::indicator indicator = soci::i_ok;
  };

  PreparedStatement(const Driver& driver, soci::session& connection, const StatementText& text)
      : driver_(driver), text_(text), statement_(connection) {
    for (const SqlColumn& column : text.in) {
      Place& place = parameters_.emplace_back(
          Place{.type = column.type, .number = 0, .text = {}, .indicator = soci::i_ok});
      if (column.type == SqlType::kInt) {
        statement_.exchange(soci::use(place.number, place.indicator, column.name));
      } else {
        statement_.exchange(soci::use(place.text, place.indicator, column.name));
      }
    }
    for (const SqlColumn& column : text.out) {
      Place& place = columns_.emplace_back(
          Place{.type = column.type, .number = 0, .text = {}, .indicator = soci::i_ok});
      if (column.type == SqlType::kInt) {
        statement_.exchange(soci::into(place.number, place.indicator));
      } else {
        statement_.exchange(soci::into(place.text, place.indicator));
      }
    }
    statement_.alloc();
    statement_.prepare(text.sql);
    statement_.define_and_bind();
  }

  [[nodiscard]] const StatementText& text() const { return text_; }
  Place& parameter(std::size_t position, SqlType type) {
    Place& place = parameters_[position];
    WAYBILL_CHECK(place.type == type, "parameter type differs from the statement's declaration");
    return place;
  }
  [[nodiscard]] const Place& column(std::size_t position, SqlType type) const {
    WAYBILL_CHECK(position < columns_.size() && columns_[position].type == type,
                  "column type differs from the statement's declaration");
    return columns_[position];
  }
  [[nodiscard]] const Place& column(std::size_t position) const { return columns_.at(position); }

  void execute() {
    // A first row, if there is one, is fetched here and handed out by the first next().
    open_ = statement_.execute(true) && !columns_.empty();
    first_ = open_;
  }
  bool next() {
    if (first_) {
      first_ = false;
      return true;
    }
    if (!open_) return false;
    try {
      open_ = statement_.fetch();
    } catch (const std::exception& error) {
      open_ = false;
      throw driver_.classify(error, false);
    }
    return open_;
  }
  // An open read would keep its snapshot and the log behind it.
  void close() noexcept {
    try {
      first_ = false;
      while (open_) open_ = statement_.fetch();
    } catch (const std::exception&) {
      open_ = false;
    }
  }
  [[nodiscard]] std::int64_t changed() { return statement_.get_affected_rows(); }

 private:
  const Driver& driver_;
  const StatementText& text_;
  std::deque<Place> parameters_;
  std::deque<Place> columns_;
  soci::statement statement_;
  bool open_ = false;
  bool first_ = false;
};

Rows::~Rows() { statement_->close(); }
bool Rows::next() { return statement_->next(); }

std::int64_t Rows::integer(std::size_t column) const {
  const auto& place = statement_->column(column, SqlType::kInt);
  return place.indicator == soci::i_null ? 0 : place.number;
}

std::string_view Rows::text(std::size_t column) const {
  const auto& place = statement_->column(column, SqlType::kText);
  return place.indicator == soci::i_null ? std::string_view() : std::string_view(place.text);
}

bool Rows::is_null(std::size_t column) const {
  return statement_->column(column).indicator == soci::i_null;
}

std::optional<std::int64_t> Rows::optional(std::size_t column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

std::int64_t Rows::changed() const { return statement_->changed(); }

Session::Session(const SessionContext& context, SessionRole role) : context_(context), role_(role) {
  reconnect();
}
Session::~Session() = default;

void Session::reconnect() {
  prepared_.clear();
  connection_.reset();
  try {
    connection_ = context_.driver.connect(role_);
  } catch (const std::exception& error) {
    throw context_.driver.classify(error, false);
  }
}

// Where tests interfere.
void Session::meet(std::string_view statement) {
  if (!context_.before_statement) return;
  switch (context_.before_statement({operation_, statement})) {
    case Injected::kNone:
      return;
    case Injected::kRetry:
      throw SqlFault(FaultKind::kRetry, "injected: busy");
    case Injected::kAway:
      throw SqlFault(FaultKind::kAway, "injected: the database is away");
    case Injected::kFatal:
      throw SqlFault(FaultKind::kFatal, "injected: fatal");
    case Injected::kUnknownLost:
      throw SqlFault(FaultKind::kUnknown, "injected: the answer to COMMIT is lost");
    case Injected::kUnknownDone:
      context_.driver.commit(*connection_);
      throw SqlFault(FaultKind::kUnknown, "injected: the answer to COMMIT is lost");
  }
}

PreparedStatement& Session::start(std::string_view name, std::size_t arguments) {
  if (connection_ == nullptr) reconnect();
  auto it = prepared_.find(name);
  if (it == prepared_.end()) {
    const StatementText* text = context_.catalog.find(name);
    WAYBILL_CHECK(text != nullptr, "no statement of this name");
    try {
      it = prepared_
               .emplace(std::string(name),
                        std::make_unique<PreparedStatement>(context_.driver, *connection_, *text))
               .first;
    } catch (const std::exception& error) {
      const SqlFault fault = context_.driver.classify(error, false);
      throw SqlFault(fault.kind(), "statement " + std::string(name) + ": " + fault.what());
    }
  }
  WAYBILL_CHECK(it->second->text().in.size() == arguments,
                "number of arguments differs from the declaration");
  it->second->close();
  return *it->second;
}

void Session::execute(PreparedStatement& statement) {
  meet(statement.text().name);
  context_.statements.fetch_add(1, std::memory_order_relaxed);
  try {
    statement.execute();
  } catch (const std::exception& error) {
    const SqlFault fault = context_.driver.classify(error, false);
    throw SqlFault(fault.kind(), "statement " + statement.text().name + ": " + fault.what());
  }
}

void Session::bind_int(PreparedStatement& s, std::size_t position, std::int64_t value) {
  auto& place = s.parameter(position, SqlType::kInt);
  place.number = value;
  place.indicator = soci::i_ok;
}

void Session::bind_text(PreparedStatement& s, std::size_t position, std::string_view value) {
  auto& place = s.parameter(position, SqlType::kText);
  place.text.assign(value);
  place.indicator = soci::i_ok;
}

void Session::bind_null(PreparedStatement& s, std::size_t position) {
  auto& place = s.parameter(position, s.text().in[position].type);
  place.indicator = soci::i_null;
}

void Session::run_script(std::string_view sql) {
  std::string one;
  for (const std::string_view line : base::split(sql, '\n')) {
    if (base::trim(line).starts_with("--")) continue;
    one.append(line).append("\n");
    if (!base::trim(line).ends_with(';')) continue;
    try {
      connection_->once << one;
    } catch (const std::exception& error) {
      throw context_.driver.classify(error, false);
    }
    one.clear();
  }
}

void Session::begin() {
  if (connection_ == nullptr) reconnect();
  meet("begin");
  try {
    context_.driver.begin(*connection_);
  } catch (const std::exception& error) {
    throw context_.driver.classify(error, false);
  }
}

void Session::commit() {
  meet("commit");
  try {
    context_.driver.commit(*connection_);
  } catch (const std::exception& error) {
    throw context_.driver.classify(error, true);
  }
}

void Session::rollback() noexcept {
  if (connection_ == nullptr) return;
  for (auto& [name, statement] : prepared_) statement->close();
  context_.driver.rollback(*connection_);
}

}  // namespace waybill::store
