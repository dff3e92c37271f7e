// The database seam: named operations, one params struct each, no SQL above it. One implementation
// over .sql files; a driver brings its connection, its error classes and the statements that must
// differ.
//
// Every operation is one or more whole transactions: on return its effect is committed, or known to
// have had none, or the error is kOutcomeUnknown and the caller replays (every operation is
// conditional, so a replay is safe). kUnavailable: the database is away or busy beyond its retries;
// nothing changed. Deadlocks, serialisation failures and busy are retried inside, then the batch is
// split, so one bad element fails alone. All methods are thread-safe and block; none throws.

#ifndef WAYBILL_STORE_STORE_H_
#define WAYBILL_STORE_STORE_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/types.h"

namespace waybill::store {

// Creating and controlling tasks: what the API needs.
class TaskStore {
 public:
  virtual ~TaskStore() = default;

  // Guards, idempotency, window, limits, task + export_task + command: one transaction, shared with
  // other creates that wait at this moment. kLimit (code EXPORT_USER_LIMIT / EXPORT_TYPE_LIMIT),
  // kConflict (code IDEMPOTENCY_KEY_REUSED), kInvalid (a field longer than its column).
  virtual base::Result<Created> create_export(const CreateExport& request) = 0;
  // No guards and no limits: batch items, benchmarks. One transaction for all; ids in the order
  // given. Tasks with a serial key are inserted BLOCKED and promoted. At most kMaxBatch.
  virtual base::Result<std::vector<TaskId>> create_tasks(std::span<const NewTask> tasks) = 0;
  // One task; concurrent callers share transactions.
  virtual base::Result<TaskId> create_task(const NewTask& task) = 0;

  // kNotFound when `scope` does not see it.
  virtual base::Result<CancelOutcome> cancel(TaskId id, const Scope& scope) = 0;
  // Only FAILED (kConflict, code NOT_FAILED). kNotFound as above.
  virtual base::Result<RetryDone> retry(TaskId id, const Scope& scope) = 0;

  virtual base::Result<ExportRow> find_export(TaskId id, const Scope& scope) = 0;
  virtual base::Result<ExportPage> list_exports(const ListExports& request) = 0;
  virtual base::Result<std::vector<AttemptRow>> attempts(TaskId id) = 0;
  virtual base::Result<WaitingFacts> waiting_facts(TaskId id) = 0;
  // Whatever of `ids` exists, in one statement, for all watchers of a process. No scope: ids were
  // checked before.
  virtual base::Result<std::vector<ExportRow>> watch_exports(std::span<const TaskId> ids) = 0;

  // Called after a commit that made commands due now in this process. The listener must be quick
  // and must not call the store. Register before the first create.
  virtual void on_commit(std::function<void(std::span<const CommandHint>)> listener) = 0;
};

// Claiming and executing: what workers and the watchdog need.
class WorkStore {
 public:
  virtual ~WorkStore() = default;

