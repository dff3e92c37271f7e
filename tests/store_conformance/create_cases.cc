// Creating: limits, window, idempotency, guards, ids.

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "tests/store_conformance/store_conformance.h"

namespace waybill::store::conformance {
namespace {

using base::ErrorCategory;

// Starts all threads at one moment.
void run_together(int threads, const std::function<void(int)>& body) {
  std::atomic<bool> go{false};
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      go.wait(false);
      body(i);
    });
  }
  go = true;
  go.notify_all();
  for (std::thread& thread : running) thread.join();
}

TEST_P(StoreConformance, CreateMakesTaskResultRowAndCommandTogether) {
  const auto created = store().create_export(exporting("u1", "a"));
  ASSERT_STORED(created);
  EXPECT_FALSE(created->deduplicated);
  const auto found = store().find_export(created->id, everybody());
  ASSERT_STORED(found);
  EXPECT_EQ(found->task.status, core::TaskStatus::kPending);
  EXPECT_EQ(found->task.dispatch_version, 1);
  EXPECT_EQ(found->task.requested_at, clock().wall_ms());
  EXPECT_EQ(found->parameters_json, "{\"q\":\"a\"}");
  EXPECT_EQ(claim_one("export"), (Execution{created->id, 1}));
  expect_invariants();
}

TEST_P(StoreConformance, AnEqualRequestWithinTheWindowGetsTheSameTask) {
  const auto first = store().create_export(exporting("u1", "a"));
  ASSERT_STORED(first);
  clock().advance(59'999);
  const auto again = store().create_export(exporting("u1", "a"));
  ASSERT_STORED(again);
  EXPECT_TRUE(again->deduplicated);
  EXPECT_EQ(again->id, first->id);
  EXPECT_NE(store().create_export(exporting("u1", "b"))->id, first->id);
  EXPECT_NE(store().create_export(exporting("u2", "a"))->id, first->id);
  clock().advance(1);
  const auto later = store().create_export(exporting("u1", "a"));
  ASSERT_STORED(later);
  EXPECT_FALSE(later->deduplicated);
}

TEST_P(StoreConformance, AFinishedTaskAnswersNoEqualRequest) {
  const auto first = store().create_export(exporting("u1", "a"));
  ASSERT_STORED(first);
  EXPECT_EQ(finish(claim_one("export")), FinishOutcome::kCommitted);
  EXPECT_NE(store().create_export(exporting("u1", "a"))->id, first->id);
}

TEST_P(StoreConformance, LimitsNameThemselves) {
  for (int i = 0; i < 3; ++i)
    ASSERT_STORED(store().create_export(exporting("u1", std::to_string(i))));
  const auto fourth = store().create_export(exporting("u1", "x"));
  ASSERT_FALSE(fourth.ok());
  EXPECT_EQ(fourth.error().category, ErrorCategory::kLimit);
  EXPECT_EQ(fourth.error().code, "EXPORT_USER_LIMIT");
  EXPECT_EQ(fourth.error().limit, "3");
  CreateExport other_app = exporting("u1", "x");
  other_app.task.app_code = "OTHER";
  ASSERT_STORED(store().create_export(other_app));
  ASSERT_STORED(store().create_export(exporting("u2", "x")));
  const auto sixth = store().create_export(exporting("u3", "x"));
  ASSERT_FALSE(sixth.ok());
  EXPECT_EQ(sixth.error().code, "EXPORT_TYPE_LIMIT");
  CreateExport other_tenant = exporting("u3", "x");
  other_tenant.task.tenant_id = "t2";
  ASSERT_STORED(store().create_export(other_tenant));
  other_tenant.task.requested_by = "u4";
  other_tenant.limits.type_limit_global = true;
  EXPECT_EQ(store().create_export(other_tenant).error().code, "EXPORT_TYPE_LIMIT");
  // An end frees the place.
  ASSERT_EQ(finish(claim_one("export")), FinishOutcome::kCommitted);
  EXPECT_STORED(store().create_export(exporting("u3", "x")));
}

// D68, A6: exactly the allowed number, from 64 threads over two stores.
TEST_P(StoreConformance, LimitsHoldUnderSixtyFourThreads) {
  Hook hook;
  std::unique_ptr<Store> second = quirks().second_session ? database().open_another(hook) : nullptr;
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> made{0};
    std::atomic<int> refused{0};
    run_together(64, [&](int i) {
      Store& s = second != nullptr && i % 2 == 1 ? *second : store();
      CreateExport request = exporting("user-" + std::to_string(round), std::to_string(i));
      request.task.type = "ORDER_LIST";
      request.limits.active_per_user = 10;
      request.limits.active_per_type = 1'000;
      const auto created = s.create_export(request);
      if (created.ok()) {
        ++made;
      } else {
        EXPECT_EQ(created.error().code, "EXPORT_USER_LIMIT") << created.error().message;
        ++refused;
      }
    });
    EXPECT_EQ(made, 10);
    EXPECT_EQ(refused, 54);
  }
  expect_invariants();
}

