// The store as one process sees it: every operation may find the process dead, kill it, or freeze
// it before the answer arrives; and everything that it changed is judged.

#ifndef WAYBILL_TESTS_SIM_SIM_STORE_H_
#define WAYBILL_TESTS_SIM_SIM_STORE_H_

#include <functional>
#include <memory>
#include <span>

#include "store/store.h"

namespace waybill::sim {

class World;
class Process;

class SimStore final : public store::Store {
 public:
  using Millis = base::Millis;
  SimStore(World& world, Process& process) : world_(world), process_(process) {}
  void committed(std::span<const store::CommandHint> hints) {
    if (listener_) listener_(hints);
  }

  using TaskId = core::TaskId;
  using Walk = store::Walk;
  base::Result<store::Created> create_export(const store::CreateExport& request) override;
  base::Result<std::vector<TaskId>> create_tasks(std::span<const store::NewTask> tasks) override;
  base::Result<TaskId> create_task(const store::NewTask& task) override;
  base::Result<store::CancelOutcome> cancel(TaskId id, const store::Scope& scope) override;
  base::Result<store::RetryDone> retry(TaskId id, const store::Scope& scope) override;
  base::Result<store::ExportRow> find_export(TaskId id, const store::Scope& scope) override;
  base::Result<store::ExportPage> list_exports(const store::ListExports& request) override;
  base::Result<std::vector<store::AttemptRow>> attempts(TaskId id) override;
  base::Result<store::WaitingFacts> waiting_facts(TaskId id) override;
  base::Result<std::vector<store::ExportRow>> watch_exports(std::span<const TaskId> ids) override;
  void on_commit(std::function<void(std::span<const store::CommandHint>)> listener) override {
    listener_ = std::move(listener);
  }

  base::Result<store::PollReport> poll(const store::Poll& request) override;
  base::Result<std::vector<store::ClaimedTask>> claim_next(
      const store::ClaimNext& request) override;
  base::Result<std::vector<store::DeliveredOutcome>> claim_delivered(
      const store::ClaimDelivered& request) override;
  base::Result<store::RenewReport> renew(const store::Renew& request) override;
  base::Result<std::vector<store::FinishOutcome>> finish(
      std::string_view owner, std::span<const store::Finish> items) override;
  base::Result<bool> record_object(std::string_view owner, const core::Execution& execution,
                                   std::string_view key, std::string_view storage_id) override;
  base::Status save_progress(std::string_view owner,
                             std::span<const store::Progress> items) override;
  base::Result<store::ExportRow> load_export(TaskId id) override;
  base::Result<store::TaskRow> lock_and_read(TaskId id) override;

  base::Result<std::vector<store::SentCount>> sent_counts() override;
  base::Result<std::vector<store::Command>> lease_commands(
      const store::LeaseCommands& request) override;
  base::Result<std::int64_t> settle_commands(std::string_view owner,
                                             std::span<const store::SettleCommand> items) override;
  base::Result<store::DeadLetterOutcome> quarantine(const store::DeadLetter& letter) override;

  base::Result<bool> begin_pass(Millis stall_ms, Millis grace_ms) override;
  base::Result<store::Walked> recreate_missing_commands(const Walk& walk,
                                                        Millis due_for_ms) override;
  base::Result<store::Walked> resend_stale_commands(const Walk& walk, Millis stale_ms,
                                                    Millis due_for_ms) override;
  base::Result<std::vector<store::Recovered>> recover_expired_leases(std::int64_t limit,
                                                                     Millis spread_ms) override;
  base::Result<std::vector<store::Recovered>> recover_all_running(std::int64_t limit) override;
  base::Result<store::Walked> release_stuck_commands(const Walk& walk) override;
  base::Result<store::Walked> repair_serial_slots(const Walk& walk) override;
  base::Result<std::vector<store::ExpiredFile>> expired_files(std::string_view storage_id,
                                                              Millis grace_ms,
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
  base::Status register_instance(const store::InstanceRow& row) override;
  base::Status renew_instance(std::string_view name) override;
  base::Status remove_instance(std::string_view name) override;
  base::Result<std::vector<store::InstanceRow>> instances() override;
  base::Result<store::QueueFigures> figures() override;
  base::Result<bool> has_tasks() override;
  base::Status remove_lane_rows(std::string_view lane) override;
  base::Status insert_finished(std::string_view lane, std::int64_t count) override;
  [[nodiscard]] std::int64_t statements() const override;

 private:
  template <class Call>
  auto through(const char* operation, Call call) -> decltype(call());
  // False: the process does not live (any more).
  bool enter(const char* operation);
  bool leave(const char* operation);

  World& world_;
  Process& process_;
  std::function<void(std::span<const store::CommandHint>)> listener_;
};

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_SIM_STORE_H_
