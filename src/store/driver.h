// What a database brings: connections prepared in one place, its transactions, its error classes,
// its dialect. The statements and everything above them are common.

#ifndef WAYBILL_STORE_DRIVER_H_
#define WAYBILL_STORE_DRIVER_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "store/embedded_sql.h"
#include "store/statement_catalog.h"

namespace soci {
class session;
}

namespace waybill::store {

enum class FaultKind : std::uint8_t {
  kRetry,     // deadlock, serialisation failure, busy: the whole transaction is tried again
  kConflict,  // a unique key exists already
  kAway,      // the connection is gone or the database cannot be reached; nothing was committed
  kUnknown,   // a COMMIT was sent and its answer is missing
  kFatal,     // anything else: a person has to look
};

// Thrown inside the store only; Writer and Readers turn it into a base::Error.
class SqlFault : public std::exception {
 public:
  SqlFault(FaultKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  [[nodiscard]] FaultKind kind() const { return kind_; }
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  FaultKind kind_;
  std::string message_;
};

enum class SessionRole : std::uint8_t { kWriter, kReader };

struct Capabilities {
  bool one_session = false;  // everything shares one connection (a database in memory)
  int readers = 4;           // sessions for reads
  int busy_tries = 5;        // how often a transaction is tried before kUnavailable
};

// Thread-safe; one per store.
class Driver {
 public:
  virtual ~Driver() = default;
  [[nodiscard]] virtual const Capabilities& capabilities() const = 0;
  [[nodiscard]] virtual const Dialect& dialect() const = 0;
  [[nodiscard]] virtual std::span<const EmbeddedSql> own_statements() const = 0;
  [[nodiscard]] virtual std::span<const EmbeddedSql> migrations() const = 0;

  // A session that is ready for use. Throws what classify() knows.
  virtual std::unique_ptr<soci::session> connect(SessionRole role) = 0;
  // Writing transactions. They throw what classify() knows.
  virtual void begin(soci::session& session) = 0;
  virtual void commit(soci::session& session) = 0;
  virtual void rollback(soci::session& session) noexcept = 0;
  // `in_commit`: the error came out of commit().
  [[nodiscard]] virtual SqlFault classify(const std::exception& error, bool in_commit) const = 0;
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_DRIVER_H_