// D59: one resource per key, whoever comes first.
TEST_P(StoreConformance, OneKeyMakesOneTaskUnderTwentyThreads) {
  Hook hook;
  std::unique_ptr<Store> second = quirks().second_session ? database().open_another(hook) : nullptr;
  for (int round = 0; round < 20; ++round) {
    std::mutex mutex;
    std::set<TaskId> ids;
    int fresh = 0;
    run_together(20, [&](int i) {
      Store& s = second != nullptr && i % 2 == 1 ? *second : store();
      CreateExport request = exporting("user-" + std::to_string(round), "same");
      request.task.type = "ORDER_LIST";
      request.limits.active_per_type = 1'000;
      request.limits.dedup_window_ms = 0;  // the key alone decides
      request.idempotency_key = "key-" + std::to_string(round);
      const auto created = s.create_export(request);
      ASSERT_STORED(created);
      const std::lock_guard lock(mutex);
      ids.insert(created->id);
      fresh += created->deduplicated ? 0 : 1;
    });
    EXPECT_EQ(ids.size(), 1U);
    EXPECT_EQ(fresh, 1);
  }
}

TEST_P(StoreConformance, AKeyAnswersForItsTaskAlsoWhenItHasFinished) {
  CreateExport request = exporting("u1", "a");
  request.idempotency_key = "k";
  const auto first = store().create_export(request);
  ASSERT_STORED(first);
  ASSERT_EQ(finish(claim_one("export")), FinishOutcome::kCommitted);
  EXPECT_EQ(store().create_export(request)->id, first->id);
  CreateExport other = exporting("u1", "b");
  other.idempotency_key = "k";
  const auto conflict = store().create_export(other);
  ASSERT_FALSE(conflict.ok());
  EXPECT_EQ(conflict.error().category, ErrorCategory::kConflict);
  EXPECT_EQ(conflict.error().code, "IDEMPOTENCY_KEY_REUSED");
  // Somebody else's key of the same name.
  other.task.requested_by = "u2";
  EXPECT_STORED(store().create_export(other));
  clock().advance(86'400'000);
  const auto after_expiry = store().create_export(request);
  ASSERT_STORED(after_expiry);
  EXPECT_NE(after_expiry->id, first->id);
}

