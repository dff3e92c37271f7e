// The named statements of the .sql files, ready for one database.
//
// A file holds statements, each under a head of comment lines:
//   -- name: claim_take
//   -- in:   ids text, owner text, lease int
//   -- out:  id int, type text
// `in` lists the parameters in the order in which C++ binds them (the text names them :ids, :owner,
// ...), `out` the columns in their order. Two types exist: int (64 bits) and text.
//
// Arrays travel as one JSON text parameter; how it becomes a table is the database's affair
// (`Dialect`):
//   @list(ids int)                the values of a JSON array, for IN
//   @rows(items: id int, v int)   a derived table from a JSON array of arrays
//   @pairs(events)                a derived table (id int, text text) from a JSON object {"id":
//   "text"}
//   @index(outbox_due)            after a table: read it through this index, whatever the
//   statistics say
//   @lock, @lock_skip             the row locks of a SELECT; nothing where one writer holds the
//   database
// A driver's file may define a statement of a common name again; then its text wins.

#ifndef WAYBILL_STORE_STATEMENT_CATALOG_H_
#define WAYBILL_STORE_STATEMENT_CATALOG_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/embedded_sql.h"

namespace waybill::store {

enum class SqlType : std::uint8_t { kInt, kText };

struct SqlColumn {
  std::string name;
  SqlType type = SqlType::kInt;
};

struct StatementText {
  std::string name;
  std::string file;
  std::vector<SqlColumn> in;
  std::vector<SqlColumn> out;
  std::string sql;  // macros expanded
};

// How a database spells what the macros mean.
struct Dialect {
  std::string (*list)(std::string_view parameter, SqlType type);
  std::string (*rows)(std::string_view parameter, std::span<const SqlColumn> columns);
  std::string (*pairs)(std::string_view parameter);
  std::string (*index)(std::string_view name);
  std::string_view lock;
  std::string_view lock_skip;
};

// Immutable after load(); thread-safe.
class StatementCatalog {
 public:
  // kInternal naming file and statement for a malformed head, an unknown macro, a parameter that
  // the text does not use or does not declare, and a name given twice within one group.
  static base::Result<StatementCatalog> load(std::span<const EmbeddedSql> common,
                                             std::span<const EmbeddedSql> own,
                                             const Dialect& dialect);

  // Null when there is no such statement.
  [[nodiscard]] const StatementText* find(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, StatementText, std::less<>>& all() const {
    return statements_;
  }

 private:
  std::map<std::string, StatementText, std::less<>> statements_;
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_STATEMENT_CATALOG_H_
