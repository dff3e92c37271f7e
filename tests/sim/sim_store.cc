#include "tests/sim/sim_store.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "tests/sim/operator.h"
#include "tests/sim/process.h"
#include "tests/sim/rules.h"
#include "tests/sim/world.h"

namespace waybill::sim {
namespace {

constexpr double kYieldChance = 0.25;  // that others run before, or after, an operation
constexpr Millis kMaxWaitMs = 15;      // for the database
constexpr double kLongFreeze = 0.5;    // of all freezes: past the lease
constexpr double kWorkWeight = 6;

// Most operations of a run are polls. What changes something is where a crash can hurt.
double weight_of(std::string_view operation) {
  constexpr std::string_view kRoutine[] = {
      "poll",          "renew_instance", "begin_pass", "sent_counts", "instances",
      "expired_files", "recorded_keys",  "now",        "database_id"};
  const bool routine =
      std::find(std::begin(kRoutine), std::end(kRoutine), operation) != std::end(kRoutine);
  return routine ? 1 : kWorkWeight;
}

}  // namespace

bool SimStore::enter(const char* operation) {
  Scheduler& scheduler = world_.scheduler;
  if (scheduler.chance(kYieldChance)) scheduler.sleep(scheduler.between(0, kMaxWaitMs));
  if (process_.dead()) return false;
  if (world_.faulty && scheduler.chance(world_.faults.crash_before * weight_of(operation))) {
    process_.crash(std::string("before ") + operation);
    return false;
  }
  world_.observe(nullptr, "the run");
  world_.acting = &process_;
  return true;
}

bool SimStore::leave(const char* operation) {
  Scheduler& scheduler = world_.scheduler;
  world_.acting = nullptr;
  world_.observe(&process_, operation);
  if (!world_.faulty) return true;
  if (scheduler.chance(world_.faults.crash_after * weight_of(operation))) {
    process_.crash(std::string("after ") + operation);
    return false;
  }
  if (scheduler.chance(world_.faults.freeze * weight_of(operation))) {
    const Millis lease = process_.lease_ms();
    process_.freeze(scheduler.chance(kLongFreeze) ? scheduler.between(lease, 3 * lease)
                                                  : scheduler.between(10, lease));
  }
  if (scheduler.chance(kYieldChance)) scheduler.sleep(scheduler.between(0, kMaxWaitMs));
  return !process_.dead();
}

template <class Call>
auto SimStore::through(const char* operation, Call call) -> decltype(call()) {
  if (!enter(operation)) return base::unavailable("the process is gone");
  auto answer = call();
  if (!leave(operation)) return base::unavailable("the process is gone");
  return answer;
}

base::Result<store::Created> SimStore::create_export(const store::CreateExport& request) {
  return through("create_export", [&] { return world_.store->create_export(request); });
}
base::Result<std::vector<core::TaskId>> SimStore::create_tasks(
    std::span<const store::NewTask> tasks) {
  return through("create_tasks", [&] { return world_.store->create_tasks(tasks); });
}
base::Result<core::TaskId> SimStore::create_task(const store::NewTask& task) {
  return through("create_task", [&] { return world_.store->create_task(task); });
}
base::Result<store::CancelOutcome> SimStore::cancel(TaskId id, const store::Scope& scope) {
  return through("cancel", [&] { return world_.store->cancel(id, scope); });
}
base::Result<store::RetryDone> SimStore::retry(TaskId id, const store::Scope& scope) {
  return through("retry", [&] { return world_.store->retry(id, scope); });
}
base::Result<store::ExportRow> SimStore::find_export(TaskId id, const store::Scope& scope) {
  return through("find_export", [&] { return world_.store->find_export(id, scope); });
}
base::Result<store::ExportPage> SimStore::list_exports(const store::ListExports& request) {
  return through("list_exports", [&] { return world_.store->list_exports(request); });
}
base::Result<std::vector<store::AttemptRow>> SimStore::attempts(TaskId id) {
  return through("attempts", [&] { return world_.store->attempts(id); });
}
base::Result<store::WaitingFacts> SimStore::waiting_facts(TaskId id) {
  return through("waiting_facts", [&] { return world_.store->waiting_facts(id); });
}
base::Result<std::vector<store::ExportRow>> SimStore::watch_exports(std::span<const TaskId> ids) {
  return through("watch_exports", [&] { return world_.store->watch_exports(ids); });
}
base::Result<store::PollReport> SimStore::poll(const store::Poll& request) {
  return through("poll", [&] { return world_.store->poll(request); });
}
base::Result<std::vector<store::ClaimedTask>> SimStore::claim_next(
    const store::ClaimNext& request) {
  return through("claim_next", [&] { return world_.store->claim_next(request); });
}
base::Result<std::vector<store::DeliveredOutcome>> SimStore::claim_delivered(
    const store::ClaimDelivered& request) {
  return through("claim_delivered", [&] {
    auto outcomes = world_.store->claim_delivered(request);
    for (std::size_t i = 0; outcomes.ok() && i < outcomes->size(); ++i) {
      process_.claim_answered(request.commands[i]);
      const auto& claimed = (*outcomes)[i].claimed;
      if (claimed && claimed->execution != request.commands[i])
        world_.violate("I4", claimed->execution.id,
                       "a delivery started another version than its own");
    }
    return outcomes;
  });
}
base::Result<store::RenewReport> SimStore::renew(const store::Renew& request) {
  return through("renew", [&] { return world_.store->renew(request); });
}
base::Result<std::vector<store::FinishOutcome>> SimStore::finish(
    std::string_view owner, std::span<const store::Finish> items) {
  return through("finish", [&] {
    std::map<core::TaskId, std::int32_t> released;
    for (const store::Finish& item : items) {
      const auto task = world_.rules->tasks().find(item.execution.id);
      if (item.event == core::Event::kRelease && task != world_.rules->tasks().end() &&
          task->second.status == core::TaskStatus::kRunning &&
          task->second.version == item.execution.version && task->second.owner == owner)
        released[item.execution.id] = task->second.attempts;
    }
    auto outcomes = world_.store->finish(owner, items);
    world_.observe(&process_, "finish");
    for (const auto& [id, attempts] : released) {
      const TaskView& task = world_.rules->tasks().at(id);
      const bool waits =
          task.status == core::TaskStatus::kPending || task.status == core::TaskStatus::kBlocked;
      if (waits && task.attempts != attempts - 1)
        world_.violate("I13", id, "a release cost an attempt");
    }
    return outcomes;
  });
}
base::Result<bool> SimStore::record_object(std::string_view owner, const core::Execution& execution,
                                           std::string_view key, std::string_view storage_id) {
  return through("record_object",
                 [&] { return world_.store->record_object(owner, execution, key, storage_id); });
}
base::Status SimStore::save_progress(std::string_view owner,
                                     std::span<const store::Progress> items) {
  return through("save_progress", [&] { return world_.store->save_progress(owner, items); });
}
base::Result<store::ExportRow> SimStore::load_export(TaskId id) {
  return through("load_export", [&] { return world_.store->load_export(id); });
}
base::Result<store::TaskRow> SimStore::lock_and_read(TaskId id) {
  return through("lock_and_read", [&] { return world_.store->lock_and_read(id); });
}
base::Result<std::vector<store::SentCount>> SimStore::sent_counts() {
  return through("sent_counts", [&] { return world_.store->sent_counts(); });
}
base::Result<std::vector<store::Command>> SimStore::lease_commands(
    const store::LeaseCommands& request) {
  return through("lease_commands", [&] { return world_.store->lease_commands(request); });
}
base::Result<std::int64_t> SimStore::settle_commands(std::string_view owner,
                                                     std::span<const store::SettleCommand> items) {
  return through("settle_commands", [&] { return world_.store->settle_commands(owner, items); });
}
base::Result<store::DeadLetterOutcome> SimStore::quarantine(const store::DeadLetter& letter) {
  return through("quarantine", [&] {
    auto outcome = world_.store->quarantine(letter);
    if (outcome.ok() && *outcome == store::DeadLetterOutcome::kQuarantined &&
        letter.event_id == kForeignEventId)
      world_.violate("I11", letter.execution.id, "buried because of somebody else's message");
    return outcome;
  });
}
base::Result<bool> SimStore::begin_pass(Millis stall_ms, Millis grace_ms) {
  return through("begin_pass", [&] { return world_.store->begin_pass(stall_ms, grace_ms); });
}
base::Result<store::Walked> SimStore::recreate_missing_commands(const Walk& walk,
                                                                Millis due_for_ms) {
  return through("recreate_missing_commands",
                 [&] { return world_.store->recreate_missing_commands(walk, due_for_ms); });
}
base::Result<store::Walked> SimStore::resend_stale_commands(const Walk& walk, Millis stale_ms,
                                                            Millis due_for_ms) {
  return through("resend_stale_commands",
                 [&] { return world_.store->resend_stale_commands(walk, stale_ms, due_for_ms); });
}
base::Result<std::vector<store::Recovered>> SimStore::recover_expired_leases(std::int64_t limit,
                                                                             Millis spread_ms) {
  return through("recover_expired_leases",
                 [&] { return world_.store->recover_expired_leases(limit, spread_ms); });
}
base::Result<std::vector<store::Recovered>> SimStore::recover_all_running(std::int64_t limit) {
  return through("recover_all_running", [&] { return world_.store->recover_all_running(limit); });
}
base::Result<store::Walked> SimStore::release_stuck_commands(const Walk& walk) {
  return through("release_stuck_commands",
                 [&] { return world_.store->release_stuck_commands(walk); });
}
base::Result<store::Walked> SimStore::repair_serial_slots(const Walk& walk) {
  return through("repair_serial_slots", [&] { return world_.store->repair_serial_slots(walk); });
}
base::Result<std::vector<store::ExpiredFile>> SimStore::expired_files(std::string_view storage_id,
                                                                      Millis grace_ms,
                                                                      const Walk& walk) {
  return through("expired_files",
                 [&] { return world_.store->expired_files(storage_id, grace_ms, walk); });
}
base::Result<std::int64_t> SimStore::mark_expired(std::span<const TaskId> ids) {
  return through("mark_expired", [&] { return world_.store->mark_expired(ids); });
}
base::Result<std::vector<std::string>> SimStore::recorded_keys(std::span<const std::string> keys) {
  return through("recorded_keys", [&] { return world_.store->recorded_keys(keys); });
}
base::Result<std::int64_t> SimStore::delete_old_sent_commands(Millis older_than_ms,
                                                              std::int64_t limit) {
  return through("delete_old_sent_commands",
                 [&] { return world_.store->delete_old_sent_commands(older_than_ms, limit); });
}
base::Result<std::int64_t> SimStore::delete_old_idempotency(std::int64_t limit) {
  return through("delete_old_idempotency",
                 [&] { return world_.store->delete_old_idempotency(limit); });
}
base::Result<std::int64_t> SimStore::delete_old_tasks(Millis older_than_ms, std::int64_t limit) {
  return through("delete_old_tasks",
                 [&] { return world_.store->delete_old_tasks(older_than_ms, limit); });
}
base::Status SimStore::migrate() {
  return through("migrate", [&] { return world_.store->migrate(); });
}
base::Result<int> SimStore::schema_version() {
  return through("schema_version", [&] { return world_.store->schema_version(); });
}
base::Status SimStore::ensure_type_guards(std::span<const std::string> types) {
  return through("ensure_type_guards", [&] { return world_.store->ensure_type_guards(types); });
}
base::Status SimStore::check_guards() {
  return through("check_guards", [&] { return world_.store->check_guards(); });
}
base::Result<std::int64_t> SimStore::restore_guards() {
  return through("restore_guards", [&] { return world_.store->restore_guards(); });
}
base::Result<base::Millis> SimStore::now() {
  return through("now", [&] { return world_.store->now(); });
}
base::Result<std::string> SimStore::database_id() {
  return through("database_id", [&] { return world_.store->database_id(); });
}
base::Status SimStore::set_lane_paused(std::string_view lane, bool paused) {
  return through("set_lane_paused", [&] { return world_.store->set_lane_paused(lane, paused); });
}
base::Status SimStore::register_instance(const store::InstanceRow& row) {
  return through("register_instance", [&] { return world_.store->register_instance(row); });
}
base::Status SimStore::renew_instance(std::string_view name) {
  return through("renew_instance", [&] { return world_.store->renew_instance(name); });
}
base::Status SimStore::remove_instance(std::string_view name) {
  return through("remove_instance", [&] { return world_.store->remove_instance(name); });
}
base::Result<std::vector<store::InstanceRow>> SimStore::instances() {
  return through("instances", [&] { return world_.store->instances(); });
}
base::Result<store::QueueFigures> SimStore::figures() {
  return through("figures", [&] { return world_.store->figures(); });
}
base::Result<bool> SimStore::has_tasks() {
  return through("has_tasks", [&] { return world_.store->has_tasks(); });
}
base::Status SimStore::remove_lane_rows(std::string_view lane) {
  return through("remove_lane_rows", [&] { return world_.store->remove_lane_rows(lane); });
}
base::Status SimStore::insert_finished(std::string_view lane, std::int64_t count) {
  return through("insert_finished", [&] { return world_.store->insert_finished(lane, count); });
}
std::int64_t SimStore::statements() const { return world_.store->statements(); }

}  // namespace waybill::sim
