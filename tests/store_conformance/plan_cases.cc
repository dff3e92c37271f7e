// What statements cost: no scan of finished rows, no sorting beside an index, few statements and
// index entries per life. Speed that is not watched rots.

#include <algorithm>
#include <regex>
#include <set>

#include "tests/store_conformance/store_conformance.h"

namespace waybill::store::conformance {
namespace {

// Statements that people or tools run seldom, or that walk a table from end to end by purpose.
const std::set<std::string, std::less<>> kSeldom{
    "guards_read", "instances_read", "instances_alive", "schema_version", "schema_present",
    "has_tasks",   "sent_counts",    "figures",         "jobs_all_ended", "history_delete_jobs",
};
// Small tables that are read whole.
constexpr std::string_view kSmallTables = "(lane_state|schema_migration|instance|sweep)";
// Derived tables of parameters and of earlier steps: as many rows as the batch has.
constexpr std::string_view kDerived =
    "(json_each|r|p|h|c|head|sent|first_head|first_sent|clock|CONSTANT "
    "ROW|running|urgent|older|n|VIRTUAL TABLE|json_each VIRTUAL TABLE INDEX 1:)";

TEST_P(StoreConformance, NoStatementScansFinishedRowsOrSortsAside) {
  if (!quirks().plans) GTEST_SKIP() << "plans are looked at in a file";
  ASSERT_STORED(store().insert_finished("old", 100'000));
  for (int i = 0; i < 50; ++i) create(action());
  const std::regex scan("^SCAN (\\w+).*");
  const std::regex allowed("^SCAN (" + std::string(kDerived) + "|" + std::string(kSmallTables) +
                           ")\\b.*");
  for (const bool analyzed : {false, true}) {
    if (analyzed) database().execute("ANALYZE");
    for (const auto& [name, plan] : database().explain()) {
      if (kSeldom.contains(name)) continue;
      for (const std::string& line : plan) {
        EXPECT_FALSE(std::regex_match(line, scan) && !std::regex_match(line, allowed))
            << name << ": " << line;
        EXPECT_EQ(line.find("AUTOMATIC"), std::string::npos) << name << ": " << line;
        // Sorting the derived rows of a batch is cheap; sorting what an index should have brought
        // in order is not.
        const bool sorts = line.find("USE TEMP B-TREE FOR ORDER BY") != std::string::npos ||
                           line.find("USE TEMP B-TREE FOR LAST") != std::string::npos;
        EXPECT_FALSE(sorts) << name << ": " << line;
      }
    }
    // Statistics of a moment when nothing waits must not matter either.
  }
}

std::string plan_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST_P(StoreConformance, HotStatementsUseTheirIndex) {
  if (!quirks().plans) GTEST_SKIP() << "plans are looked at in a file";
  ASSERT_STORED(store().insert_finished("old", 100'000));
  database().execute("ANALYZE");
  const std::pair<const char*, const char*> expected[] = {
      {"claim_pick", "USING INDEX outbox_due"},
      {"claim_pick_sent", "USING INDEX outbox_sent "},
      {"claim_lock", "USING INTEGER PRIMARY KEY"},
      {"claim_take", "USING INTEGER PRIMARY KEY"},
      {"finish_succeed", "USING INTEGER PRIMARY KEY"},
      {"finish_extras", "USING INTEGER PRIMARY KEY"},
      {"task_lock", "USING INTEGER PRIMARY KEY"},
      {"task_apply", "USING INTEGER PRIMARY KEY"},
      {"renew_lock", "USING INTEGER PRIMARY KEY"},
      {"renew_extend", "USING INTEGER PRIMARY KEY"},
      {"command_delete", "USING PRIMARY KEY (task_id=? AND dispatch_version=?)"},
      {"missing_walk", "task_pending (status=? AND rowid>?)"},
      {"expired_leases", "task_running (lease_until<?)"},
      {"sent_walk", "outbox_sent_walk (task_id>?)"},
      {"held_walk", "outbox_held (task_id>?)"},
      {"blocked_walk", "task_blocked_walk"},
      {"active_of_users", "task_active_user"},
      {"active_of_types", "task_active_type"},
      {"export_list_user",
       "task_user (tenant_id=? AND app_code=? AND requested_by=? AND rowid>? AND rowid<?)"},
      {"export_list_all", "task_app (tenant_id=? AND app_code=? AND rowid>? AND rowid<?)"},
      {"export_floor_user",
       "task_user (tenant_id=? AND app_code=? AND requested_by=? AND rowid<?)"},
      {"export_floor_all", "task_app (tenant_id=? AND app_code=? AND rowid<?)"},
      {"recorded_keys", "export_object (object_key=?)"},
      {"expired_files", "export_file (storage_id=? AND rowid>?)"},
      {"poll", "outbox_due (lane=? AND priority=? AND tenant_id>?)"},
      {"poll", "task_cancel (cancel_requested=?)"},
      {"slot_waiting", "task_blocked (tenant_id=? AND lane=? AND serial_key=?)"},
      {"old_idempotency", "idempotency_expiry"},
  };
  const auto plans = database().explain();
  for (const auto& [name, part] : expected) {
    const std::string plan = plan_of(plans.at(name));
    EXPECT_NE(plan.find(part), std::string::npos) << name << " does not use " << part << ":\n"
                                                  << plan;
  }
}

// D123: every process polls once a second: a backlog of a million must not cost it a walk.
TEST_P(StoreConformance, APollReadsNoBacklog) {
  if (!quirks().plans) GTEST_SKIP() << "work is counted in a file";
  const auto create_some = [&](std::size_t n) {
    for (const char* tenant : {"t1", "t2", "t3"}) {
      for (const core::Level level : {0, 2}) {
        NewTask task = action();
        task.tenant_id = tenant;
        task.priority = level;
        ASSERT_STORED(store().create_tasks(std::vector<NewTask>(n, task)));
      }
    }
  };
  create_some(1);
  const std::int64_t alone = database().work_of("poll");
  create_some(400);
  EXPECT_EQ(database().work_of("poll"), alone);
}

// Statements per batch: create 4 (clock, tasks, commands; ids now and then), claim 3, finish 2.
TEST_P(StoreConformance, ABatchCostsFewStatements) {
  const std::vector<NewTask> many(400, action());
  ASSERT_STORED(store().create_tasks(many));
  std::int64_t before = store().statements();
  const auto spent = [&] {
    const std::int64_t now = store().statements();
    return now - std::exchange(before, now);
  };
  ASSERT_STORED(store().create_tasks(many));
  EXPECT_LE(spent(), 5);
  ClaimNext request = claiming("account", 500);
  request.picks = {{2, "t1", 400}};
  const auto claimed = store().claim_next(request);
  ASSERT_STORED(claimed);
  EXPECT_EQ(spent(), 3);
  std::vector<Finish> items;
  for (const ClaimedTask& task : *claimed) items.push_back(ending(task.execution));
  ASSERT_STORED(store().finish(kOwner, items));
  EXPECT_EQ(spent(), 2);
  ASSERT_STORED(store().poll({.owner = std::string(kOwner), .known_types = {}}));
  EXPECT_EQ(spent(), 1);
}

// Index entries of an action's life: PENDING task_pending + outbox_due, RUNNING task_running,
// finished none.
TEST_P(StoreConformance, AFinishedActionIsInNoHotIndex) {
  if (!quirks().plans) GTEST_SKIP() << "counts index entries in a file";
  for (int i = 0; i < 20; ++i) create(action());
  const auto entries = [&](const std::string& index) {
    const auto where = database().query(
        "SELECT substr(sql, instr(sql, ' WHERE ')) FROM sqlite_master WHERE name = '" + index +
        "'");
    const auto table =
        database().query("SELECT tbl_name FROM sqlite_master WHERE name = '" + index + "'");
    return number("SELECT COUNT(*) FROM " + table[0][0] + where[0][0]);
  };
  std::set<std::string> touched;
  for (const RawRow& row : database().query(
           "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '% WHERE %'")) {
    if (entries(row[0]) > 0) touched.insert(row[0]);
  }
  EXPECT_EQ(touched, (std::set<std::string>{"outbox_due", "task_pending"}));
  for (const ClaimedTask& task : claim(20))
    EXPECT_EQ(finish(task.execution), FinishOutcome::kCommitted);
  for (const std::string& index : touched) EXPECT_EQ(entries(index), 0) << index;
}

// D57: a client that reads slowly holds no read transaction, so the log is copied back and stays
// small.
TEST_P(StoreConformance, ReadersDoNotKeepTheLogFromShrinking) {
  if (!quirks().raw || database().log_bytes() == 0) GTEST_SKIP() << "no log";
  for (int i = 0; i < 20; ++i) {
    CreateExport request = exporting("u" + std::to_string(i), std::to_string(i));
    request.limits.active_per_type = 1'000;
    ASSERT_STORED(store().create_export(request));
  }
  ListExports list;
  list.scope = everybody();
  list.limit = 3;  // fewer than there are: the statement ends in the middle
  ASSERT_STORED(store().list_exports(list));
  ASSERT_STORED(store().has_tasks());
  ASSERT_STORED(store().insert_finished("old", 200'000));
  const auto checkpoint = database().query("PRAGMA wal_checkpoint(TRUNCATE)");
  ASSERT_EQ(checkpoint.size(), 1U);
  EXPECT_EQ(checkpoint[0][0], "0") << "a reader stands in the way";
  EXPECT_LT(database().log_bytes(), 64 * 1024 * 1024);
}

}  // namespace
}  // namespace waybill::store::conformance
