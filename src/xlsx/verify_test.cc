// The verifier must accept what the writer makes and refuse everything else.

#include "xlsx/verify.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "xlsx/test_package.h"
#include "xlsx/zip_format.h"
#include "xlsx/zip_writer.h"

namespace waybill::xlsx {
namespace {

using testing::verify;

std::string sample() {
  std::string page = "[";
  for (int i = 0; i < 400; ++i)
    page += (i == 0 ? "{\"v\":\"" : ",{\"v\":\"") + std::to_string(i * 7'919) + "\"}";
  return testing::write_values(ColumnType::kString, {"1"}).package.empty()
             ? ""
             : testing::write_book({{"v", "Value", ColumnType::kString, 0}}, {page + "]"}).package;
}

TEST(Verify, AcceptsAndCounts) {
  const auto verified = verify(sample());
  ASSERT_TRUE(verified.ok());
  EXPECT_EQ(verified->rows_per_sheet, std::vector<std::int64_t>{401});
}

TEST(Verify, RefusesEveryLengthButTheRightOne) {
  const std::string whole = sample();
  for (std::size_t size = 0; size < whole.size();
       size += size < 200 || whole.size() - size < 1'500 ? 1 : 97) {
    const auto verified = verify(std::string_view(whole).substr(0, size));
    ASSERT_FALSE(verified.ok()) << size;
    EXPECT_EQ(verified.error().category, base::ErrorCategory::kUnavailable);
  }
  EXPECT_FALSE(verify(whole + "x").ok());
  EXPECT_FALSE(verify("x" + whole).ok());
}

TEST(Verify, RefusesEveryChangedByteThatMatters) {
  const std::string whole = sample();
  // Bytes that carry nothing a reader uses: versions, times, dates, attributes.
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    accepted += verify(damaged).ok() ? 1 : 0;
  }
  EXPECT_LT(accepted, 9 * (8 + 18) + 10);
}

TEST(Verify, PassesOnTheReadersError) {
  const auto failing = [](std::uint64_t, std::span<char>) -> base::Result<std::size_t> {
    return base::not_found("gone");
  };
  const auto verified = verify_package(1'000, failing);
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().category, base::ErrorCategory::kNotFound);
  const auto nothing = [](std::uint64_t, std::span<char>) -> base::Result<std::size_t> {
    return 0;
  };
  EXPECT_EQ(verify_package(1'000, nothing).error().category, base::ErrorCategory::kUnavailable);
}

// A package of hand-made parts.
struct Builder {
  std::string package;
  ZipWriter zip{testing::into(package), Compression::kSmall, 1u << 30};
  void add(std::string_view name, std::string_view content) {
    EXPECT_TRUE(zip.add(name, content).ok());
  }
  void stream(std::string_view name, std::string_view content) {
    EXPECT_TRUE(zip.begin(name, false).ok());
    EXPECT_TRUE(zip.write(content).ok());
    EXPECT_TRUE(zip.end().ok());
  }
  void base_parts() {
    for (const char* name : {"[Content_Types].xml", "_rels/.rels", "xl/workbook.xml",
                             "xl/_rels/workbook.xml.rels", "xl/styles.xml"}) {
      add(name, "<x/>");
    }
  }
  std::string finish() {
    EXPECT_TRUE(zip.finish().ok());
    return package;
  }
};

TEST(Verify, CountsRowsAcrossBorders) {
  // The output buffer is 256 KiB: rows of a length that walks over its border in every phase.
  for (const std::size_t pad : {0u, 1u, 2u, 3u, 4u, 5u}) {
    std::string xml(pad, ' ');
    for (int i = 0; i < 120'000; ++i)
      xml += i % 3 == 0 ? "<row/>" : i % 3 == 1 ? "<row></row>" : "<row r=\"1\"/><rowx/>";
    Builder builder;
    builder.base_parts();
    builder.stream("xl/worksheets/sheet1.xml", xml + "</worksheet>");
    const auto verified = verify(builder.finish());
    ASSERT_TRUE(verified.ok()) << verified.error().message;
    EXPECT_EQ(verified->rows_per_sheet, std::vector<std::int64_t>{120'000});
  }
}

TEST(Verify, RefusesAnIncompleteWorkbook) {
  const std::string sheet = "<sheetData/></worksheet>";
  {
    Builder no_sheet;
    no_sheet.base_parts();
    EXPECT_FALSE(verify(no_sheet.finish()).ok());
  }
  {
    Builder gap;
    gap.base_parts();
    gap.stream("xl/worksheets/sheet2.xml", sheet);
    EXPECT_FALSE(verify(gap.finish()).ok());
  }
  {
    Builder twice;
    twice.base_parts();
    twice.stream("xl/worksheets/sheet1.xml", sheet);
    twice.stream("xl/worksheets/sheet1.xml", sheet);
    EXPECT_FALSE(verify(twice.finish()).ok());
  }
  {
    Builder open_end;
    open_end.base_parts();
    open_end.stream("xl/worksheets/sheet1.xml", "<worksheet><sheetData><row/>");
    EXPECT_FALSE(verify(open_end.finish()).ok());
  }
  {
    Builder no_types;
    no_types.add("_rels/.rels", "<x/>");
    no_types.stream("xl/worksheets/sheet1.xml", sheet);
    EXPECT_FALSE(verify(no_types.finish()).ok());
  }
}

TEST(Verify, RefusesBytesBehindTheCompressedData) {
  Builder builder;
  builder.base_parts();
  builder.stream("xl/worksheets/sheet1.xml",
                 "<worksheet><sheetData><row/></sheetData></worksheet>");
  const std::string whole = builder.finish();
  ASSERT_TRUE(verify(whole).ok());
  for (const std::size_t more : {1u, 3u, 9u}) {
    std::string package = whole;
    const auto add = [&package, more](std::size_t at) {
      std::string field;
      zip::put32(field, zip::get32(package, at) + more);
      package.replace(at, 4, field);
    };
    const std::size_t descriptor = package.find("PK\x07\x08");
    package.insert(descriptor, more, 'x');
    add(descriptor + more + 8);                 // packed size in the descriptor
    add(package.rfind("PK\x01\x02") + 20);      // and in the directory
    add(package.size() - zip::kEndBytes + 16);  // where the directory begins
    const auto verified = verify(package);
    ASSERT_FALSE(verified.ok()) << more;
    EXPECT_NE(verified.error().message.find("bytes after its end"), std::string::npos)
        << verified.error().message;
  }
}

TEST(Verify, DoesNotInflateBeyondThePromisedSize) {
  Builder builder;
  builder.base_parts();
  builder.stream("xl/worksheets/sheet1.xml", std::string(64u << 20, ' ') + "</worksheet>");
  std::string package = builder.finish();
  // The bomb promises 100 bytes in the directory and in its descriptor.
  const std::string size = [] {
    std::string text;
    zip::put32(text, (64u << 20) + 12);
    return text;
  }();
  std::string small;
  zip::put32(small, 100);
  for (std::size_t at = package.find(size); at != std::string::npos; at = package.find(size)) {
    package.replace(at, 4, small);
  }
  const auto verified = verify(package);
  ASSERT_FALSE(verified.ok());
  EXPECT_NE(verified.error().message.find("larger than its records say"), std::string::npos);
}

TEST(Zip64, LargePartsSayVersion45Everywhere) {  // X90
  Builder builder;
  builder.base_parts();
  ASSERT_TRUE(builder.zip.begin("xl/worksheets/sheet1.xml", true).ok());
  ASSERT_TRUE(builder.zip.write("<row/></worksheet>").ok());
  ASSERT_TRUE(builder.zip.end().ok());
  const std::string package = builder.finish();
  ASSERT_TRUE(verify(package).ok());
  const auto parts = testing::unpack(package);
  EXPECT_EQ(parts.back().local_version, 45u);
  EXPECT_EQ(parts.back().version, 45u);
  EXPECT_EQ(parts.back().content, "<row/></worksheet>");
}

// A package up to the inside of its only sheet.
void begin_sheet(ZipWriter& zip) {
  for (const char* name : {"[Content_Types].xml", "_rels/.rels", "xl/workbook.xml",
                           "xl/_rels/workbook.xml.rels", "xl/styles.xml"}) {
    ASSERT_TRUE(zip.add(name, "<x/>").ok());
  }
  ASSERT_TRUE(zip.begin("xl/worksheets/sheet1.xml", true).ok());
}

// Rows of 16 bytes, all at the same place of what is looked at in one go, however they lie.
TEST(Verify, RowsAreCountedWhereverTheyBegin) {
  constexpr std::int64_t kRows = 20'000;
  for (std::size_t shift = 0; shift < 17; ++shift) {
    std::string package;
    ZipWriter zip(testing::into(package), Compression::kFast, 1ull << 40);
    begin_sheet(zip);
    std::string sheet(shift, ' ');
    for (std::int64_t row = 0; row < kRows; ++row) sheet += "<row r=\"10000\"/>";
    sheet += "<rows/><ro w=\"\"/><row><row r=\"1\"></row></row>";  // two rows
    ASSERT_TRUE(zip.write(sheet + "</worksheet>").ok());
    ASSERT_TRUE(zip.end().ok());
    ASSERT_TRUE(zip.finish().ok());
    const auto verified = verify(package);
    ASSERT_TRUE(verified.ok()) << verified.error().message;
    EXPECT_EQ(verified->rows_per_sheet, std::vector<std::int64_t>{kRows + 2}) << shift;
  }
}

// Keeps only the shape of what a sink receives: enough to verify 4 GiB without storing them.
TEST(Zip64, SheetsOver4GiBAreWholeAndVerified) {  // X90
  std::string package;
  ZipWriter zip(testing::into(package), Compression::kFast, 1ull << 40);
  begin_sheet(zip);
  std::string block;
  while (block.size() < (1u << 20))
    block += "<row r=\"1\"><c><v>" + std::string(80, '7') + "</v></c></row>";
  const auto rows_per_block =
      static_cast<std::int64_t>(std::count(block.begin(), block.end(), 'w') / 2);
  std::int64_t blocks = 0;
  for (; zip.part_bytes() < (1ull << 32) + block.size(); ++blocks)
    ASSERT_TRUE(zip.write(block).ok());
  ASSERT_TRUE(zip.write("</worksheet>").ok());
  ASSERT_TRUE(zip.end().ok());
  ASSERT_TRUE(zip.finish().ok());
  const auto verified = verify(package);
  ASSERT_TRUE(verified.ok()) << verified.error().message;
  EXPECT_EQ(verified->rows_per_sheet, std::vector<std::int64_t>{blocks * rows_per_block});
}

TEST(Zip64, APlainPartOver4GiBIsRefused) {
  std::string package;
  ZipWriter zip(testing::into(package), Compression::kFast, 1ull << 40);
  ASSERT_TRUE(zip.begin("a", false).ok());
  const std::string block(32u << 20, 'x');
  while (zip.part_bytes() < (1ull << 32)) ASSERT_TRUE(zip.write(block).ok());
  EXPECT_FALSE(zip.end().ok());
}

}  // namespace
}  // namespace waybill::xlsx
