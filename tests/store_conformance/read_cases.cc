// Polls, scopes, lists, and why a task waits.

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "tests/store_conformance/store_conformance.h"

namespace waybill::store::conformance {
namespace {

using core::Event;
using core::TaskStatus;

TEST_P(StoreConformance, OnePollBringsEverything) {
  create(action());
  NewTask other = action("document");
  other.tenant_id = "t2";
  other.priority = 0;
  create(other);
  clock().advance(500);
  create(action());
  create(action("paused"));
  ASSERT_STORED(store().set_lane_paused("paused", true));
  const std::int64_t before = store().statements();
  auto report = store().poll({.owner = std::string(kOwner), .known_types = {}});
  EXPECT_EQ(store().statements() - before, 1) << "the idle cost";
  ASSERT_STORED(report);
  EXPECT_EQ(report->now, clock().wall_ms());
  ASSERT_EQ(report->heads.size(), 2U);
  EXPECT_EQ(report->heads[0].lane, "account");
  EXPECT_EQ(report->heads[0].head.wait_ms, 500);
  EXPECT_EQ(report->heads[1].lane, "document");
  EXPECT_EQ(report->heads[1].head.level, 0);
  EXPECT_EQ(report->heads[1].head.tenant_id, "t2");
  EXPECT_EQ(report->paused_lanes, std::vector<std::string>{"paused"});
  EXPECT_FALSE(report->next_due_in_ms);
  ASSERT_STORED(store().set_lane_paused("paused", false));
  EXPECT_EQ(store().poll({.owner = std::string(kOwner), .known_types = {}})->heads.size(), 3U);

  const Execution execution = claim_one();
  ASSERT_EQ(*store().cancel(execution.id, everybody()), CancelOutcome::kCancelling);
  report = store().poll({.owner = std::string(kOwner), .known_types = {}});
  EXPECT_EQ(report->cancels, std::vector{execution});
  EXPECT_TRUE(store().poll({.owner = "host-2", .known_types = {}})->cancels.empty());

  const Execution later = claim_one();
  ASSERT_EQ(finish(later, Event::kRetryLater), FinishOutcome::kCommitted);
  report = store().poll({.owner = std::string(kOwner), .known_types = {}});
  ASSERT_TRUE(report->next_due_in_ms);
  EXPECT_EQ(*report->next_due_in_ms, row(later.id).due_at - clock().wall_ms());
}

// D110, D112
TEST_P(StoreConformance, ForeignTasksAnswerLikeMissingOnes) {
  const auto created = store().create_export(exporting("u1", "a"));
  ASSERT_STORED(created);
  Scope scope = everybody();
  scope.requested_by = "u1";
  EXPECT_STORED(store().find_export(created->id, scope));
  for (const auto& change : std::vector<std::function<void(Scope&)>>{
           [](Scope& s) { s.tenant_id = "t2"; }, [](Scope& s) { s.app_code = "X"; },
           [](Scope& s) { s.requested_by = "u2"; }}) {
    Scope foreign = scope;
    change(foreign);
    EXPECT_EQ(store().find_export(created->id, foreign).error().category,
              base::ErrorCategory::kNotFound);
    EXPECT_EQ(store().cancel(created->id, foreign).error().category,
              base::ErrorCategory::kNotFound);
    EXPECT_EQ(store().retry(created->id, foreign).error().category, base::ErrorCategory::kNotFound);
  }
  EXPECT_EQ(row(created->id).status, TaskStatus::kPending);
  EXPECT_EQ(store().find_export(999'999, scope).error().category, base::ErrorCategory::kNotFound);
}

TEST_P(StoreConformance, ListsArePagedFilteredAndTakeTextLiterally) {
  std::vector<TaskId> ids;
  for (const char* name : {"100% sure", "100 sure", "a_b", "axb", "wow!"}) {
    CreateExport request = exporting("u1", name);
    request.task_name = name;
    request.limits.active_per_user = 100;
    request.limits.active_per_type = 100;
    ids.push_back(store().create_export(request)->id);
    clock().advance(1'000);
  }
  ListExports list;
  list.scope = everybody();
  list.scope.requested_by = "u1";
  list.limit = 2;
  auto page = store().list_exports(list);
  ASSERT_STORED(page);
  ASSERT_EQ(page->rows.size(), 2U);
  EXPECT_EQ(page->rows[0].task.id, ids[4]);
  EXPECT_EQ(page->older, ids[3]);
  list.before = page->older;
  page = store().list_exports(list);
  EXPECT_EQ(page->rows[0].task.id, ids[2]);
  list.limit = 3;
  page = store().list_exports(list);
  EXPECT_EQ(page->rows.size(), 3U);
  EXPECT_EQ(page->older, std::nullopt) << "a full page may be the last";
  const auto matching = [&](const std::string& text) {
    ListExports search;
    search.scope = everybody();
    search.name_contains = text;
    return store().list_exports(search)->rows.size();
  };
  EXPECT_EQ(matching("100%"), 1U);
  EXPECT_EQ(matching("a_b"), 1U);
  EXPECT_EQ(matching("!"), 1U);
  EXPECT_EQ(matching("sure"), 2U);
  ListExports filtered;
  filtered.scope = everybody();
  filtered.created_from = clock().wall_ms() - 2'000;
  EXPECT_EQ(store().list_exports(filtered)->rows.size(), 2U);
  filtered.created_to = clock().wall_ms() - 2'000;
  EXPECT_EQ(store().list_exports(filtered)->rows.size(), 1U);
  filtered = {};
  filtered.scope = everybody();
  filtered.status = TaskStatus::kSucceeded;
  EXPECT_TRUE(store().list_exports(filtered)->rows.empty());
  filtered.limit = 101;
  EXPECT_EQ(store().list_exports(filtered).error().field, "limit");
  const auto watched = store().watch_exports(ids);
  ASSERT_STORED(watched);
  EXPECT_EQ(watched->size(), 5U);
}

// D123: whatever a list filters by, one call looks at a bounded number of tasks; the next goes on.
TEST_P(StoreConformance, AListLooksAtABoundedNumberOfTasks) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 10; ++i) {
    CreateExport request = exporting("u1", std::to_string(i));
    request.task_name = i == 0 ? "needle" : "hay";
    request.limits.active_per_user = 100;
    request.limits.active_per_type = 100;
    ids.push_back(store().create_export(request)->id);
  }
  for (const bool own : {false, true}) {
    ListExports list;
    list.scope = everybody();
    if (own) list.scope.requested_by = "u1";
    list.name_contains = "needle";
    list.look_at = 3;
    std::vector<std::optional<TaskId>> older;
    std::vector<TaskId> found;
    do {
      const auto page = store().list_exports(list);
      ASSERT_STORED(page);
      for (const ExportRow& row : page->rows) found.push_back(row.task.id);
      older.push_back(list.before = page->older);
    } while (list.before);
    EXPECT_EQ(found, std::vector{ids[0]});
    EXPECT_EQ(older, (std::vector<std::optional<TaskId>>{ids[7], ids[4], ids[1], std::nullopt}));
    list.name_contains.clear();
    EXPECT_EQ(store().list_exports(list)->rows.size(), 10U) << "a page without filters is a page";
  }
}

// D17: however many people read, and however long, renewals, claims and ends wait for none of them.
TEST_P(StoreConformance, ReadersHoldNoExecutionUp) {
  if (!quirks().second_session) GTEST_SKIP() << "one session for everything";
  constexpr int kSessions = 4;  // for reads, by default
  create(action());
  create(action());
  const Execution execution = claim_one();
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  bool open = false;
  database().hook.set([&](const StatementPoint& point) {
    if (point.operation != "list_exports") return Injected::kNone;
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
    return Injected::kNone;
  });
  std::vector<std::thread> people;
  for (int i = 0; i < 2 * kSessions; ++i) {
    people.emplace_back([&] {
      ListExports list;
      list.scope = everybody();
      EXPECT_STORED(store().list_exports(list));
    });
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside == kSessions; });
  }
  auto work = std::async(std::launch::async, [&] {
    EXPECT_EQ(
        store()
            .renew({.owner = std::string(kOwner), .lease_ms = kLease, .executions = {execution}})
            ->outcomes.front(),
        RenewOutcome::kOk);
    EXPECT_EQ(finish(execution), FinishOutcome::kCommitted);
    EXPECT_EQ(finish(claim_one()), FinishOutcome::kCommitted);
  });
  EXPECT_EQ(work.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  {
    const std::lock_guard lock(mutex);
    open = true;
  }
  changed.notify_all();
  for (std::thread& one : people) one.join();
  work.get();
  database().hook.clear();
}

TEST_P(StoreConformance, WaitingFactsSayWhatTheTaskWaitsFor) {
  create(action());
  const TaskId second = create(action());
  auto facts = store().waiting_facts(second);
  ASSERT_STORED(facts);
  EXPECT_TRUE(facts->has_command);
  EXPECT_EQ(facts->ahead, 1);
  EXPECT_EQ(facts->lane_running, 0);
  claim_one();
  ASSERT_STORED(store().set_lane_paused("account", true));
  facts = store().waiting_facts(second);
  EXPECT_TRUE(facts->lane_paused);
  EXPECT_EQ(facts->lane_running, 1);
  EXPECT_EQ(facts->ahead, 0);
  const TaskId head = create(keyed("k"));
  const TaskId blocked = create(keyed("k"));
  facts = store().waiting_facts(blocked);
  EXPECT_FALSE(facts->has_command);
  EXPECT_EQ(facts->key_holder, head);
  EXPECT_EQ(store().waiting_facts(999'999).error().category, base::ErrorCategory::kNotFound);
}

}  // namespace
}  // namespace waybill::store::conformance
