// One database connection with its prepared statements. SOCI stays inside session.cc.

#ifndef WAYBILL_STORE_SESSION_H_
#define WAYBILL_STORE_SESSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/driver.h"
#include "store/seams.h"
#include "store/statement_catalog.h"

namespace waybill::store {

class PreparedStatement;

// The rows of one executed statement, forward only. Ends (and frees the read snapshot) when it goes
// out of scope.
class Rows {
 public:
  explicit Rows(PreparedStatement& statement) : statement_(&statement) {}
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  // Moves to the next row; false at the end.
  bool next();
  // Columns by position, from 0. A null is 0 or empty.
  [[nodiscard]] std::int64_t integer(std::size_t column) const;
  [[nodiscard]] std::int32_t int32(std::size_t column) const {
    return static_cast<std::int32_t>(integer(column));
  }
  // Valid until next().
  [[nodiscard]] std::string_view text(std::size_t column) const;
  [[nodiscard]] std::string string(std::size_t column) const { return std::string(text(column)); }
  [[nodiscard]] bool is_null(std::size_t column) const;
  [[nodiscard]] std::optional<std::int64_t> optional(std::size_t column) const;
  // Rows that a writing statement matched.
  [[nodiscard]] std::int64_t changed() const;

 private:
  PreparedStatement* statement_;
};

// What all sessions of a store share.
struct SessionContext {
  Driver& driver;
  const StatementCatalog& catalog;
  const BeforeStatement& before_statement;
  std::atomic<std::int64_t>& statements;  // executed so far, BEGIN and COMMIT not counted
};

// Not thread-safe: whoever holds it uses it alone. Every method throws SqlFault.
class Session {
 public:
  Session(const SessionContext& context, SessionRole role);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Runs the named statement; arguments in the order of its `in` list: integers, bools, text,
  // optionals of them.
  template <class... Args>
  Rows run(std::string_view name, const Args&... args) {
    PreparedStatement& statement = start(name, sizeof...(args));
    std::size_t position = 0;
    (bind(statement, position++, args), ...);
    execute(statement);
    return Rows(statement);
  }
  // Text that is not in the catalog: migrations. Statements end with ";" at a line's end.
  void run_script(std::string_view sql);

  void set_operation(std::string_view operation) { operation_ = operation; }
  void begin();
  void commit();
  void rollback() noexcept;
  // A fresh connection in place of this one.
  void reconnect();

 private:
  PreparedStatement& start(std::string_view name, std::size_t arguments);
  void execute(PreparedStatement& statement);
  void meet(std::string_view statement);
  static void bind_int(PreparedStatement& s, std::size_t position, std::int64_t value);
  static void bind_text(PreparedStatement& s, std::size_t position, std::string_view value);
  static void bind_null(PreparedStatement& s, std::size_t position);
  template <class T>
  static void bind(PreparedStatement& s, std::size_t position, const T& value) {
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      bind_text(s, position, value);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      bind_int(s, position, static_cast<std::int64_t>(value));
    } else if (value.has_value()) {
      bind(s, position, *value);
    } else {
      bind_null(s, position);
    }
  }

  const SessionContext& context_;
  SessionRole role_;
  std::string_view operation_;
  std::unique_ptr<soci::session> connection_;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::unordered_map<std::string, std::unique_ptr<PreparedStatement>, Hash, std::equal_to<>>
      prepared_;
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_SESSION_H_
