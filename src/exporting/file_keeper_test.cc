#include "exporting/file_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "core/object_key.h"
#include "exporting/testing/fake_keeping_store.h"
#include "exporting/testing/fakes.h"

namespace waybill::exporting {
namespace {

constexpr base::Millis kHour = 3'600'000;

class FileKeeperTest : public ::testing::Test {
 protected:
  FileKeeperTest() {
    settings_.batch = 10;
    add_marker(admin_.id);
  }
  void add_marker(const std::string& database_id) {
    files_.entries[std::string(kOwnerMarkerKey)] = {database_id, 0, false};
  }
  // Stores an object of this age and returns its key.
  std::string add(std::int64_t id, base::Millis age, bool recorded) {
    const std::string key = core::make_object_key({{id, 1}, base::make_uuid(random_)});
    files_.entries[key] = {"xlsx", admin_.now_ms - age, false};
    if (recorded) repairs_.recorded.insert(key);
    return key;
  }
  FileKeeperReport step() {
    auto report = keeper().step();
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.ok() ? *report : FileKeeperReport{};
  }
  FileKeeper& keeper() {
    if (!keeper_) keeper_.emplace(repairs_, admin_, files_, clock_, remover_, observer_, settings_);
    return *keeper_;
  }
  [[nodiscard]] bool has(const std::string& key) const { return files_.entries.contains(key); }

