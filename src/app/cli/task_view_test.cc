#include "app/cli/task_view.h"

#include <gtest/gtest.h>

#include "app/cli/download.h"

namespace waybill::app::cli {
namespace {

TaskView running(std::int64_t processed, std::int64_t total) {
  TaskView task;
  task.id = "7";
  task.status = "RUNNING";
  task.processed = processed;
  task.total = total;
  task.rows_per_second = 52'000;
  task.eta_seconds = 2;
  return task;
}

TEST(TaskView, ReadsADetail) {
  const auto task = parse_task(
      R"({"id":"9007199254740993","exportType":"A","title":"T","status":"FAILED","attempt":2,"maxAttempts":3,)"
      R"("progress":{"processed":5,"total":null},"failure":{"class":"BUSINESS","message":"a\nb\u001b[31m","retryAt":null},)"
      R"("file":{"name":"x.xlsx","size":12,"sha256":"ab"},"receipt":{"rowsWritten":5,"rowsPerSheet":[3,2]}})");
  ASSERT_TRUE(task);
  EXPECT_EQ(task->id, "9007199254740993");
  EXPECT_EQ(task->failure_message, "a\\x0ab\\x1b[31m") << "nothing moves the cursor of a terminal";
  EXPECT_FALSE(task->total);
  EXPECT_EQ(task->size, 12);
  EXPECT_EQ(task->receipt.size(), 2u);
  EXPECT_TRUE(has_ended(*task));
}

TEST(TaskView, OtherTextIsNoTask) {
  for (const char* text : {"", "null", "[]", "{}", "{\"id\":null}", "{\"id\":", "7"})
    EXPECT_FALSE(parse_task(text)) << text;
}

TEST(Text, Numbers) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(200'000), "200,000");
  EXPECT_EQ(grouped(1'048'576), "1,048,576");
  EXPECT_EQ(grouped(-1'000), "-1,000");
  EXPECT_EQ(readable_size(1'023), "1023 bytes");
  EXPECT_EQ(readable_size(12'897'484), "12.3 MiB");
  EXPECT_EQ(readable_seconds(2.44), "2.4 s");
  EXPECT_EQ(readable_seconds(65), "1 min 5 s");
  EXPECT_EQ(readable_seconds(3'700), "1 h 1 min");
}

TEST(Text, Progress) {
  EXPECT_EQ(progress_text(running(86'000, 200'000)),
            "43 %, 86,000 of 200,000 rows, 52,000 rows/s, 2 s left");
  EXPECT_EQ(progress_text(running(300'000, 200'000)).substr(0, 4), "99 %")
      << "only the end is 100 %";
  TaskView waiting = running(0, 0);
  waiting.status = "PENDING";
  waiting.waiting_message = "3 tasks are before it";
  EXPECT_EQ(progress_text(waiting), "PENDING: 3 tasks are before it");
}

TEST(Text, BarFitsTheTerminal) {
  TaskView waiting = running(0, 0);
  waiting.status = "PENDING";
  waiting.waiting_message = "an-endless-word-of-a-provider, " + std::string(500, 'x');
  for (std::size_t columns = 10; columns <= 200; ++columns) {
    EXPECT_LT(progress_bar(running(86'000, 200'000), columns, false).size(), columns);
    EXPECT_LT(progress_bar(waiting, columns, false).size(), columns);
  }
  const auto bar = [](std::size_t columns) {
    return progress_bar(running(86'000, 200'000), columns, false);
  };
  EXPECT_EQ(bar(200),
            "[##########--------------] 43 %, 86,000 of 200,000 rows, 52,000 rows/s, 2 s left");
  EXPECT_EQ(bar(80), "[##########--------------] 43 %, 86,000 of 200,000 rows, 52,000 rows/s");
  EXPECT_EQ(bar(60), "[##########--------------] 43 %, 86,000 of 200,000 rows");
  EXPECT_EQ(bar(40), "[##########--------------] 43 %");
  EXPECT_EQ(bar(39), "43 %, 86,000 of 200,000 rows");
  EXPECT_EQ(bar(10), "43 %");
  EXPECT_EQ(progress_bar(waiting, 20, false), "PENDING");
}

TEST(Text, BarCountsWideCharacters) {
  TaskView waiting = running(0, 0);
  waiting.status = "PENDING";
  waiting.waiting_message = "客户列表客户列表客户列表";  // two columns each
  // 27 + 9 + 24 columns.
  EXPECT_EQ(progress_bar(waiting, 61, false),
            "[------------------------] PENDING: 客户列表客户列表客户列表");
  EXPECT_EQ(progress_bar(waiting, 60, false), "[------------------------] PENDING");
}

TEST(Text, TableAlignsWideCharacters) {
  EXPECT_EQ(table_text({{"A", "B"}, {"客户", "x"}, {"abcde", "y"}}),
            "A      B\n客户   x\nabcde  y\n");
}

TEST(Text, ReceiptShowsWhatMatters) {
  TaskView task;
  task.id = "7";
  task.status = "SUCCEEDED";
  task.file_name = "客户列表.xlsx";
  task.size = 12'897'484;
  task.sha256 = "ab";
  task.receipt = {{"rowsWritten", "200000"}, {"rowsPerSheet", "[200000]"}, {"durationMs", "2400"},
                  {"cellsGuarded", "3"},     {"pagesRepaired", "1"},       {"cellsCut", "0"}};
  const std::string text = receipt_text(task);
  EXPECT_NE(text.find("rows         200,000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("12.3 MiB"), std::string::npos);
  EXPECT_NE(text.find("3 cells that look like formulas"), std::string::npos);
  EXPECT_NE(text.find("1 page that was not UTF-8"), std::string::npos);
  EXPECT_EQ(text.find("cut"), std::string::npos);
}

TEST(Download, NamesOfTheServerStayInThisFolder) {
  EXPECT_EQ(safe_file_name("客户列表.xlsx", "7"), "客户列表.xlsx");
  EXPECT_EQ(safe_file_name("../../etc/passwd", "7"), "_.._etc_passwd");
  EXPECT_EQ(safe_file_name("a\nb\x01.xlsx", "7"), "a_b_.xlsx");
  EXPECT_EQ(safe_file_name("", "7"), "export-7.xlsx");
  EXPECT_EQ(safe_file_name("...", "7"), "export-7.xlsx");
  EXPECT_LE(safe_file_name(std::string(5'000, 'x'), "7").size(), 200u);
}

TEST(Download, OutputIsCheckedBeforeAnythingStarts) {
  EXPECT_FALSE(check_output("/tmp/waybill-test-output.xlsx"));
  for (const char* path : {"/nonexistent/folder/x.xlsx", "/tmp", "/tmp/", "", "/dev/null/x"}) {
    const auto failure = check_output(path);
    ASSERT_TRUE(failure) << path;
    EXPECT_EQ(failure->exit_code, kLocalFile);
  }
}

}  // namespace
}  // namespace waybill::app::cli
