#include "store/sqlite/open.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/random.h"

namespace waybill::store {
namespace {

class OpenSqlite : public ::testing::Test {
 protected:
  OpenSqlite()
      : folder_(std::filesystem::temp_directory_path() /
                ("waybill-open-" + base::make_uuid(system_random_))) {
    std::filesystem::create_directory(folder_);
  }
  ~OpenSqlite() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return (folder_ / "waybill.db").string(); }

  base::ManualClock clock_;
  base::SystemRandom system_random_;
  base::SeededRandom random_{7};
  Seams seams_{.database_clock = clock_, .random = random_};
  std::filesystem::path folder_;
};

NewTask action() {
  NewTask task;
  task.kind = core::TaskKind::kAction;
  task.type = "pay";
  task.lane = "account";
  task.tenant_id = "t1";
  task.app_code = "APP";
  task.requested_by = "u1";
  return task;
}

TEST_F(OpenSqlite, RefusesToWriteIntoAFileThatIsGoneOrAnother) {
  auto opened = open_sqlite({.path = path()}, seams_);
  ASSERT_TRUE(opened.ok());
  Store& store = **opened;
  ASSERT_TRUE(store.migrate().ok());
  ASSERT_TRUE(store.create_task(action()).ok());
  std::filesystem::rename(path(), path() + ".away");
  for (int i = 0; i < 3; ++i) {
    auto lost = store.create_task(action());
    ASSERT_FALSE(lost.ok()) << "acknowledged into a file that nobody will find again";
    EXPECT_EQ(lost.error().category, base::ErrorCategory::kUnavailable);
    EXPECT_NE(lost.error().message.find("was removed"), std::string::npos) << lost.error().message;
  }
  EXPECT_FALSE(std::filesystem::exists(path())) << "no empty database in its place";
  std::filesystem::copy(path() + ".away", path());
  auto replaced = store.create_task(action());
  ASSERT_FALSE(replaced.ok());
  EXPECT_NE(replaced.error().message.find("was replaced"), std::string::npos);
  std::filesystem::remove(path());
  std::filesystem::rename(path() + ".away", path());
  EXPECT_TRUE(store.create_task(action()).ok()) << "the very file again";
}

TEST_F(OpenSqlite, RunsALifeFromCreateToSuccess) {
  for (const std::string& where : {std::string(":memory:"), path()}) {
    auto opened = open_sqlite({.path = where}, seams_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    Store& store = **opened;
    ASSERT_TRUE(store.migrate().ok());
    auto migrated = store.migrate();
    ASSERT_TRUE(migrated.ok()) << migrated.error().message;
    const std::vector<NewTask> tasks(20, action());
    auto ids = store.create_tasks(tasks);
    ASSERT_TRUE(ids.ok()) << ids.error().message;
    auto polled = store.poll({.owner = "me", .known_types = {}});
    ASSERT_TRUE(polled.ok()) << polled.error().message;
    ASSERT_EQ(polled->heads.size(), 1U);
    EXPECT_EQ(polled->heads[0].lane, "account");
    auto claimed = store.claim_next({.owner = "me",
                                     .lane = "account",
                                     .picks = {{2, "t1", 15}},
                                     .known_types = {},
                                     .sent_older_than_ms = {}});
    ASSERT_TRUE(claimed.ok()) << claimed.error().message;
    ASSERT_EQ(claimed->size(), 15U);
    EXPECT_EQ(claimed->front().execution, (Execution{ids->front(), 1}));
    std::vector<Finish> done;
    for (const ClaimedTask& task : *claimed) done.emplace_back().execution = task.execution;
    done[3].event = core::Event::kRetryLater;
    done[4].event = core::Event::kFail;
    auto finished = store.finish("me", done);
    ASSERT_TRUE(finished.ok()) << finished.error().message;
    for (const FinishOutcome outcome : *finished) EXPECT_EQ(outcome, FinishOutcome::kCommitted);
    EXPECT_EQ(store.lock_and_read((*ids)[0])->status, core::TaskStatus::kSucceeded);
    EXPECT_EQ(store.lock_and_read((*ids)[3])->dispatch_version, 2);
    EXPECT_EQ(store.lock_and_read((*ids)[4])->status, core::TaskStatus::kFailed);
  }
}

TEST_F(OpenSqlite, ASecondServingProcessIsRefusedByName) {
  auto first = open_sqlite({.path = path(), .serving = true}, seams_);
  ASSERT_TRUE(first.ok());
  auto second = open_sqlite({.path = path(), .serving = true}, seams_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, "DATABASE_IN_USE");
  EXPECT_NE(second.error().message.find(std::to_string(getpid())), std::string::npos);
  // Tools read beside the server.
  EXPECT_TRUE(open_sqlite({.path = path()}, seams_).ok());
  first = base::cancelled("closed");
  EXPECT_TRUE(open_sqlite({.path = path(), .serving = true}, seams_).ok());
}

TEST_F(OpenSqlite, SaysWhatIsWrongWithItsOptions) {
  EXPECT_EQ(open_sqlite({.path = ""}, seams_).error().field, "path");
  EXPECT_EQ(open_sqlite({.path = "a\"b"}, seams_).error().field, "path");
  EXPECT_EQ(open_sqlite({.path = path(), .readers = 0}, seams_).error().field, "readers");
  EXPECT_EQ(open_sqlite({.path = path(), .busy_timeout_ms = -1}, seams_).error().field,
            "busyTimeoutMs");
  EXPECT_FALSE(open_sqlite({.path = (folder_ / "missing" / "waybill.db").string()}, seams_).ok());
}

}  // namespace
}  // namespace waybill::store
