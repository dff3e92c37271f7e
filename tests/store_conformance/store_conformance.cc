#include "tests/store_conformance/store_conformance.h"

#include <utility>

namespace waybill::store::conformance {

void Hook::set(BeforeStatement function) {
  const std::lock_guard lock(mutex_);
  function_ = function ? std::make_shared<const BeforeStatement>(std::move(function)) : nullptr;
}

Injected Hook::operator()(const StatementPoint& point) {
  std::shared_ptr<const BeforeStatement> function;
  {
    const std::lock_guard lock(mutex_);
    function = function_;
  }
  return function ? (*function)(point) : Injected::kNone;
}

NewTask action(const std::string& lane) {
  NewTask task;
  task.kind = core::TaskKind::kAction;
  task.type = "pay";
  task.lane = lane;
  task.tenant_id = "t1";
  task.app_code = "APP";
  task.requested_by = "u1";
  task.trace_id = "trace-1";
  return task;
}

NewTask keyed(const std::string& key, const std::string& lane) {
  NewTask task = action(lane);
  task.serial_key = key;
  return task;
}

CreateExport exporting(const std::string& user, const std::string& parameters) {
  CreateExport request;
  request.task = action("export");
  request.task.kind = core::TaskKind::kExport;
  request.task.type = "CUSTOMER_LIST";
  request.task.requested_by = user;
  request.task_name = "Customers";
  request.parameters_json = "{\"q\":\"" + parameters + "\"}";
  request.parameters_hash = "hash-" + parameters;
  request.request_hash = "request-" + parameters;
  return request;
}

Finish ending(const Execution& execution, core::Event event) {
  Finish item;
  item.execution = execution;
  item.event = event;
  if (event == core::Event::kFail || event == core::Event::kRetryLater) {
    item.failure_class = core::FailureClass::kSystem;
    item.failure_message = "the service is away";
  }
  return item;
}

ClaimNext claiming(const std::string& lane, std::int64_t n, std::string_view owner) {
  ClaimNext request;
  request.owner = owner;
  request.lane = lane;
  request.lease_ms = kLease;
  for (core::Level level = 0; level < core::kLevels; ++level)
    request.picks.push_back({level, "t1", n});
  return request;
}

Scope everybody() {
  Scope scope;
  scope.tenant_id = "t1";
  scope.app_code = "APP";
  return scope;
}

void StoreConformance::SetUp() {
  database_ = GetParam().make();
  ASSERT_NE(database_, nullptr);
  ASSERT_STORED(store().migrate());
  const std::vector<std::string> types{"CUSTOMER_LIST", "ORDER_LIST"};
  ASSERT_STORED(store().ensure_type_guards(types));
}

TaskId StoreConformance::create(const NewTask& task) {
  const auto id = store().create_task(task);
  EXPECT_STORED(id);
  return id.ok() ? *id : 0;
}

std::vector<ClaimedTask> StoreConformance::claim(std::int64_t n, const std::string& lane,
                                                 std::string_view owner) {
  auto claimed = store().claim_next(claiming(lane, n, owner));
  EXPECT_STORED(claimed);
  return claimed.ok() ? *std::move(claimed) : std::vector<ClaimedTask>{};
}

Execution StoreConformance::claim_one(const std::string& lane) {
  const auto claimed = claim(1, lane);
  EXPECT_EQ(claimed.size(), 1U);
  return claimed.empty() ? Execution{} : claimed.front().execution;
}

FinishOutcome StoreConformance::finish(const Execution& execution, core::Event event,
                                       std::string_view owner) {
  const Finish item = ending(execution, event);
  const auto outcomes = store().finish(owner, std::span(&item, 1));
  EXPECT_STORED(outcomes);
  return outcomes.ok() ? outcomes->front() : FinishOutcome::kFenced;
}

TaskRow StoreConformance::row(TaskId id) {
  auto found = store().lock_and_read(id);
  EXPECT_STORED(found);
  return found.ok() ? *std::move(found) : TaskRow{};
}

std::int64_t StoreConformance::number(const std::string& sql) {
  const auto rows = database().query(sql);
  return rows.empty() || rows[0][0].empty() ? 0 : std::stoll(rows[0][0]);
}

void StoreConformance::make_job(std::int64_t id, std::int64_t total) {
  database().execute(
      "INSERT INTO batch_job(id, action, total, tenant_id, app_code, requested_by, created_at) "
      "VALUES (" +
      std::to_string(id) + ", 'pay', " + std::to_string(total) + ", 't1', 'APP', 'u1', 1)");
}

void StoreConformance::expect_invariants() {
  if (!quirks().raw) return;
  EXPECT_EQ(number("SELECT COUNT(*) FROM (SELECT 1 FROM task WHERE serial_key IS NOT NULL AND "
                   "status IN (0,1) "
                   "GROUP BY tenant_id, lane, serial_key HAVING COUNT(*) > 1) heads"),
            0)
      << "I16: two heads of one key";
  EXPECT_EQ(
      number(
          "SELECT COUNT(*) FROM outbox o WHERE o.status <> 3 AND NOT EXISTS (SELECT 1 FROM task t "
          "WHERE t.id = o.task_id AND t.dispatch_version = o.dispatch_version AND t.status = 0)"),
      0)
      << "a command without its PENDING task";
  EXPECT_EQ(
      number(
          "SELECT COUNT(*) FROM task t WHERE t.status = 0 AND NOT EXISTS (SELECT 1 FROM outbox o "
          "WHERE o.task_id = t.id AND o.dispatch_version = t.dispatch_version)"),
      0)
      << "I2: a PENDING task without its command";
  EXPECT_EQ(number("SELECT COUNT(*) FROM task t WHERE t.status = 6 AND NOT EXISTS (SELECT 1 FROM "
                   "serial_slot s, task h "
                   "WHERE s.tenant_id = t.tenant_id AND s.lane = t.lane AND s.skey = t.serial_key "
                   "AND h.id = s.holder_task_id AND h.status IN (0,1))"),
            0)
      << "a stranded serial key";
  EXPECT_EQ(number("SELECT COUNT(*) FROM outbox o, task t WHERE o.status = 3 AND t.id = o.task_id "
                   "AND t.dispatch_version = o.dispatch_version AND t.status <> 3"),
            0)
      << "I11: a quarantined command whose task goes on";
  EXPECT_EQ(
      number(
          "SELECT COUNT(*) FROM batch_job b WHERE "
          "b.success_count <> (SELECT COUNT(*) FROM task t WHERE t.job_id = b.id AND t.status = 2) "
          "OR "
          "b.fail_count <> (SELECT COUNT(*) FROM task t WHERE t.job_id = b.id AND t.status = 3) OR "
          "b.cancelled_count <> (SELECT COUNT(*) FROM task t WHERE t.job_id = b.id AND t.status = "
          "4)"),
      0)
      << "I17: counters differ from a recount";
  EXPECT_EQ(
      number("SELECT COUNT(*) FROM batch_job b WHERE b.total > 0 AND (b.status IN (2,3,4)) <> "
             "(b.success_count + b.fail_count + b.cancelled_count >= b.total)"),
      0)
      << "a job that ended too early or not at all";
}

bool drain(Store& store, base::ManualClock& clock, const std::string& lane) {
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const auto claimed = store.claim_next(claiming(lane, 500, "drainer"));
    if (!claimed.ok()) return false;
    if (claimed->empty()) {
      clock.advance(kLease + 1);
      const auto recovered = store.recover_expired_leases(200, 0);
      const auto polled = store.poll({.owner = "drainer", .known_types = {}});
      if (!recovered.ok() || !polled.ok()) return false;
      if (recovered->empty() && !polled->next_due_in_ms && polled->heads.empty()) return true;
      continue;
    }
    std::vector<Finish> items;
    for (const ClaimedTask& task : *claimed) items.push_back(ending(task.execution));
    if (!store.finish("drainer", items).ok()) return false;
  }
  return false;
}

}  // namespace waybill::store::conformance
