#include "exporting/file_name.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "exporting/receipt.h"

namespace waybill::exporting {
namespace {

constexpr base::Millis kNow = 1'764'483'839'123;  // 2025-11-30T06:23:59.123Z

std::string name(std::string_view title) { return export_file_name(title, kNow, base::TimeZone()); }

TEST(FileName, TitleAndLocalTime) {
  EXPECT_EQ(name("客户列表"), "客户列表-20251130-062359.xlsx");
  const auto shanghai = base::TimeZone::find("Asia/Shanghai");
  ASSERT_TRUE(shanghai.ok());
  EXPECT_EQ(export_file_name("Customers", kNow, shanghai.value()),
            "Customers-20251130-142359.xlsx");
}

// D113, D117
TEST(FileName, IsSafeEverywhere) {
  EXPECT_EQ(name("a/b\\c:d*e?f\"g<h>i|j%k;l"), "a_b_c_d_e_f_g_h_i_j_k_l-20251130-062359.xlsx");
  EXPECT_EQ(name("../../etc/passwd"), "_.._etc_passwd-20251130-062359.xlsx");
  EXPECT_EQ(name(" . "), "export-20251130-062359.xlsx");
  EXPECT_EQ(name(""), "export-20251130-062359.xlsx");
  EXPECT_EQ(name("a\r\nb\x01\x7F"), "a__b__-20251130-062359.xlsx");
  EXPECT_EQ(name("x\xE2\x80\xAEslx"), "x_slx-20251130-062359.xlsx");
  EXPECT_TRUE(base::is_utf8(name("a\xFF\xC0")));
}

TEST(FileName, IsShortEnoughForEveryFileSystem) {
  std::string longest;
  for (int i = 0; i < 300; ++i) longest += "𠀀";
  EXPECT_LE(name(longest).size(), 255u + 9u);
  EXPECT_EQ(base::utf8_length(name(longest)), kMaxTitleInFileName + 21);
}

TEST(Receipt, HasEveryFieldOfTheDesign) {
  Receipt receipt;
  receipt.pages = 3;
  receipt.rows_received = 1'048'580;
  receipt.pages_repaired = 1;
  receipt.snapshot_at = kNow;
  receipt.duration_ms = 1'500;
  receipt.sha256 = "ab";
  receipt.report.rows_per_sheet = {1'048'575, 5};
  receipt.report.rows = 1'048'580;
  receipt.report.cells_cut = 2;
  receipt.report.cells_guarded = 3;
  receipt.report.integers_as_text = 4;
  receipt.report.decimals_as_text = 5;
  receipt.report.invalid_as_text = 6;
  receipt.report.text_repaired = 7;
  receipt.report.undeclared_keys = 8;
  receipt.report.bytes = 9;
  EXPECT_EQ(
      receipt_json(receipt, base::TimeZone()),
      R"({"pages":3,"rowsReceived":1048580,"rowsWritten":1048580,"rowsPerSheet":[1048575,5],)"
      R"("estimatedRows":null,"snapshotAt":"2025-11-30T06:23:59.123+00:00","durationMs":1500,)"
      R"("sizeBytes":9,"sha256":"ab","cellsCut":2,"cellsGuarded":3,"integersAsText":4,)"
      R"("decimalsAsText":5,"invalidAsText":6,"textRepaired":7,"pagesRepaired":1,"undeclaredKeys":8})");
}

}  // namespace
}  // namespace waybill::exporting
