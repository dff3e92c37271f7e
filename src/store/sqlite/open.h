// A store in one SQLite file: one serving process, one writing connection, a few reading ones.

#ifndef WAYBILL_STORE_SQLITE_OPEN_H_
#define WAYBILL_STORE_SQLITE_OPEN_H_

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "store/seams.h"
#include "store/store.h"

namespace waybill::store {

struct SqliteOptions {
  std::string path;      // ":memory:" = one shared connection, gone with the store
  bool serving = false;  // takes `waybill.lock` beside the file until the store ends
  // synchronous=FULL: an answered create or a finished item survives power loss. false = NORMAL: it
  // survives the end of the process only.
  bool durable = true;
  base::Millis busy_timeout_ms = 10'000;  // how long a foreign write lock is waited for, 0..600,000
  int readers = 4;                        // 1..64
  // For the simulator: called once with each new connection (a sqlite3*), before its first use.
  std::function<void(void*)> on_connection{};
};

// Opens or creates the file; migrate() is the caller's. `seams` and what it refers to must outlive
// the store. kConflict (code DATABASE_IN_USE) when another process serves the file; kInvalid for
// options out of range; kUnavailable or kInternal when the file cannot be opened.
base::Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options, const Seams& seams);

}  // namespace waybill::store

#endif  // WAYBILL_STORE_SQLITE_OPEN_H_
