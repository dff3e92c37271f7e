// The rows and parameter structs of the store seam. Times are milliseconds since the epoch by the
// database's clock unless a name says otherwise.

#ifndef WAYBILL_STORE_TYPES_H_
#define WAYBILL_STORE_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "core/decide.h"
#include "core/order.h"
#include "core/task.h"

namespace waybill::store {

using base::Millis;
using core::Execution;
using core::TaskId;

// Requests beyond this in one batch wait for the next one.
inline constexpr std::size_t kMaxBatch = 500;  // elements
inline constexpr std::size_t kMaxTransactionTries = 5;
inline constexpr std::int64_t kIdBlock = 1'000;     // ids per statement
inline constexpr int kUserGuards = 256;             // rows U:0..U:255
inline constexpr std::int64_t kAheadShown = 1'000;  // waiting_for counts this far

// ---- creating ----

struct NewTask {
  core::TaskKind kind = core::TaskKind::kExport;
  std::string type;  // <= 64 characters
  std::string lane;  // <= 32
  core::Level priority = 2;
  std::string tenant_id;     // <= 64
  std::string app_code;      // <= 32
  std::string requested_by;  // <= 64
  std::int32_t max_attempts = 3;
  Millis max_duration_ms = 1'800'000;
  std::optional<std::string> serial_key;  // <= 64
  std::optional<std::int64_t> job_id;
  std::string trace_id;  // <= 64
};

struct CreateLimits {
  Millis dedup_window_ms = 60'000;
  std::int64_t active_per_user = 3;
  std::int64_t active_per_type = 5;
  bool type_limit_global = false;  // false: per tenant
  Millis idempotency_keep_ms = 86'400'000;
};

struct CreateExport {
  NewTask task;
  std::string task_name;
  std::string format = "XLSX";
  std::string parameters_json;  // normalised
  std::string parameters_hash;  // SHA-256 hex of type + normalised parameters
  std::string idempotency_key;  // empty = none; <= 128 characters
  std::string request_hash;     // of the whole request, compared when the key is seen again
  CreateLimits limits;
};

struct Created {
  TaskId id = 0;
  bool deduplicated = false;  // an earlier task answers this request (window or idempotency key)
};

// ---- claiming and executing ----

struct ClaimNext {
  std::string owner;  // unique per process start
  Millis lease_ms = 300'000;
  std::string lane;
  std::vector<core::Pick> picks;
  std::vector<std::string> known_types;  // empty = every type (I14: others are left alone)
  std::optional<Millis>
      sent_older_than_ms;  // set: sweep SENT commands of that age instead of PENDING ones
};

struct ClaimDelivered {
  std::string owner;
  Millis lease_ms = 300'000;
  std::vector<Execution> commands;
};

struct ClaimedTask {
  Execution execution;
  core::TaskKind kind = core::TaskKind::kExport;
  std::string type;
  std::string lane;
  core::Level priority = 2;
  std::string tenant_id;
  std::string app_code;
  std::string requested_by;
  std::string trace_id;
  std::optional<std::int64_t> job_id;
  std::int32_t attempt = 1;  // this one's number
  std::int32_t max_attempts = 3;
  Millis max_duration_ms = 0;
  Millis requested_at = 0;
  Millis started_at = 0;
  Millis lease_until = 0;
  Millis deadline_at = 0;
};

// Why a delivered command claimed nothing. All of them are acknowledged.
enum class NotClaimed : std::uint8_t {
  kNoTask,
  kVersionDiffers,
  kEnded,
  kRunning,
  kEarly,
  kLostRace,
  kBlocked
};

struct DeliveredOutcome {
  std::optional<ClaimedTask> claimed;
  NotClaimed reason = NotClaimed::kLostRace;  // when !claimed
};

struct Renew {
  std::string owner;
  Millis lease_ms = 300'000;
  std::vector<Execution> executions;
};
enum class RenewOutcome : std::uint8_t { kOk, kLost, kOverdue, kCancel };
struct RenewReport {
  std::vector<RenewOutcome> outcomes;  // as many as asked, in order
  std::vector<Execution>
      strays;  // RUNNING under this owner but not asked for: a claim whose answer was lost
};

// What a finished export leaves on its rows.
struct ExportResult {
  std::string object_key;
  std::string storage_id;
  std::string file_name;
  std::string content_type;
  std::int64_t size_bytes = 0;
  std::string sha256;
  std::int64_t rows = 0;
  std::string receipt_json;
  Millis keep_ms = 0;  // expires_at = completed_at + keep_ms
};

struct Finish {
  Execution execution;
  core::Event event =
      core::Event::kSucceed;  // kSucceed kFail kRetryLater kOverdue kRelease kStopObserved
  core::FailureClass failure_class = core::FailureClass::kNone;
  std::string failure_message;
  std::optional<Millis> retry_after_ms;  // kRetryLater, kRelease: not due before that
  std::optional<ExportResult> result;    // an export's success
};
enum class FinishOutcome : std::uint8_t {
  kCommitted,  // what was asked for is now the state (also when an earlier try with a lost answer
               // did it)
  kFenced,  // version or owner moved on: this execution's file must go, nothing else may be written
  kOverdue,    // a success after the deadline: nothing changed; finish again with kOverdue
  kCancelled,  // an export's success while cancel was requested: the task is now CANCELLED, its
               // file must go
};

struct Progress {
  Execution execution;
  std::int64_t processed_rows = 0;
  std::optional<std::int64_t> total_rows;
};

// ---- polling ----

struct Poll {
  std::string owner;
  std::vector<std::string> known_types;  // empty = every type
};
struct LaneHead {
  std::string lane;
  core::Head head;
};
struct PollReport {
  Millis now = 0;
  std::vector<LaneHead> heads;       // due PENDING commands; paused lanes left out
  std::vector<LaneHead> sent_heads;  // SENT commands; wait_ms = now - sent_at
  std::vector<std::string> paused_lanes;
  std::vector<Execution> cancels;        // own RUNNING tasks with cancel_requested
  std::optional<Millis> next_due_in_ms;  // the nearest command not yet due, if any
};

// ---- commands (publisher) ----

struct LeaseCommands {
  std::string owner;
  Millis lease_ms = 60'000;
  std::string lane;
  std::vector<core::Pick> picks;
};
struct Command {
  Execution execution;
  std::string event_id;
  core::TaskKind kind = core::TaskKind::kExport;
  std::string type;
  std::string lane;
  core::Level priority = 2;
  std::int32_t attempt = 1;  // sends, this one included
  std::int32_t fail_count = 0;
  std::string trace_id;
  Millis occurred_at = 0;  // when the command became due
};
struct SettleCommand {
  Execution execution;
  std::int32_t attempt = 1;  // as leased: a late settle of an older lease changes nothing
  bool sent = false;
  std::string error;       // !sent
  Millis retry_in_ms = 0;  // !sent
};
struct SentCount {
  std::string lane;
  core::Level level = 2;
  std::int64_t sent = 0;  // SENT and unclaimed, sends in back-off (failed before, PENDING) included
};

// ---- dead letters ----

struct DeadLetter {
  Execution execution;
  std::string event_id;
  std::string reason;
};
enum class DeadLetterOutcome : std::uint8_t {
  kQuarantined,
  kNoTask,
  kMovedOn,
  kEventDiffers,
  kAlreadyQuarantined
};

// ---- repairs (reconciler) ----

struct Walk {
  TaskId after = 0;  // keyset position; start with 0
  std::int64_t limit = 500;
};
struct Walked {
  std::int64_t changed = 0;
  TaskId last = 0;  // pass as Walk::after; 0 = the end was reached
};
struct Recovered {
  Execution execution;  // as it was
  core::TaskStatus to = core::TaskStatus::kPending;
  std::string object_key;  // half-written, to be removed by who runs on `storage_id`; empty = none
  std::string storage_id;
  bool owner_alive = false;  // its instance row is still being renewed: fenced_alive
};
struct ExpiredFile {
  TaskId id = 0;
  std::string object_key;
};

// ---- control ----

enum class CancelOutcome : std::uint8_t { kCancelled, kCancelling, kAlreadyFinished };
struct RetryDone {
  Execution execution;     // the new one
  std::string object_key;  // the old attempt's object, to be removed; empty = none
  std::string storage_id;
};

// ---- reading ----

// Whose tasks may be seen. A foreign id answers like a missing one.
struct Scope {
  std::string tenant_id;
  std::string app_code;
  std::optional<std::string> requested_by;  // unset: everybody of tenant and app
};

struct TaskRow {
  TaskId id = 0;
  core::TaskKind kind = core::TaskKind::kExport;
  std::string type, lane;
  core::Level priority = 2;
  std::string tenant_id, app_code, requested_by;
  core::TaskStatus status = core::TaskStatus::kPending;
  std::int32_t dispatch_version = 1, attempt_count = 0, max_attempts = 3;
  Millis max_duration_ms = 0, due_at = 0;
  std::string lease_owner;
  std::optional<Millis> lease_until, execution_deadline_at;
  bool cancel_requested = false;
  std::string failure_class, failure_message;
  std::optional<std::string> serial_key;
  std::optional<std::int64_t> job_id;
  std::string trace_id;
  Millis requested_at = 0;
  std::optional<Millis> started_at, completed_at;
};

struct ExportRow {
  TaskRow task;
  std::string task_name, format, parameters_json;
  std::int32_t progress_version = 0;  // progress is shown only when it equals task.dispatch_version
  std::int64_t processed_rows = 0;
  std::optional<std::int64_t> total_rows;
  std::string object_key, storage_id, file_name, content_type, sha256, receipt_json;
  std::int64_t size_bytes = 0;
  std::optional<Millis> expires_at;
};

struct AttemptRow {
  std::int32_t dispatch_version = 1;
  std::optional<Millis> started_at;
  Millis ended_at = 0;
  std::string instance, outcome, failure_message;
};

struct ListExports {
  Scope scope;
  std::optional<core::TaskStatus> status;
  std::string type;           // empty = all
  std::string name_contains;  // empty = all
  std::optional<Millis> created_from, created_to;
  std::optional<TaskId> before;  // keyset: ids below this one
  std::int64_t limit = 20;       // 1..100
  // Tasks that one call looks at, at least 1. Filters are in no index, so what is rare or missing
  // would otherwise be looked for in the whole history, which delays everybody else's reads.
  std::int64_t look_at = 20'000;
};

// Newest first. A page may be short, even empty, and not be the last one.
struct ExportPage {
  std::vector<ExportRow> rows;
  std::optional<TaskId> older;  // `before` of the next page; absent = there is none
};

// The facts behind "why is it waiting?"; the words are made by core::waiting_for.
struct WaitingFacts {
  Millis now = 0;
  bool lane_paused = false;
  bool has_command = false;
  core::CommandStatus command_status = core::CommandStatus::kPending;
  std::int32_t command_fail_count = 0;
  std::string command_last_error;
  std::optional<Millis> command_next_send_at;
  std::int64_t ahead = 0;  // commands of its lane that come before it, counted up to kAheadShown
  std::int64_t lane_running = 0;
  std::optional<TaskId> key_holder;
};

// ---- instances ----

struct InstanceRow {
  std::string name;
  Millis started_at = 0, renewed_at = 0;
  std::string version, storage_id, roles_json, workers_json;  // {"export":4}
  std::int32_t schema_version = 1;                            // highest message schema it reads
  bool alive = false;                                         // renewed within 60 s
};

// Where new commands appeared: lets a worker of this process start at once without asking the
// database.
struct CommandHint {
  std::string lane;
  core::Level level = 2;
  std::string tenant_id;
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_TYPES_H_