  testing::FakeRepairStore repairs_;
  testing::FakeAdminStore admin_;
  testing::MemoryFiles files_;
  base::ManualClock clock_;
  base::SeededRandom random_{3};
  testing::CountingObserver observer_;
  ObjectRemover remover_{files_, observer_};
  FileKeeperSettings settings_;
  std::optional<FileKeeper> keeper_;
};

TEST_F(FileKeeperTest, ExpiredFilesGoBeforeTheTaskSaysSo) {
  for (int i = 1; i <= 25; ++i) repairs_.expired[i] = add(i, 200 * kHour, true);
  const auto keys = repairs_.expired;
  repairs_.on_mark = [&](core::TaskId id) {
    EXPECT_FALSE(has(keys.at(id))) << "EXPIRED before the file is gone";
  };
  const FileKeeperReport report = step();
  EXPECT_EQ(report.expired, 25);
  EXPECT_EQ(observer_.expired, 25);
  EXPECT_EQ(repairs_.asked_storage, files_.id);
  EXPECT_EQ(repairs_.asked_grace, 900'000);
  EXPECT_EQ(files_.entries.size(), 1u) << "only the marker is left";
}

TEST_F(FileKeeperTest, AbsentFilesExpireToo) {
  repairs_.expired[7] = "exports/7/1-00000000-0000-4000-8000-000000000000.xlsx";
  EXPECT_EQ(step().expired, 1);
}

TEST_F(FileKeeperTest, AFileThatCannotBeDeletedDoesNotExpire) {
  repairs_.expired[7] = add(7, 200 * kHour, true);
  files_.remove_error = base::unavailable("read-only");
  const FileKeeperReport report = step();
  EXPECT_EQ(report.expired, 0);
  EXPECT_EQ(report.deletions_failed, 1);
  EXPECT_EQ(observer_.deletes_failed, 1);
  EXPECT_TRUE(repairs_.marked.empty());
  files_.remove_error.reset();
  EXPECT_EQ(step().expired, 1);
}

// D96: killed between the two steps, database away in between.
TEST_F(FileKeeperTest, ACrashBetweenDeletionAndMarkIsMadeUpFor) {
  repairs_.expired[7] = add(7, 200 * kHour, true);
  repairs_.mark_error = base::unavailable("away");
  EXPECT_FALSE(keeper().step().ok());
  EXPECT_EQ(files_.entries.size(), 1u);
  repairs_.mark_error.reset();
  EXPECT_EQ(step().expired, 1);
  EXPECT_EQ(repairs_.marked, std::vector<core::TaskId>{7});
}

TEST_F(FileKeeperTest, StorageAwayIsAnError) {
  files_.storage_error = base::unavailable("not mounted");
  EXPECT_FALSE(keeper().step().ok());
  files_.storage_error.reset();
  repairs_.error = base::unavailable("database away");
  EXPECT_FALSE(keeper().step().ok());
}

TEST_F(FileKeeperTest, OldObjectsThatNoTaskRecordsGo) {
  const std::string orphan = add(1, 25 * kHour, false);
  const std::string young = add(2, 23 * kHour, false);
  const std::string recorded = add(3, 2'000 * kHour, true);
  files_.entries[".hidden-old"] = {"half", admin_.now_ms - 25 * kHour, true};
  files_.entries[".hidden-new"] = {"half", admin_.now_ms - kHour, true};
  files_.entries["exports/notes.txt"] = {"an administrator's", 0, false};
  const FileKeeperReport report = step();
  EXPECT_TRUE(report.scanned);
  EXPECT_EQ(report.objects_listed, 3);
  EXPECT_EQ(report.orphans_removed, 2);
  EXPECT_EQ(report.refused, "");
  EXPECT_FALSE(has(orphan));
  EXPECT_FALSE(has(".hidden-old"));
  EXPECT_TRUE(has(young));
  EXPECT_TRUE(has(recorded));
  EXPECT_TRUE(has(".hidden-new"));
  EXPECT_TRUE(has("exports/notes.txt"));
  EXPECT_TRUE(has(std::string(kOwnerMarkerKey)));
  EXPECT_GT(observer_.storage_bytes, 0);
}

TEST_F(FileKeeperTest, TheLongestDurationRaisesTheAge) {
  settings_.longest_duration_ms = [] { return 48 * kHour; };
  const std::string running = add(1, 47 * kHour, false);
  step();
  EXPECT_TRUE(has(running));
}

// I8: a host whose own clock runs days ahead takes no young object for an old one.
TEST_F(FileKeeperTest, TheDatabasesClockSaysWhatIsOld) {
  const std::string young = add(1, kHour, false);
  clock_.step_wall(48 * kHour);
  step();
  EXPECT_TRUE(has(young));
}

// D91: the row is committed between listing and deletion.
TEST_F(FileKeeperTest, EveryKeyIsCheckedAgainJustBefore) {
  const std::string late = add(1, 25 * kHour, false);
  add(2, kHour, true);
  repairs_.on_recheck = [&](const std::string& key) { repairs_.recorded.insert(key); };
  settings_.batch = 2;
  add(3, 30 * kHour, false);
  EXPECT_EQ(step().orphans_removed, 0);
  EXPECT_TRUE(has(late));
}

TEST_F(FileKeeperTest, AScanThatWouldDeleteTooMuchRefuses) {
  for (int i = 1; i <= 101; ++i) add(i, 25 * kHour, false);
  for (int i = 200; i < 300; ++i) add(i, 25 * kHour, true);
  const FileKeeperReport report = step();
  EXPECT_NE(report.refused, "");
  EXPECT_EQ(report.orphans_removed, 0);
  EXPECT_EQ(observer_.refused, 1);
  EXPECT_EQ(files_.entries.size(), 202u);
}

TEST_F(FileKeeperTest, EitherBoundAloneDoesNotRefuse) {
  for (int i = 1; i <= 100; ++i) add(i, 25 * kHour, false);  // 100 % but not more than 100
  EXPECT_EQ(step().orphans_removed, 100);
  for (int i = 1; i <= 150; ++i) add(i, 25 * kHour, false);  // more than 100 but at most 20 %
  for (int i = 200; i < 800; ++i) add(i, 25 * kHour, true);
  clock_.advance(settings_.scan_period_ms);
  EXPECT_EQ(step().orphans_removed, 150);
}

TEST_F(FileKeeperTest, AStorageOfAnotherDatabaseIsLeftAlone) {
  add_marker("33333333-3333-4333-8333-333333333333");
  const std::string foreign = add(1, 25 * kHour, false);
  const FileKeeperReport report = step();
  EXPECT_THAT(report.refused, ::testing::HasSubstr("another database"));
  EXPECT_TRUE(has(foreign));
  EXPECT_EQ(observer_.refused, 1);
}

TEST_F(FileKeeperTest, AFreshStorageGetsItsOwner) {
  files_.entries.clear();
  EXPECT_EQ(step().refused, "");
  EXPECT_EQ(files_.entries.at(std::string(kOwnerMarkerKey)).bytes, admin_.id);
}

TEST_F(FileKeeperTest, AStorageWithoutOwnerAndFullOfStrangersIsNotTaken) {
  files_.entries.clear();
  const std::string foreign = add(1, 25 * kHour, false);
  EXPECT_NE(step().refused, "");
  EXPECT_TRUE(has(foreign));
  EXPECT_FALSE(has(std::string(kOwnerMarkerKey)));
  add(2, 25 * kHour, true);  // one that is ours shows whose it is
  clock_.advance(settings_.scan_period_ms);
  EXPECT_EQ(step().orphans_removed, 1);
}

TEST_F(FileKeeperTest, ScansAreSpaced) {
  EXPECT_TRUE(step().scanned);
  clock_.advance(settings_.scan_period_ms - 1);
  EXPECT_FALSE(step().scanned);
  clock_.advance(1);
  EXPECT_TRUE(step().scanned);
}

TEST_F(FileKeeperTest, FailedDeletionsOfExecutionsAreTriedAgain) {
  const std::string key = add(1, 0, false);
  files_.remove_error = base::unavailable("away");
  EXPECT_FALSE(remover_.remove(files_.id, key).ok());
  EXPECT_EQ(step().deletions_failed, 1);
  files_.remove_error.reset();
  EXPECT_EQ(step().deletions_failed, 0);
  EXPECT_FALSE(has(key));
}

TEST_F(FileKeeperTest, ObjectsOfAnotherStorageAreNotOurs) {
  const std::string key = add(1, 0, false);
  EXPECT_FALSE(remover_.remove("44444444-4444-4444-8444-444444444444", key).value());
  EXPECT_TRUE(has(key));
  EXPECT_TRUE(remover_.remove(files_.id, key).value());
  EXPECT_TRUE(remover_.remove(files_.id, "").value());
  EXPECT_FALSE(has(key));
}

}  // namespace
}  // namespace waybill::exporting
