#include "store/sqlite/driver.h"

// SOCI declares SQLite's functions in a namespace of its own; so it comes before sqlite3.h anywhere
// in this file.
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <sys/stat.h>

#include <string>

namespace waybill::store {

namespace {

namespace api = sqlite_api;

constexpr int kWriterCacheKib = 16 * 1024;
constexpr int kReaderCacheKib = 4 * 1024;
// Pages in the log before its writer copies them into the file: 32 MiB, so a burst pays for it
// seldom.
constexpr int kCheckpointPages = 8'000;
// The log file shrinks to this after a checkpoint, in bytes.
constexpr std::int64_t kLogBytesKept = 48LL * 1024 * 1024;

api::sqlite3* handle(soci::session& session) {
  return static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
}

void waybill_now(api::sqlite3_context* context, int, api::sqlite3_value**) {
  const auto* clock = static_cast<const base::Clock*>(api::sqlite3_user_data(context));
  api::sqlite3_result_int64(context, clock->wall_ms());
}

std::string sqlite_list(std::string_view parameter, SqlType) {
  return "(SELECT value FROM json_each(:" + std::string(parameter) + "))";
}

std::string sqlite_rows(std::string_view parameter, std::span<const SqlColumn> columns) {
  std::string out = "(SELECT ";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out += ", ";
    out += "json_extract(value, '$[" + std::to_string(i) + "]') AS " + columns[i].name;
  }
  // The LIMIT keeps the planner from folding this into the statement, where small statistics make
  // it scan the other table once per row of the batch.
  return out + " FROM json_each(:" + std::string(parameter) + ") LIMIT -1)";
}

std::string sqlite_pairs(std::string_view parameter) {
  return "(SELECT CAST(key AS INTEGER) AS id, value AS text FROM json_each(:" +
         std::string(parameter) + "))";
}

std::string sqlite_index(std::string_view name) { return "INDEXED BY " + std::string(name); }

// One statement given as text, without SOCI's bookkeeping.
void execute(soci::session& session, const char* sql) {
  char* message = nullptr;
  const int code = api::sqlite3_exec(handle(session), sql, nullptr, nullptr, &message);
  if (code == SQLITE_OK) return;
  const std::string text = message != nullptr ? message : "unknown error";
  api::sqlite3_free(message);
  throw soci::sqlite3_soci_error(text, api::sqlite3_extended_errcode(handle(session)));
}

FaultKind kind_of(int code) {
  if (code == SQLITE_CONSTRAINT_PRIMARYKEY || code == SQLITE_CONSTRAINT_UNIQUE ||
      code == SQLITE_CONSTRAINT_ROWID)
    return FaultKind::kConflict;
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return FaultKind::kRetry;
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
    case SQLITE_PROTOCOL:
    case SQLITE_INTERRUPT:
      return FaultKind::kAway;
    default:
      return FaultKind::kFatal;
  }
}

// Once per process, before the first connection; refused without harm when somebody was faster.
// Every connection here is used by one thread at a time, so SQLite need not lock it for every
// column read; nor count every allocation.
void configure_library() {
  static const bool done = [] {
    api::sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    api::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

SqliteDriver::SqliteDriver(const SqliteOptions& options, base::Clock& clock)
    : options_(options), clock_(clock) {
  configure_library();
  capabilities_.one_session = options.path == ":memory:";
  capabilities_.readers = options.readers;
}

const Dialect& SqliteDriver::dialect() const {
  static constexpr Dialect kDialect{.list = sqlite_list,
                                    .rows = sqlite_rows,
                                    .pairs = sqlite_pairs,
                                    .index = sqlite_index,
                                    .lock = "",
                                    .lock_skip = ""};
  return kDialect;
}

std::unique_ptr<soci::session> SqliteDriver::connect(SessionRole role) {
  check_file();
  std::string quoted = "db=\"" + options_.path + "\"";
  auto session = std::make_unique<soci::session>(soci::sqlite3, quoted);
  on_connect(*session, role);
  check_file();
  return session;
}

// Under an open connection a removed file goes on taking commits, which nobody will ever read; and
// a new connection would make an empty one in its place. Both would lose acknowledged tasks.
void SqliteDriver::check_file() {
  if (capabilities_.one_session) return;
  struct stat now{};
  const bool present = ::stat(options_.path.c_str(), &now) == 0;
  const std::pair<std::uint64_t, std::uint64_t> identity{now.st_dev, now.st_ino};
  const std::lock_guard lock(mutex_);
  if (file_ == std::pair<std::uint64_t, std::uint64_t>{0, 0}) {
    if (present) file_ = identity;
    return;
  }
  if (present && identity == file_) return;
  throw SqlFault(FaultKind::kAway, "the database file " + options_.path + " was " +
                                       (present ? "replaced" : "removed") +
                                       " while in use; restore it and restart");
}

void SqliteDriver::on_connect(soci::session& session, SessionRole role) {
  api::sqlite3* db = handle(session);
  api::sqlite3_extended_result_codes(db, 1);
  api::sqlite3_busy_timeout(db, static_cast<int>(options_.busy_timeout_ms));
  // Not deterministic: the clock moves. As the bound of an index it is still called only once per
  // statement.
  api::sqlite3_create_function(db, "waybill_now", 0, SQLITE_UTF8, &clock_, waybill_now, nullptr,
                               nullptr);
  const int cache = role == SessionRole::kWriter ? kWriterCacheKib : kReaderCacheKib;
  const std::string pragmas = "PRAGMA journal_mode=WAL; PRAGMA synchronous=" +
                              std::string(options_.durable ? "FULL" : "NORMAL") +
                              "; PRAGMA cache_size=-" + std::to_string(cache) +
                              "; PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY" +
                              "; PRAGMA wal_autocheckpoint=" + std::to_string(kCheckpointPages) +
                              "; PRAGMA journal_size_limit=" + std::to_string(kLogBytesKept);
  execute(session, pragmas.c_str());
  if (options_.on_connection) options_.on_connection(db);
}

// IMMEDIATE: a transaction that reads first and then finds the write lock taken could never be
// retried in place.
void SqliteDriver::begin(soci::session& session) {
  check_file();
  execute(session, "BEGIN IMMEDIATE");
}
void SqliteDriver::commit(soci::session& session) { execute(session, "COMMIT"); }

void SqliteDriver::rollback(soci::session& session) noexcept {
  // Some errors (disk full, I/O) have rolled back already.
  if (api::sqlite3_get_autocommit(handle(session)) == 0) {
    api::sqlite3_exec(handle(session), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

SqlFault SqliteDriver::classify(const std::exception& error, bool in_commit) const {
  if (const auto* fault = dynamic_cast<const SqlFault*>(&error)) return *fault;
  const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error);
  if (sqlite == nullptr) return SqlFault(FaultKind::kFatal, error.what());
  FaultKind kind = kind_of(sqlite->result());
  // The log may hold the commit although syncing it reported an error. A full disk is no such case:
  // the frame that carries the commit was not written.
  const bool written_perhaps = (sqlite->result() & 0xff) != SQLITE_FULL;
  if (in_commit && kind == FaultKind::kAway && written_perhaps) kind = FaultKind::kUnknown;
  return SqlFault(kind, sqlite->what());
}

}  // namespace waybill::store
