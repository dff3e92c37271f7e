#include "store/sql_store.h"

#include <utility>

namespace waybill::store {

base::Result<std::unique_ptr<SqlStore>> SqlStore::make(std::unique_ptr<Driver> driver,
                                                       const Seams& seams,
                                                       std::shared_ptr<void> held) {
  WAYBILL_ASSIGN(StatementCatalog catalog,
                 StatementCatalog::load(common_sql(), driver->own_statements(), driver->dialect()));
  return std::unique_ptr<SqlStore>(
      new SqlStore(std::move(driver), std::move(catalog), seams, std::move(held)));
}

SqlStore::SqlStore(std::unique_ptr<Driver> driver, StatementCatalog catalog, const Seams& seams,
                   std::shared_ptr<void> held)
    : held_(std::move(held)),
      driver_(std::move(driver)),
      catalog_(std::move(catalog)),
      seams_(seams),
      context_{*driver_, catalog_, seams_.before_statement, statements_},
      writer_(context_),
      readers_(context_, writer_),
      transitions_(seams_),
      ids_(writer_),
      task_collector_(
          kMaxBatch,
          [this](std::span<const NewTask* const> tasks) { return create_task_batch(tasks); }),
      export_collector_(kMaxBatch, [this](std::span<const CreateExport* const> requests) {
        return create_export_batch(requests);
      }) {}

void SqlStore::on_commit(std::function<void(std::span<const CommandHint>)> listener) {
  listener_ = std::move(listener);
}

void SqlStore::tell(const CommandHints& hints) {
  if (!listener_ || hints.empty()) return;
  const std::vector<CommandHint> list = hints.list();
  listener_(list);
}

}  // namespace waybill::store
