#include "exporting/progress_writer.h"

#include <gtest/gtest.h>

#include "exporting/testing/fakes.h"

namespace waybill::exporting {
namespace {

class ProgressWriterTest : public ::testing::Test {
 protected:
  std::int64_t step() {
    const auto written = writer_.step();
    EXPECT_TRUE(written.ok());
    return written.ok() ? written.value() : -1;
  }
  testing::FakeWorkStore store_;
  base::ManualClock clock_;
  ProgressWriter writer_{store_, clock_, "me"};
};

TEST_F(ProgressWriterTest, WritesTheNewestOfAllExecutionsTogether) {
  writer_.report({1, 1}, 10, std::nullopt);
  writer_.report({1, 1}, 20, 100);
  writer_.report({2, 5}, 7, std::nullopt);
  EXPECT_EQ(step(), 2);
  EXPECT_EQ(store_.progress_owner, "me");
  ASSERT_EQ(store_.progress.size(), 1u);
  EXPECT_EQ(store_.progress[0][0].processed_rows, 20);
  EXPECT_EQ(store_.progress[0][0].total_rows, 100);
  EXPECT_EQ(store_.progress[0][1].execution, (core::Execution{2, 5}));
}

TEST_F(ProgressWriterTest, AtMostOnceASecondAndOnlyWhatChanged) {
  writer_.report({1, 1}, 10, std::nullopt);
  EXPECT_EQ(step(), 1);
  writer_.report({1, 1}, 20, std::nullopt);
  clock_.advance(999);
  EXPECT_EQ(step(), 0);
  clock_.advance(1);
  EXPECT_EQ(step(), 1);
  clock_.advance(5'000);
  EXPECT_EQ(step(), 0);
  EXPECT_EQ(store_.progress.size(), 2u);
}

TEST_F(ProgressWriterTest, AnErrorLosesNothing) {
  writer_.report({1, 1}, 10, std::nullopt);
  store_.progress_error = base::unavailable("away");
  EXPECT_FALSE(writer_.step().ok());
  store_.progress_error.reset();
  clock_.advance(kProgressIntervalMs);
  EXPECT_EQ(step(), 1);
}

TEST_F(ProgressWriterTest, AReportDuringTheWriteIsNotLost) {
  writer_.report({1, 1}, 10, std::nullopt);
  store_.on_progress = [&] { writer_.report({1, 1}, 20, std::nullopt); };
  EXPECT_EQ(step(), 1);
  store_.on_progress = nullptr;
  clock_.advance(kProgressIntervalMs);
  EXPECT_EQ(step(), 1);
  EXPECT_EQ(store_.progress.back()[0].processed_rows, 20);
}

TEST_F(ProgressWriterTest, EndedExecutionsAreForgotten) {
  writer_.report({1, 1}, 10, std::nullopt);
  writer_.forget({1, 1});
  EXPECT_EQ(step(), 0);
}

TEST_F(ProgressWriterTest, MoreThanABatchTakesTurns) {
  for (int i = 1; i <= 700; ++i) writer_.report({i, 1}, i, std::nullopt);
  EXPECT_EQ(step(), static_cast<std::int64_t>(store::kMaxBatch));
  clock_.advance(kProgressIntervalMs);
  EXPECT_EQ(step(), 200);
}

}  // namespace
}  // namespace waybill::exporting
