#include "app/database.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "app/cli/exit_code.h"
#include "app/serve.h"
#include "base/clock.h"
#include "base/random.h"

namespace waybill::app {
namespace {

class Database : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/waybill-database-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    path_ = folder_ + "/waybill.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  base::Result<std::unique_ptr<store::Store>> open() {
    return open_database(path_, {.database_clock = clock_, .random = random_});
  }
  void write(const std::string& bytes, std::streamoff at = 0) const {
    std::fstream out(path_, std::ios::in | std::ios::out | std::ios::binary);
    if (!out) out.open(path_, std::ios::out | std::ios::binary);
    out.seekp(at);
    out << bytes;
  }
  // One line that names the file and ends the program with kLocalFile.
  void expect_refused(const std::string& words) {
    const auto store = open();
    ASSERT_FALSE(store.ok());
    EXPECT_NE(store.error().message.find(path_), std::string::npos) << store.error().message;
    EXPECT_NE(store.error().message.find(words), std::string::npos) << store.error().message;
    EXPECT_LT(store.error().message.size(), 600u);
    EXPECT_EQ(start_exit_code(store.error()), cli::kLocalFile);
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
  std::string folder_, path_;
};

TEST_F(Database, IsMadeAndOpenedAgain) {
  ASSERT_TRUE(open().ok());
  const auto again = open();
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_GT(*(*again)->schema_version(), 0);
}

TEST_F(Database, AnEmptyFileIsANewDatabase) {
  write("");
  EXPECT_TRUE(open().ok());
}

TEST_F(Database, OtherFilesAreNoDatabase) {
  write(std::string(20'000, 'x'));
  expect_refused("no SQLite database");
}

TEST_F(Database, DamageIsNamed) {
  ASSERT_TRUE(open().ok());
  write(std::string(std::filesystem::file_size(path_) - 100, 'x'), 100);
  expect_refused("is damaged");
}

// The header of a file whose first page lists no table of ours, but which has more pages.
TEST_F(Database, AForeignDatabaseIsLeftAlone) {
  std::string bytes(2 * 4'096, '\0');
  bytes.replace(0, 16, std::string("SQLite format 3\0", 16));
  bytes.replace(16, 8, std::string("\x10\0\1\1\0\x40\x20\x20", 8));  // 4096 bytes, journal
  bytes[27] = 1, bytes[31] = 2;                                      // change counter, pages
  bytes[47] = 4, bytes[59] = 1;                                      // schema format, UTF-8
  bytes[95] = 1;                   // the page count is valid for this change
  bytes[100] = bytes[4'096] = 13;  // two empty leaves of tables
  bytes[105] = bytes[4'101] = 0x10;
  write(bytes);
  expect_refused("is not a Waybill database");
}

}  // namespace
}  // namespace waybill::app
