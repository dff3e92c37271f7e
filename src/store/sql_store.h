// The one implementation of the store, over named statements. Operations are split by group into
// sql_*.cc.

#ifndef WAYBILL_STORE_SQL_STORE_H_
#define WAYBILL_STORE_SQL_STORE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/collector.h"
#include "store/driver.h"
#include "store/id_source.h"
#include "store/seams.h"
#include "store/statement_catalog.h"
#include "store/store.h"
#include "store/transition.h"
#include "store/writer.h"

namespace waybill::store {

class SqlStore final : public Store {
 public:
  // `driver` and what `seams` refers to live as long as the store. `held` is destroyed with it: a
  // lock file.
  static base::Result<std::unique_ptr<SqlStore>> make(std::unique_ptr<Driver> driver,
                                                      const Seams& seams,
                                                      std::shared_ptr<void> held);

  base::Result<Created> create_export(const CreateExport& request) override;
  base::Result<std::vector<TaskId>> create_tasks(std::span<const NewTask> tasks) override;
  base::Result<TaskId> create_task(const NewTask& task) override;
  base::Result<CancelOutcome> cancel(TaskId id, const Scope& scope) override;
  base::Result<RetryDone> retry(TaskId id, const Scope& scope) override;
  base::Result<ExportRow> find_export(TaskId id, const Scope& scope) override;
  base::Result<ExportPage> list_exports(const ListExports& request) override;
  base::Result<std::vector<AttemptRow>> attempts(TaskId id) override;
  base::Result<WaitingFacts> waiting_facts(TaskId id) override;
  base::Result<std::vector<ExportRow>> watch_exports(std::span<const TaskId> ids) override;
  void on_commit(std::function<void(std::span<const CommandHint>)> listener) override;

  base::Result<PollReport> poll(const Poll& request) override;
  base::Result<std::vector<ClaimedTask>> claim_next(const ClaimNext& request) override;
  base::Result<std::vector<DeliveredOutcome>> claim_delivered(
      const ClaimDelivered& request) override;
  base::Result<RenewReport> renew(const Renew& request) override;
  base::Result<std::vector<FinishOutcome>> finish(std::string_view owner,
                                                  std::span<const Finish> items) override;
  base::Result<bool> record_object(std::string_view owner, const Execution& execution,
                                   std::string_view key, std::string_view storage_id) override;
  base::Status save_progress(std::string_view owner, std::span<const Progress> items) override;
  base::Result<ExportRow> load_export(TaskId id) override;
  base::Result<TaskRow> lock_and_read(TaskId id) override;

  base::Result<std::vector<SentCount>> sent_counts() override;
  base::Result<std::vector<Command>> lease_commands(const LeaseCommands& request) override;
  base::Result<std::int64_t> settle_commands(std::string_view owner,
                                             std::span<const SettleCommand> items) override;
  base::Result<DeadLetterOutcome> quarantine(const DeadLetter& letter) override;

  base::Result<bool> begin_pass(Millis stall_ms, Millis grace_ms) override;
  base::Result<Walked> recreate_missing_commands(const Walk& walk, Millis due_for_ms) override;
  base::Result<Walked> resend_stale_commands(const Walk& walk, Millis stale_ms,
                                             Millis due_for_ms) override;
  base::Result<std::vector<Recovered>> recover_expired_leases(std::int64_t limit,
                                                              Millis spread_ms) override;
  base::Result<std::vector<Recovered>> recover_all_running(std::int64_t limit) override;
  base::Result<Walked> release_stuck_commands(const Walk& walk) override;
  base::Result<Walked> repair_serial_slots(const Walk& walk) override;
  base::Result<std::vector<ExpiredFile>> expired_files(std::string_view storage_id, Millis grace_ms,
                                                       const Walk& walk) override;
  base::Result<std::int64_t> mark_expired(std::span<const TaskId> ids) override;
  base::Result<std::vector<std::string>> recorded_keys(std::span<const std::string> keys) override;
  base::Result<std::int64_t> delete_old_sent_commands(Millis older_than_ms,
                                                      std::int64_t limit) override;
  base::Result<std::int64_t> delete_old_idempotency(std::int64_t limit) override;
  base::Result<std::int64_t> delete_old_tasks(Millis older_than_ms, std::int64_t limit) override;

  base::Status migrate() override;
  base::Result<int> schema_version() override;
  base::Status ensure_type_guards(std::span<const std::string> types) override;
  base::Status check_guards() override;
  base::Result<std::int64_t> restore_guards() override;
  base::Result<Millis> now() override;
  base::Result<std::string> database_id() override;
  base::Status set_lane_paused(std::string_view lane, bool paused) override;
  base::Status register_instance(const InstanceRow& row) override;
  base::Status renew_instance(std::string_view name) override;
  base::Status remove_instance(std::string_view name) override;
  base::Result<std::vector<InstanceRow>> instances() override;
  base::Result<QueueFigures> figures() override;
  base::Result<bool> has_tasks() override;
  base::Status remove_lane_rows(std::string_view lane) override;
  base::Status insert_finished(std::string_view lane, std::int64_t count) override;
  [[nodiscard]] std::int64_t statements() const override { return statements_.load(); }

 private:
  SqlStore(std::unique_ptr<Driver> driver, StatementCatalog catalog, const Seams& seams,
           std::shared_ptr<void> held);

  // sql_create.cc, sql_create_export.cc
  base::Status insert_tasks(std::span<const NewTask* const> tasks, std::vector<TaskId>& ids);
  std::vector<base::Result<TaskId>> create_task_batch(std::span<const NewTask* const> tasks);
  std::vector<base::Result<Created>> create_export_batch(
      std::span<const CreateExport* const> requests);

  // sql_finish.cc
  base::Status finish_batch(std::string_view owner, std::span<const Finish> items,
                            std::span<FinishOutcome> outcomes);

  // sql_repair.cc
  base::Result<std::vector<Recovered>> recover(std::string_view operation,
                                               std::span<const TaskId> ids, bool expired_only,
                                               Millis spread_ms);
  base::Result<std::vector<TaskId>> read_ids(std::string_view operation, std::string_view statement,
                                             std::int64_t limit);

  // sql_reads.cc
  base::Result<std::vector<ExportRow>> read_exports(std::string_view operation,
                                                    std::span<const TaskId> ids);

  void tell(const CommandHints& hints);

  std::shared_ptr<void> held_;
  std::unique_ptr<Driver> driver_;
  const StatementCatalog catalog_;
  const Seams seams_;
  std::atomic<std::int64_t> statements_{0};
  const SessionContext context_;
  Writer writer_;
  Readers readers_;
  Transitions transitions_;
  IdSource ids_;
  Collector<NewTask, base::Result<TaskId>> task_collector_;
  Collector<CreateExport, base::Result<Created>> export_collector_;
  std::function<void(std::span<const CommandHint>)> listener_;
  std::mutex history_mutex_;
  TaskId history_after_ = 0;  // how far delete_old_tasks has walked
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_SQL_STORE_H_
