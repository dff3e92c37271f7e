#ifndef WAYBILL_STORE_SQLITE_DRIVER_H_
#define WAYBILL_STORE_SQLITE_DRIVER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "store/driver.h"
#include "store/sqlite/open.h"

namespace waybill::store {

class SqliteDriver final : public Driver {
 public:
  SqliteDriver(const SqliteOptions& options, base::Clock& clock);

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] const Dialect& dialect() const override;
  [[nodiscard]] std::span<const EmbeddedSql> own_statements() const override {
    return sqlite_sql();
  }
  [[nodiscard]] std::span<const EmbeddedSql> migrations() const override {
    return sqlite_migrations();
  }
  std::unique_ptr<soci::session> connect(SessionRole role) override;
  void begin(soci::session& session) override;
  void commit(soci::session& session) override;
  void rollback(soci::session& session) noexcept override;
  [[nodiscard]] SqlFault classify(const std::exception& error, bool in_commit) const override;

 private:
  void on_connect(soci::session& session, SessionRole role);
  // Throws when the file was removed or replaced since the first connection.
  void check_file();

  const SqliteOptions options_;
  base::Clock& clock_;
  Capabilities capabilities_;
  std::mutex mutex_;
  std::pair<std::uint64_t, std::uint64_t> file_{0, 0};  // device and inode; guarded by mutex_
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_SQLITE_DRIVER_H_