TEST_P(StoreConformance, ARequestAnsweredThroughTheWindowStoresItsKey) {
  const auto first = store().create_export(exporting("u1", "a"));
  CreateExport request = exporting("u1", "a");
  request.idempotency_key = "k";
  EXPECT_EQ(store().create_export(request)->id, first->id);
  ASSERT_EQ(finish(claim_one("export")), FinishOutcome::kCommitted);
  clock().advance(120'000);
  EXPECT_EQ(store().create_export(request)->id, first->id);
}

TEST_P(StoreConformance, ARefusedRequestLeavesItsKeyFree) {
  CreateExport request = exporting("u1", "a");
  request.idempotency_key = "k";
  request.limits.active_per_user = 0;
  EXPECT_EQ(store().create_export(request).error().category, ErrorCategory::kLimit);
  request.limits.active_per_user = 3;
  EXPECT_FALSE(store().create_export(request)->deduplicated);
}

// D74: a create that breaks off before any of its statements leaves no mark: the same request again
// is a task of its own.
TEST_P(StoreConformance, ABrokenCreateAnswersNoEqualRequest) {
  int points = 0;
  for (bool broken = true; broken; ++points) {
    CreateExport request = exporting("u1", std::to_string(points));
    request.idempotency_key = "k-" + std::to_string(points);
    std::atomic<int> left{points};
    database().hook.set([&](const StatementPoint& point) {
      return point.operation == "create_export" && left-- <= 0 ? Injected::kAway : Injected::kNone;
    });
    broken = !store().create_export(request).ok();
    database().hook.clear();
    const auto again = store().create_export(request);
    ASSERT_STORED(again);
    EXPECT_EQ(again->deduplicated, !broken) << points;
    EXPECT_STORED(store().find_export(again->id, everybody()));
    EXPECT_EQ(claim_one("export"), (Execution{again->id, 1})) << points;
    EXPECT_EQ(store().create_export(request)->id, again->id) << "RUNNING, its process alive or not";
    EXPECT_EQ(finish({again->id, 1}), FinishOutcome::kCommitted);
    expect_invariants();
  }
  EXPECT_GT(points, 5) << "it met every statement";
}

// D74: nothing answers for a task whose rows are gone, however long keys are kept.
TEST_P(StoreConformance, AKeyIsForgottenWithItsTask) {
  CreateExport request = exporting("u1", "a");
  request.idempotency_key = "k";
  const auto first = store().create_export(request);
  ASSERT_STORED(first);
  ASSERT_EQ(finish(claim_one("export"), core::Event::kFail), FinishOutcome::kCommitted);
  clock().advance(5'000);
  ASSERT_EQ(*store().delete_old_tasks(5'000, 100), 1);
  const auto again = store().create_export(request);
  ASSERT_STORED(again);
  EXPECT_FALSE(again->deduplicated);
  EXPECT_STORED(store().find_export(again->id, everybody()));
  EXPECT_EQ(store().create_export(request)->id, again->id) << "the key is the new task's";
  expect_invariants();
}

TEST_P(StoreConformance, FieldsLongerThanTheirColumnsAreRefusedByName) {
  const std::string long_text(65, 'x');
  const std::pair<const char*, std::function<void(CreateExport&)>> cases[] = {
      {"type", [&](CreateExport& r) { r.task.type = long_text; }},
      {"lane", [&](CreateExport& r) { r.task.lane = std::string(33, 'x'); }},
      {"tenantId", [&](CreateExport& r) { r.task.tenant_id = long_text; }},
      {"appCode", [&](CreateExport& r) { r.task.app_code = std::string(33, 'x'); }},
      {"requestedBy", [&](CreateExport& r) { r.task.requested_by = long_text; }},
      {"traceId", [&](CreateExport& r) { r.task.trace_id = long_text; }},
      {"serialKey", [&](CreateExport& r) { r.task.serial_key = long_text; }},
      {"taskName", [&](CreateExport& r) { r.task_name = std::string(201, 'x'); }},
      {"idempotencyKey", [&](CreateExport& r) { r.idempotency_key = std::string(129, 'x'); }},
      {"requestedBy", [&](CreateExport& r) { r.task.requested_by = std::string("a\0b", 3); }},
      {"tenantId", [&](CreateExport& r) { r.task.tenant_id = "\xff"; }},
      {"priority", [&](CreateExport& r) { r.task.priority = 4; }},
  };
  for (const auto& [field, change] : cases) {
    CreateExport request = exporting("u1", "a");
    change(request);
    const auto created = store().create_export(request);
    ASSERT_FALSE(created.ok()) << field;
    EXPECT_EQ(created.error().category, ErrorCategory::kInvalid);
    EXPECT_EQ(created.error().field, field);
  }
  // 64 characters of three bytes each fit.
  CreateExport wide = exporting("", "a");
  for (int i = 0; i < 64; ++i) wide.task.requested_by += "名";
  EXPECT_STORED(store().create_export(wide));
}

TEST_P(StoreConformance, TextSurvivesAsItWas) {
  CreateExport request = exporting("o'brien \"\\ 名%_\n", "a");
  request.task_name = "a,b;[{\"x\":1}]\t'--";
  const auto created = store().create_export(request);
  ASSERT_STORED(created);
  const auto found = store().find_export(created->id, everybody());
  ASSERT_STORED(found);
  EXPECT_EQ(found->task.requested_by, request.task.requested_by);
  EXPECT_EQ(found->task_name, request.task_name);
}

// D65: no path works without its guard, and none makes it.
TEST_P(StoreConformance, AMissingGuardIsAnErrorThatNamesIt) {
  CreateExport request = exporting("u1", "a");
  request.task.type = "NOT_REGISTERED";
  const auto created = store().create_export(request);
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.error().category, ErrorCategory::kInternal);
  EXPECT_NE(created.error().message.find("T:NOT_REGISTERED"), std::string::npos);
  EXPECT_STORED(store().check_guards());
  if (!quirks().raw) return;
  database().execute("DELETE FROM create_guard WHERE scope = 'U:17'");
  const auto missing = store().check_guards();
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().category, ErrorCategory::kInternal);
  EXPECT_NE(missing.error().message.find("'U:17'"), std::string::npos);
  // A neighbour of the broken request in one batch is not refused.
  EXPECT_STORED(store().create_export(exporting("u1", "b")));
}

TEST_P(StoreConformance, GuardsComeBackWhenAPersonAsksForThem) {
  if (!quirks().raw) return;
  const auto last = store().create_export(exporting("u1", "a"));
  ASSERT_STORED(last);
  EXPECT_EQ(*store().restore_guards(), 0);
  for (const char* table : {"sweep", "id_block", "create_guard WHERE scope = 'GLOBAL_CREATE'"}) {
    database().execute(std::string("DELETE FROM ") + table);
    const auto missing = store().check_guards();
    ASSERT_FALSE(missing.ok()) << table;
    EXPECT_NE(missing.error().message.find("run waybill migrate"), std::string::npos);
    EXPECT_EQ(*store().restore_guards(), 1) << table;
    EXPECT_STORED(store().check_guards());
  }
  EXPECT_STORED(store().begin_pass(60'000, 1'000));
  // Numbers go on above those that were given away.
  for (int i = 0; i < 3'000; ++i) create(action());
}

TEST_P(StoreConformance, IdsAscendAndSingleCreatesShareNothing) {
  std::mutex mutex;
  std::set<TaskId> ids;
  run_together(16, [&](int) {
    for (int i = 0; i < 50; ++i) {
      const auto id = store().create_task(action());
      ASSERT_STORED(id);
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(ids.insert(*id).second);
    }
  });
  EXPECT_EQ(ids.size(), 800U);
  const std::vector<NewTask> many(500, action());
  const auto batch = store().create_tasks(many);
  ASSERT_STORED(batch);
  EXPECT_TRUE(std::is_sorted(batch->begin(), batch->end()));
  EXPECT_EQ(claim(500).size() + claim(500).size() + claim(500).size(), 1300U);
}

// D87: a clock that goes back changes nothing about ids. D88: ids beyond 2^53 stay exact.
TEST_P(StoreConformance, IdsNeedNoClockAndKeepAllTheirBits) {
  if (!quirks().raw) GTEST_SKIP() << "needs to move the id counter";
  database().execute("UPDATE id_block SET next = 9007199254740993");
  std::set<TaskId> ids;
  for (const Millis step : {-5, -2'000, -3'600'000}) {
    clock().step_wall(step);
    const std::vector<NewTask> many(400, action());
    const auto made = store().create_tasks(many);
    ASSERT_STORED(made);
    for (const TaskId id : *made) EXPECT_TRUE(ids.insert(id).second);
  }
  EXPECT_GE(*ids.begin(), 9007199254740993);
  const Execution one = claim_one();
  EXPECT_TRUE(ids.contains(one.id)) << one.id;
  EXPECT_EQ(finish(one), FinishOutcome::kCommitted);
  EXPECT_EQ(row(one.id).status, core::TaskStatus::kSucceeded);
}

TEST_P(StoreConformance, AUsedIdIsSteppedOver) {
  if (!quirks().raw) GTEST_SKIP() << "needs to move the id counter";
  const std::vector<NewTask> many(500, action());
  const auto first = store().create_tasks(many);
  ASSERT_STORED(first);
  // A restored database that skipped no block.
  database().execute("UPDATE id_block SET next = 1");
  Hook hook;
  const auto restored = database().open_another(hook);
  const auto second = restored->create_tasks(many);
  ASSERT_STORED(second);
  EXPECT_GT(second->front(), first->back());
  expect_invariants();
}

TEST_P(StoreConformance, TheListenerHearsOfCommandsThatAreDueNow) {
  std::vector<CommandHint> heard;
  store().on_commit([&](std::span<const CommandHint> hints) {
    heard.insert(heard.end(), hints.begin(), hints.end());
  });
  create(action());
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].lane, "account");
  EXPECT_EQ(heard[0].tenant_id, "t1");
  heard.clear();
  EXPECT_EQ(finish(claim_one(), core::Event::kRetryLater), FinishOutcome::kCommitted);
  EXPECT_TRUE(heard.empty()) << "due only after the back-off";
}

}  // namespace
}  // namespace waybill::store::conformance
