// The .sql files of src/store as they were when the library was built.

#ifndef WAYBILL_STORE_EMBEDDED_SQL_H_
#define WAYBILL_STORE_EMBEDDED_SQL_H_

#include <iterator>
#include <span>
#include <string_view>

namespace waybill::store {

struct EmbeddedSql {
  std::string_view file;  // without folder
  std::string_view text;
};

// In the order of their names.
std::span<const EmbeddedSql> common_sql();
std::span<const EmbeddedSql> sqlite_sql();
std::span<const EmbeddedSql> sqlite_migrations();

}  // namespace waybill::store

#endif  // WAYBILL_STORE_EMBEDDED_SQL_H_
