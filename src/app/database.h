// The database of a serving process: opened, checked and brought up to date.

#ifndef WAYBILL_APP_DATABASE_H_
#define WAYBILL_APP_DATABASE_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/seams.h"
#include "store/store.h"

namespace waybill::app {

// Error::field of a file that is no database of Waybill, or a damaged one.
inline constexpr std::string_view kDatabaseField = "database.url";

// Opens the SQLite file at `path` for the one process that serves it, making it where there is
// none, and migrates its schema. A file of somebody else is refused before anything is written to
// it. Errors are one line that names the file.
base::Result<std::unique_ptr<store::Store>> open_database(const std::string& path,
                                                          const store::Seams& seams);

}  // namespace waybill::app

#endif  // WAYBILL_APP_DATABASE_H_