  // One reading statement, for all of a process, once a second. Heads of unknown types are left
  // out.
  virtual base::Result<PollReport> poll(const Poll& request) = 0;
  // At most kMaxBatch tasks, in the order of the picks (places of one level and tenant together).
  // Removes the stale commands it meets.
  virtual base::Result<std::vector<ClaimedTask>> claim_next(const ClaimNext& request) = 0;
  // One outcome per command, in order. A command without its row (lost, not yet re-made) claims
  // nothing: kLostRace.
  virtual base::Result<std::vector<DeliveredOutcome>> claim_delivered(
      const ClaimDelivered& request) = 0;
  // On a single-writer database it overtakes every waiting batch.
  virtual base::Result<RenewReport> renew(const Renew& request) = 0;
  // Outcomes in the order given. Also updates the job, releases the serial key, promotes the next,
  // makes and deletes commands (I17). At most kMaxBatch.
  virtual base::Result<std::vector<FinishOutcome>> finish(std::string_view owner,
                                                          std::span<const Finish> items) = 0;
  // The execution's first transaction: which object it is going to write. false = fenced.
  virtual base::Result<bool> record_object(std::string_view owner, const Execution& execution,
                                           std::string_view key, std::string_view storage_id) = 0;
  // Fenced by (task_id, dispatch_version) of the progress row itself, which record_object() sets;
  // never renews a lease.
  virtual base::Status save_progress(std::string_view owner, std::span<const Progress> items) = 0;
  // The task's export row for its executor (parameters); no scope. kNotFound when the row is gone.
  virtual base::Result<ExportRow> load_export(TaskId id) = 0;
  // A locking read of how an execution stands, for callers whose answer was lost.
  virtual base::Result<TaskRow> lock_and_read(TaskId id) = 0;
};

// Sending commands: what the publisher and the dead-letter role need.
class CommandStore {
 public:
  virtual ~CommandStore() = default;
  virtual base::Result<std::vector<SentCount>> sent_counts() = 0;
  virtual base::Result<std::vector<Command>> lease_commands(const LeaseCommands& request) = 0;
  // Conditional on (CLAIMED, owner, attempt). Returns how many changed. Errors are cut to 500
  // characters, one line.
  virtual base::Result<std::int64_t> settle_commands(std::string_view owner,
                                                     std::span<const SettleCommand> items) = 0;
  virtual base::Result<DeadLetterOutcome> quarantine(const DeadLetter& letter) = 0;
};

// Making up for what was lost: the reconciler and retention.
class RepairStore {
 public:
  virtual ~RepairStore() = default;
  // Notes that a pass runs; true = branch 2 has to wait (a stall or a clock step was seen; see 09
  // F7).
  virtual base::Result<bool> begin_pass(Millis stall_ms, Millis grace_ms) = 0;
  virtual base::Result<Walked> recreate_missing_commands(const Walk& walk,
                                                         Millis due_for_ms) = 0;  // 1a
  virtual base::Result<Walked> resend_stale_commands(const Walk& walk, Millis stale_ms,
                                                     Millis due_for_ms) = 0;  // 1b
  virtual base::Result<std::vector<Recovered>> recover_expired_leases(std::int64_t limit,
                                                                      Millis spread_ms) = 0;  // 2
  // At the start of the only serving process of a file database: every RUNNING task, whatever its
  // lease.
  // At most kMaxBatch at once: repeat until nothing comes back.
  virtual base::Result<std::vector<Recovered>> recover_all_running(std::int64_t limit) = 0;
  virtual base::Result<Walked> release_stuck_commands(const Walk& walk) = 0;  // 3
  virtual base::Result<Walked> repair_serial_slots(const Walk& walk) = 0;     // 5
  // 4: files. `grace_ms` after expires_at; only of this storage.
  virtual base::Result<std::vector<ExpiredFile>> expired_files(std::string_view storage_id,
                                                               Millis grace_ms,
                                                               const Walk& walk) = 0;
  virtual base::Result<std::int64_t> mark_expired(std::span<const TaskId> ids) = 0;
  // Which of these object keys a SUCCEEDED or unended task records.
  virtual base::Result<std::vector<std::string>> recorded_keys(
      std::span<const std::string> keys) = 0;
  // Retention; each deletes at most `limit` and returns how many.
  virtual base::Result<std::int64_t> delete_old_sent_commands(Millis older_than_ms,
                                                              std::int64_t limit) = 0;
  virtual base::Result<std::int64_t> delete_old_idempotency(std::int64_t limit) = 0;
  virtual base::Result<std::int64_t> delete_old_tasks(Millis older_than_ms, std::int64_t limit) = 0;
};

struct QueueFigures {
  std::int64_t pending_commands = 0;
  Millis oldest_command_age_ms = 0;  // now - due_at of due, unsent ones
  std::int64_t max_fail_count = 0;
  std::int64_t running = 0;
  std::int64_t finished = 0;  // counted only where asked for
};

// Schema, guards, lanes, instances.
class AdminStore {
 public:
  virtual ~AdminStore() = default;
  virtual base::Status
  migrate() = 0;  // idempotent; safe when several run at once; refuses a newer schema
  virtual base::Result<int> schema_version() = 0;
  virtual base::Status ensure_type_guards(std::span<const std::string> types) = 0;
  virtual base::Status check_guards() = 0;  // kInternal naming the missing row
  // Makes again what migrate() made once and somebody deleted; says how many rows that were. Only
  // when a person asks for it: a serving process with a missing guard does not start.
  virtual base::Result<std::int64_t> restore_guards() = 0;
  virtual base::Result<Millis> now() = 0;
  virtual base::Result<std::string> database_id() = 0;  // made once, 36 characters
  virtual base::Status set_lane_paused(std::string_view lane, bool paused) = 0;
  virtual base::Status register_instance(const InstanceRow& row) = 0;
  virtual base::Status renew_instance(std::string_view name) = 0;
  virtual base::Status remove_instance(std::string_view name) = 0;
  virtual base::Result<std::vector<InstanceRow>> instances() = 0;
  virtual base::Result<QueueFigures> figures() = 0;
  virtual base::Result<bool> has_tasks() = 0;
  // Benchmarks only: removes every row of a lane, in pieces.
  virtual base::Status remove_lane_rows(std::string_view lane) = 0;
  // Benchmarks only: `count` SUCCEEDED rows of the lane.
  virtual base::Status insert_finished(std::string_view lane, std::int64_t count) = 0;
  // Statements executed so far, for the idle-cost figure.
  [[nodiscard]] virtual std::int64_t statements() const = 0;
};

class Store : public TaskStore,
              public WorkStore,
              public CommandStore,
              public RepairStore,
              public AdminStore {};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_STORE_H_
