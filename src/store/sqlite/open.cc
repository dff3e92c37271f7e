#include "store/sqlite/open.h"

#include <utility>

#include "store/sql_store.h"
#include "store/sqlite/driver.h"
#include "store/sqlite/lock_file.h"

namespace waybill::store {

namespace {

constexpr base::Millis kMaxBusyMs = 600'000;
constexpr int kMaxReaders = 64;
constexpr std::string_view kInMemory = ":memory:";

base::Status check(const SqliteOptions& options) {
  if (options.path.empty())
    return base::invalid("path", "the path of the database file is missing");
  // SOCI's connect string cannot carry it.
  if (options.path.find('"') != std::string::npos) {
    return base::invalid("path", "the path of the database file must not contain a double quote");
  }
  if (options.busy_timeout_ms < 0 || options.busy_timeout_ms > kMaxBusyMs) {
    return base::invalid("busyTimeoutMs", "the busy time-out must be 0..600000 ms");
  }
  if (options.readers < 1 || options.readers > kMaxReaders) {
    return base::invalid("readers", "the number of reading connections must be 1..64");
  }
  return {};
}

}  // namespace

base::Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options, const Seams& seams) {
  WAYBILL_TRY(check(options));
  std::shared_ptr<void> held;
  if (options.serving && options.path != kInMemory) {
    WAYBILL_ASSIGN(held, LockFile::take(options.path));
  }
  auto driver = std::make_unique<SqliteDriver>(options, seams.database_clock);
  WAYBILL_ASSIGN(std::unique_ptr<SqlStore> store,
                 SqlStore::make(std::move(driver), seams, std::move(held)));
  // Says now, and not at the first request, that a file cannot be opened.
  WAYBILL_TRY(store->now());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace waybill::store
