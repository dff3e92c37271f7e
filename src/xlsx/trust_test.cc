// What a reader of the file relies on: no success when a byte was lost, the same bytes every time,
// memory that does not follow the rows. And typed rows, which must become what JSON becomes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "xlsx/deflater.h"
#include "xlsx/test_package.h"

namespace waybill::xlsx {
namespace {

using testing::Book;
using testing::into;
using testing::write_book;

const std::vector<Column> kColumns = {
    {"s", "Text", ColumnType::kString, 0},    {"i", "No", ColumnType::kInteger, 0},
    {"d", "Amount", ColumnType::kDecimal, 0}, {"b", "Flag", ColumnType::kBoolean, 0},
    {"day", "Day", ColumnType::kDate, 0},     {"t", "Time", ColumnType::kDateTime, 0}};

// Rows like those of an export: numbers that rise, amounts, texts that repeat and texts that do
// not.
std::string page_of_rows(int first, int rows) {
  constexpr std::string_view kStates[] = {"PENDING", "PAID", "SHIPPED & gone"};
  std::string page = "[";
  for (int i = first; i < first + rows; ++i) {
    if (i > first) page += ",";
    page += "{\"s\":\"" + std::string(kStates[i % 3]) + (i % 7 == 0 ? std::to_string(i) : "") +
            "\",\"i\":" + std::to_string(i * 7'919 % 900'000) +
            ",\"d\":" + std::to_string(i % 1'000) + "." + std::to_string(i * 31 % 90 + 10) +
            ",\"b\":" + (i % 2 == 0 ? "true" : "false") + ",\"day\":\"2024-01-" +
            std::to_string(10 + i % 20) +
            "\",\"t\":\"2024-03-05 10:" + std::to_string(10 + i % 50) + ":07\"}";
  }
  return page + "]";
}

// Texts without any likeness, which the general coder gets.
std::string page_of_noise(int rows) {
  base::SeededRandom random(11);
  std::string page = "[";
  for (int i = 0; i < rows; ++i) {
    page += i == 0 ? "{\"s\":\"" : ",{\"s\":\"";
    const std::size_t words = 1 + random.next() % 40;
    for (std::size_t w = 0; w < words; ++w) {
      page += std::to_string(random.next() % 5'000) + (w % 3 == 0 ? " lorem " : " ipsum dolor ");
    }
    page += "\"}";
  }
  return page + "]";
}

// A sink that takes `room` bytes and then fails, in the middle of a call too.
ByteSink takes(std::size_t room, std::string& taken) {
  return [room, &taken](std::string_view bytes) -> base::Status {
    const std::size_t fits = std::min(bytes.size(), room - taken.size());
    taken += bytes.substr(0, fits);
    if (fits < bytes.size()) return base::unavailable("disk full");
    return {};
  };
}

TEST(Trust, ASinkThatFailsAtAnyByteEndsInAnError) {
  std::vector<Compression> levels = {Compression::kFast};
  if (std::getenv("WAYBILL_TEST_ALL") != nullptr) levels.push_back(Compression::kSmall);
  for (const Compression level : levels) {
    WriterOptions options;
    options.compression = level;
    options.shared_string_budget_bytes = 1'000;
    const std::string page = page_of_rows(0, 10);
    const std::string whole = write_book(kColumns, {page}, options).package;
    for (std::size_t room = 0; room <= whole.size(); ++room) {
      std::string taken;
      bool failed = true;
      if (const auto writer = Writer::open(kColumns, options, takes(room, taken)); writer.ok()) {
        const bool appended = (*writer)->append_json_rows(page).ok();
        const bool closed = (*writer)->close().ok();
        failed = !appended || !closed;
        EXPECT_TRUE(appended || !closed) << "an error was forgotten";
      }
      ASSERT_EQ(failed, room < whole.size()) << "after byte " << room;
      if (failed) {
        ASSERT_FALSE(testing::verify(taken).ok()) << "a short file opens, byte " << room;
      }
    }
  }
}

// The bytes of three files, as CRC-32, from every machine: a change here changes every file that
// was ever made from the same rows. The third is what ISA-L makes; docs/formats_xlsx.md says for
// which processors that was checked.
TEST(Trust, BytesArePinned) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("sse4.2")) GTEST_SKIP() << "ISA-L hashes differently without SSE4.2";
#else
  GTEST_SKIP() << "checked on x86-64 only";
#endif
  const auto checksum = [](const std::string& page, int pages, Compression level) {
    WriterOptions options;
    options.compression = level;
    options.created_unix_seconds = 1'700'000'000;
    return crc32(
        0, write_book(kColumns, std::vector<std::string>(static_cast<std::size_t>(pages), page),
                      options)
               .package);
  };
  EXPECT_EQ(checksum(page_of_rows(0, 2'000), 3, Compression::kFast), 3'532'760'652u);
  EXPECT_EQ(checksum(page_of_rows(0, 2'000), 3, Compression::kSmall), 4'236'819'341u);
  EXPECT_EQ(checksum(page_of_noise(1'500), 1, Compression::kFast), 1'631'074'556u);
}

// A sheet that begins like an export and goes on without any pattern changes its coder on the way.
TEST(Trust, SheetsMayChangeTheirCoder) {
  WriterOptions options;
  options.shared_string_budget_bytes = 0;
  for (const Compression level : {Compression::kFast, Compression::kSmall}) {
    options.compression = level;
    std::vector<std::string> pages = {page_of_rows(0, 5'000)};
    for (int i = 0; i < 40; ++i) pages.push_back(page_of_noise(1'000));
    pages.push_back(page_of_rows(0, 1'000));
    const Book book = write_book(kColumns, pages, options);
    EXPECT_EQ(book.report.rows, 46'000);
    EXPECT_EQ(book.number("B2"), "0");
    EXPECT_EQ(book.number("B46001"), std::to_string(999 * 7'919 % 900'000));
  }
}

Book write_cells(const std::vector<Column>& columns,
                 const std::vector<std::vector<CellValue>>& rows) {
  Book book;
  auto writer = Writer::open(columns, {}, into(book.package));
  EXPECT_TRUE(writer.ok());
  for (const auto& row : rows) EXPECT_TRUE((*writer)->append_row(row).ok());
  const auto report = (*writer)->close();
  EXPECT_TRUE(report.ok());
  book.report = *report;
  for (auto& part : testing::unpack(book.package)) book.parts[part.name] = std::move(part.content);
  EXPECT_TRUE(testing::verify(book.package).ok());
  return book;
}

Book write_cell(const CellValue& value, ColumnType type = ColumnType::kString) {
  return write_cells({{"v", "Value", type, 0}}, {{value}});
}

TEST(TypedRows, BecomeWhatJsonBecomes) {
  const Book typed =
      write_cells(kColumns, {{std::string_view("a & b"), std::int64_t{42}, 12.5, true,
                              LocalTime{1'704'067'200}, LocalTime{1'704'067'200 + 3'661}},
                             {std::monostate(), std::int64_t{-7}},
                             {}});
  const Book json =
      write_book(kColumns, {R"([{"s":"a & b","i":42,"d":12.5,"b":true,"day":"2024-01-01",)"
                            R"("t":"2024-01-01T01:01:01"},{"i":-7},{}])"});
  EXPECT_EQ(typed.sheet(), json.sheet());
  EXPECT_EQ(typed.parts.at("xl/sharedStrings.xml"), json.parts.at("xl/sharedStrings.xml"));
}

TEST(TypedRows, NumbersLoseNoDigit) {
  struct Case {
    CellValue value;
    std::string_view number;  // "" = text
    std::string_view text;
  };
  const Case cases[] = {
      {std::int64_t{999'999'999'999'999}, "999999999999999", ""},
      {std::int64_t{1'000'000'000'000'000}, "", "1000000000000000"},
      {std::int64_t{-1'000'000'000'000'000}, "", "-1000000000000000"},
      {std::numeric_limits<std::int64_t>::min(), "", "-9223372036854775808"},
      {0.1, "0.1", ""},
      {100.0, "100", ""},
      {-0.04, "-0.04", ""},
      {-0.0, "0", ""},
      {1.005, "1.005", ""},
      {3.141592653589793, "3.141592653589793", ""},
      {0.1 + 0.2, "0.30000000000000004", ""},
      {1e300, "1e+300", ""},
      {2.2250738585072014e-308, "2.2250738585072014e-308", ""},
      {5e-324, "", "5e-324"},  // not in a spreadsheet's range
      {std::nan(""), "", "nan"},
      {-std::numeric_limits<double>::infinity(), "", "-inf"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.number.empty() ? c.text : c.number);
    const Book book = write_cell(c.value, ColumnType::kDecimal);
    EXPECT_EQ(book.number("A2"), c.number);
    EXPECT_EQ(book.raw_text("A2"), c.text);
  }
}

TEST(TypedRows, DoublesReadBackExactly) {
  base::SeededRandom random(17);
  std::vector<std::vector<CellValue>> rows;
  for (int i = 0; i < 20'000; ++i) {
    const double cents = static_cast<double>(static_cast<std::int64_t>(random.next()) >> (i % 50));
    rows.push_back({i % 2 == 0 ? cents / 100.0 : cents * 1e-7});
  }
  const Book book = write_cells({{"v", "Value", ColumnType::kDecimal, 0}}, rows);
  const std::string sheet = book.sheet();
  std::size_t at = sheet.find("<v>", sheet.find("<row r=\"2\""));
  for (const auto& row : rows) {
    ASSERT_NE(at, std::string::npos);
    ASSERT_EQ(std::stod(sheet.substr(at + 3, 40)), std::get<double>(row[0]));
    at = sheet.find("<v>", at + 1);
  }
}

TEST(TypedRows, TextIsRepairedAndTimesOutsideTheCalendarAreText) {
  EXPECT_EQ(write_cell(std::string_view("a\xFF")).raw_text("A2"), "a\xEF\xBF\xBD");
  EXPECT_EQ(write_cell(std::string_view("a\xFF")).report.text_repaired, 1);
  EXPECT_EQ(write_cell(std::string_view("=1+1")).style("A2"), "5");
  EXPECT_EQ(write_cell(LocalTime{-2'208'988'800}).raw_text("A2"), "1900-01-01 00:00:00");
  EXPECT_EQ(write_cell(LocalTime{-2'203'891'200}, ColumnType::kDate).number("A2"), "61");
  EXPECT_EQ(write_cell(LocalTime{-1}).number("A2"), "25568.999988426");
  const auto far = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(write_cell(LocalTime{far}).raw_text("A2"), std::to_string(far));
}

TEST(TypedRows, MoreCellsThanColumnsAreRefused) {
  std::string package;
  auto writer = Writer::open({{"v", "Value", ColumnType::kString, 0}}, {}, into(package));
  ASSERT_TRUE(writer.ok());
  const std::vector<CellValue> two(2);
  const base::Status refused = (*writer)->append_row(two);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().category, base::ErrorCategory::kInvalid);
  EXPECT_FALSE((*writer)->close().ok());
}

TEST(Pages, AreReadInPlaceWhenThereIsRoomBehindThem) {
  const std::string page = page_of_rows(0, 100);
  std::string package;
  auto writer = Writer::open(kColumns, {}, into(package));
  ASSERT_TRUE(writer.ok());
  const std::string roomy = page + "],\"nextCursor\":\"x\\\"" + std::string(kJsonPadding, '"');
  const auto rows =
      (*writer)->append_json_rows({roomy.data(), page.size()}, {}, roomy.size() - page.size());
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(*rows, 100);
  ASSERT_TRUE((*writer)->close().ok());
  EXPECT_EQ(package, write_book(kColumns, {page}).package);
}

}  // namespace
}  // namespace waybill::xlsx
