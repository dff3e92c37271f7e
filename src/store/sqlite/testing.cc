#include "store/sqlite/testing.h"

#include "base/clock.h"
#include "store/sqlite/driver.h"

namespace waybill::store {

std::map<std::string, std::string> sqlite_statement_texts() {
  base::SystemClock clock;
  const SqliteDriver driver({.path = ":memory:"}, clock);
  const auto catalog =
      StatementCatalog::load(common_sql(), driver.own_statements(), driver.dialect());
  std::map<std::string, std::string> texts;
  for (const auto& [name, statement] : catalog.value().all()) texts.emplace(name, statement.sql);
  return texts;
}

}  // namespace waybill::store
