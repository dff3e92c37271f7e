// The package around the cells: sheets, parts, limits, errors, memory.

#include <clocale>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "xlsx/deflater.h"
#include "xlsx/parts.h"
#include "xlsx/sheet_name.h"
#include "xlsx/test_package.h"

namespace waybill::xlsx {
namespace {

using testing::Book;
using testing::unpack;
using testing::verify;
using testing::write_book;
using testing::write_values;

const std::vector<Column> kOne = {{"v", "Value", ColumnType::kString, 0}};

std::string page_of(int rows, const std::string& value) {
  std::string page = "[";
  for (int i = 0; i < rows; ++i) page += (i == 0 ? "{\"v\":" : ",{\"v\":") + value + "}";
  return page + "]";
}

TEST(Package, HasEveryPartThatReadersAskFor) {  // X92, X94, X96, X97, X99, X104, X105
  WriterOptions options;
  options.title = "R & D <x> \"q\"";
  options.created_unix_seconds = 1'700'000'000;
  std::string package;
  auto writer = Writer::open(kOne, options, testing::into(package));
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->append_json_rows(page_of(3, "\"x\"")).ok());
  ASSERT_TRUE((*writer)->close().ok());
  std::set<std::string> names;
  for (const auto& part : unpack(package)) {
    names.insert(part.name);
    EXPECT_TRUE(part.content.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"")) << part.name;
    EXPECT_FALSE(part.method == 0 && (part.flags & 8) != 0) << part.name;
    EXPECT_EQ(part.version, 20u);
    EXPECT_EQ(part.local_version, 20u);
    EXPECT_EQ(part.content.find("<x:"), std::string::npos);
  }
  EXPECT_EQ(names, (std::set<std::string>{"[Content_Types].xml", "_rels/.rels", "docProps/app.xml",
                                          "docProps/core.xml", "xl/_rels/workbook.xml.rels",
                                          "xl/sharedStrings.xml", "xl/styles.xml",
                                          "xl/workbook.xml", "xl/worksheets/sheet1.xml"}));
  EXPECT_TRUE(package.starts_with("PK\x03\x04"));
  EXPECT_EQ(package.substr(30, 11), "_rels/.rels");
  const auto parts = unpack(package);
  for (const auto& part : parts) {
    if (part.name == "docProps/core.xml") {
      EXPECT_NE(part.content.find("<dc:title>R &amp; D &lt;x&gt; &quot;q&quot;</dc:title>"),
                std::string::npos);
      EXPECT_NE(
          part.content.find("<dcterms:created xsi:type=\"dcterms:W3CDTF\">2023-11-14T22:13:20Z<"),
          std::string::npos);
    }
    if (part.name == "docProps/app.xml") {
      EXPECT_EQ(part.content.find("AppVersion"), std::string::npos);
    }
  }
}

TEST(Package, SameInputGivesTheSameBytes) {
  const auto make = [](Compression compression) {
    WriterOptions options;
    options.compression = compression;
    return write_book(kOne, {page_of(500, "\"abc\""), page_of(500, "\"x\\ny\"")}, options).package;
  };
  EXPECT_EQ(make(Compression::kFast), make(Compression::kFast));
  EXPECT_EQ(make(Compression::kSmall), make(Compression::kSmall));
}

// Ordinary rows: both levels stay below what the general coders make of them, and small is smaller.
TEST(Package, LevelsDifferInSize) {
  std::string page = "[";
  for (int i = 0; i < 5'000; ++i) {
    page += (i == 0 ? "{\"n\":" : ",{\"n\":") + std::to_string(i * 7'919 % 900'000) +
            ",\"v\":\"order-" + std::to_string(100'000 + i * 31) + "\"}";
  }
  page += "]";
  const auto sheet_bytes = [&page](Compression compression) {
    WriterOptions options;
    options.compression = compression;
    options.shared_string_budget_bytes = 0;
    const Book book =
        write_book({{"n", "No", ColumnType::kInteger, 0}, {"v", "Value", ColumnType::kString, 0}},
                   {page}, options);
    const auto deflater = make_deflater(compression);
    deflater->begin();
    std::string general(book.sheet().size(), '\0');
    std::string text = book.sheet();
    std::string_view rest = text;
    general.resize(deflater->run(rest, true, general));
    EXPECT_LT(book.package.size(), general.size());
    return book.package.size();
  };
  EXPECT_LT(sheet_bytes(Compression::kSmall) * 99 / 100, sheet_bytes(Compression::kFast));
}

TEST(Package, StylesAreComplete) {  // X59, X100, X108
  const Book book = write_values(ColumnType::kString, {"\"x\""});
  const std::string& styles = book.parts.at("xl/styles.xml");
  EXPECT_NE(styles.find("numFmtId=\"164\" formatCode=\"yyyy-mm-dd\""), std::string::npos);
  EXPECT_NE(styles.find("numFmtId=\"165\" formatCode=\"yyyy-mm-dd hh:mm:ss\""), std::string::npos);
  for (const char* name :
       {"numFmts", "fonts", "fills", "borders", "cellStyleXfs", "cellXfs", "cellStyles"}) {
    const std::string list =
        Book::between(styles, std::string("<") + name + " ", std::string("</") + name + ">");
    const int count = std::stoi(Book::between(list, "count=\"", "\""));
    const std::string first = std::string(list.substr(list.find('>') + 2));
    const std::string child = "<" + first.substr(0, first.find_first_of(" />"));
    int children = 0;
    for (std::size_t at = list.find(child); at != std::string::npos;
         at = list.find(child, at + 1)) {
      const char next = list[at + child.size()];
      children += next == ' ' || next == '>' || next == '/';
    }
    EXPECT_EQ(children, count) << name;
  }
}

TEST(Package, ChildrenOfASheetAreInSchemaOrder) {  // X81, X82, X107
  const Book book = write_values(ColumnType::kString, {"\"12345678901234567890\""});
  const std::string xml = book.sheet();
  std::size_t at = 0;
  for (const char* tag :
       {"<sheetViews>", "<sheetFormatPr ", "<cols>", "<sheetData>", "<autoFilter ref=\"A1:A2\"",
        "<pageMargins ", "<ignoredErrors><ignoredError sqref=\"A1:A2\"", "</worksheet>"}) {
    const std::size_t found = xml.find(tag);
    ASSERT_NE(found, std::string::npos) << tag;
    EXPECT_GE(found, at) << tag;
    at = found;
  }
  EXPECT_NE(
      xml.find(
          "<pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/>"),
      std::string::npos);
  EXPECT_EQ(xml.find("rightToLeft"), std::string::npos);
  EXPECT_EQ(xml.find("<dimension"), std::string::npos);
  EXPECT_EQ(xml.find("spans="), std::string::npos);
}

TEST(Package, HeaderOnlyIsAValidFile) {  // X85
  for (const std::vector<std::string>& pages :
       {std::vector<std::string>{}, std::vector<std::string>{"[]", " [ ] "}}) {
    const Book book = write_book(kOne, pages);
    EXPECT_NE(book.sheet().find("<autoFilter ref=\"A1:A1\"/>"), std::string::npos);
    EXPECT_EQ(book.report.rows, 0);
    EXPECT_EQ(book.report.rows_per_sheet, std::vector<std::int64_t>{0});
  }
}

TEST(Package, ReferencesCanBeLeftOut) {
  WriterOptions options;
  options.cell_refs = false;
  const Book book = write_values(ColumnType::kInteger, {"1", "2"}, options);
  EXPECT_NE(
      book.sheet().find("<row r=\"2\"><c><v>1</v></c></row><row r=\"3\"><c><v>2</v></c></row>"),
      std::string::npos);
}

// Without references a cell's place is its column: nothing may be skipped.
TEST(Package, WithoutReferencesEveryValueStaysInItsColumn) {
  std::vector<Column> columns;
  for (const ColumnType type : {ColumnType::kString, ColumnType::kInteger, ColumnType::kDecimal,
                                ColumnType::kBoolean, ColumnType::kDate, ColumnType::kDateTime}) {
    columns.push_back({std::string(1, static_cast<char>('a' + columns.size())), "t", type, 0});
  }
  columns.push_back({"z", "t", ColumnType::kInteger, 0});
  WriterOptions options;
  options.cell_refs = false;
  const std::string five = "<c/><c/><c/><c/><c/>";
  for (const char* row :
       {R"({"z":7})", R"({"a":null,"b":null,"c":null,"d":null,"e":null,"f":null,"z":7})",
        R"({"a":"","b":"","c":"","d":"","e":"","f":"","z":7})"}) {
    EXPECT_NE(write_book(columns, {"[" + std::string(row) + "]"}, options)
                  .sheet()
                  .find("<row r=\"2\">" + five + "<c/><c><v>7</v></c></row>"),
              std::string::npos)
        << row;
  }
  EXPECT_NE(write_book(columns, {R"([{"a":"x"},{}])"}, options)
                .sheet()
                .find(five + "<c/></row><row r=\"3\">" + five + "<c/><c/></row>"),
            std::string::npos);
  std::string package;
  auto writer = Writer::open(columns, options, testing::into(package));
  ASSERT_TRUE(writer.ok());
  const std::vector<CellValue> cells = {std::monostate{},
                                        std::string_view(),
                                        std::monostate{},
                                        std::monostate{},
                                        std::monostate{},
                                        std::monostate{},
                                        std::int64_t{7}};
  ASSERT_TRUE((*writer)->append_row(cells).ok());
  ASSERT_TRUE((*writer)->close().ok());
  bool seen = false;
  for (const auto& part : unpack(package)) {
    seen = seen || part.content.find("<row r=\"2\">" + five + "<c/><c><v>7</v></c></row>") !=
                       std::string::npos;
  }
  EXPECT_TRUE(seen);
}

TEST(Header, TitlesShareTheEscaperTheGuardAndTheCut) {  // X03, X20, X87, D117
  const std::vector<Column> columns = {{"a", "test\vtest", ColumnType::kString, 0},
                                       {"b", "=1+1", ColumnType::kString, 0},
                                       {"c", std::string(40'000, 't'), ColumnType::kString, 0},
                                       {"d", "", ColumnType::kString, 0},
                                       {"e", "two\nlines", ColumnType::kString, 0},
                                       {"f", "bad \xE9", ColumnType::kString, 0},
                                       {"g", "two\nlines", ColumnType::kString, 0}};
  const Book book = write_book(columns, {});
  EXPECT_EQ(book.raw_text("A1"), "test_x000B_test");
  EXPECT_EQ(book.style("A1"), "7");
  EXPECT_EQ(book.raw_text("B1"), "=1+1");
  EXPECT_EQ(book.style("B1"), "9");
  EXPECT_EQ(book.raw_text("C1"), std::string(32'767, 't'));
  EXPECT_EQ(book.cell("D1"), "<c r=\"D1\" s=\"7\"/>");
  EXPECT_EQ(book.style("E1"), "8");
  EXPECT_EQ(book.raw_text("F1"), "bad \uFFFD");
  EXPECT_EQ(book.raw_text("G1"), "two\nlines");
  EXPECT_EQ(book.report.cells_cut, 1);
  EXPECT_EQ(book.report.cells_guarded, 1);
}

TEST(Header, WidthsStayInsideExcelsRange) {  // X79
  std::vector<Column> columns;
  int i = 0;
  for (const double width : {300.0, 255.0, 0.0, -5.0, 1e9, std::nan(""), 12.345678, 1e-9}) {
    columns.push_back({"k" + std::to_string(i++), "t", ColumnType::kString, width});
  }
  const std::string xml = write_book(columns, {}).sheet();
  const std::regex col("<col min=\"\\d+\" max=\"\\d+\" width=\"([^\"]+)\" customWidth=\"1\"/>");
  std::vector<std::string> widths;
  for (std::sregex_iterator it(xml.begin(), xml.end(), col), end; it != end; ++it)
    widths.push_back((*it)[1]);
  EXPECT_EQ(widths,
            (std::vector<std::string>{"255", "255", "16", "16", "255", "16", "12.346", "0.1"}));
}

TEST(Columns, LettersAndLimit) {  // X77, X78
  EXPECT_EQ(column_letters(0), "A");
  EXPECT_EQ(column_letters(25), "Z");
  EXPECT_EQ(column_letters(26), "AA");
  EXPECT_EQ(column_letters(51), "AZ");
  EXPECT_EQ(column_letters(52), "BA");
  EXPECT_EQ(column_letters(701), "ZZ");
  EXPECT_EQ(column_letters(702), "AAA");
  EXPECT_EQ(column_letters(16'383), "XFD");
  std::vector<Column> columns(kMaxColumns);
  std::string row = "[{";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].key = columns[i].title = "c" + std::to_string(i + 1);
    row += (i == 0 ? "\"" : ",\"") + columns[i].key + "\":\"v\"";
  }
  const Book book = write_book(columns, {row + "}]"});
  EXPECT_EQ(book.raw_text("XFD1"), "c16384");
  EXPECT_EQ(book.raw_text("AAA2"), "v");
  EXPECT_NE(book.sheet().find("<autoFilter ref=\"A1:XFD2\"/>"), std::string::npos);

  std::string package;
  columns.resize(kMaxColumns + 1);
  const auto refused = Writer::open(columns, {}, testing::into(package));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().category, base::ErrorCategory::kInvalid);
  EXPECT_EQ(refused.error().field, "columns");
  EXPECT_TRUE(package.empty());
  EXPECT_FALSE(Writer::open({}, {}, testing::into(package)).ok());
  EXPECT_FALSE(Writer::open({{"k", "A"}, {"k", "B"}}, {}, testing::into(package)).ok());
}

TEST(SheetNames, AreLegalAndUnique) {  // X66, X68, X69, X71, X73, X74
  EXPECT_EQ(legal_sheet_name(std::string(32, 'a')), std::string(31, 'a'));
  EXPECT_EQ(legal_sheet_name("Q1/2024"), "Q1_2024");
  EXPECT_EQ(legal_sheet_name("a[b]:?*\\"), "a_b_____");
  EXPECT_EQ(legal_sheet_name("'a"), "a");
  EXPECT_EQ(legal_sheet_name("a'"), "a");
  EXPECT_EQ(legal_sheet_name("'"), "Sheet1");
  EXPECT_EQ(legal_sheet_name("it's"), "it's");
  EXPECT_EQ(legal_sheet_name(std::string(30, 'a') + "'x"), std::string(30, 'a'));
  EXPECT_EQ(legal_sheet_name("R & D <x> \"q\""), "R & D <x> \"q\"");
  for (const char* blank : {"", " ", "\a", "\u00A0", "\u3000\u200B", "\xEF\xBF\xBE"}) {
    EXPECT_EQ(legal_sheet_name(blank), "Sheet1");
  }
  EXPECT_EQ(legal_sheet_name("History"), "History_");
  EXPECT_EQ(legal_sheet_name("订单" + std::string(29, 'x') + "y"), "订单" + std::string(29, 'x'));
  EXPECT_EQ(legal_sheet_name("😊😊😊😊😊😊😊😊😊😊😊😊😊😊😊😊"), "😊😊😊😊😊😊😊😊😊😊😊😊😊😊😊");
  SheetNames names;
  EXPECT_EQ(names.next("Data"), "Data");
  EXPECT_EQ(names.next("DATA"), "DATA (2)");
  EXPECT_EQ(names.next("data"), "data (3)");
  const std::string almost = std::string(27, 'a') + " (2)";
  EXPECT_EQ(names.next(almost), almost);
  EXPECT_EQ(names.next(almost), std::string(27, 'a') + " (3)");
  EXPECT_EQ(names.next(std::string(40, 'b')), std::string(31, 'b'));
  EXPECT_EQ(names.next(std::string(50, 'b')), std::string(27, 'b') + " (2)");
}

TEST(SheetNames, StandInTheWorkbookEscaped) {
  WriterOptions options;
  options.sheet_name = "R & D's \"q\"";
  const Book book = write_book(kOne, {}, options);
  const std::string& workbook = book.parts.at("xl/workbook.xml");
  EXPECT_NE(
      workbook.find("<sheet name=\"R &amp; D's &quot;q&quot;\" sheetId=\"1\" r:id=\"rId1\"/>"),
      std::string::npos);
  EXPECT_NE(workbook.find(">'R &amp; D''s &quot;q&quot;'!$A$1:$A$1</definedName>"),
            std::string::npos);
}

TEST(Sheets, ContinueWithTheSameHeader) {  // X75, X84
  const std::vector<Column> columns = {{"v", "No", ColumnType::kInteger, 0}};
  WriterOptions options;
  options.max_rows = 2'000'000;
  std::vector<std::string> pages;
  constexpr int kRows = 1'048'580;
  for (int i = 1; i <= kRows;) {
    std::string page = "[";
    for (int k = 0; k < 50'000 && i <= kRows; ++k, ++i) {
      page += (k == 0 ? "{\"v\":" : ",{\"v\":") + std::to_string(i) + "}";
    }
    pages.push_back(page + "]");
  }
  const Book book = write_book(columns, pages, options);
  EXPECT_EQ(book.report.rows_per_sheet, (std::vector<std::int64_t>{1'048'575, 5}));
  EXPECT_NE(book.sheet(1).find("<c r=\"A1048576\"><v>1048575</v></c></row></sheetData>"),
            std::string::npos);
  EXPECT_EQ(book.number("A2", 2), "1048576");
  EXPECT_EQ(book.raw_text("A1", 2), "No");
  EXPECT_EQ(book.style("A1", 2), "7");
  EXPECT_NE(book.sheet(1).find("tabSelected"), std::string::npos);
  EXPECT_EQ(book.sheet(2).find("tabSelected"), std::string::npos);
  EXPECT_NE(book.parts.at("xl/workbook.xml").find("<sheet name=\"Sheet1 (2)\" sheetId=\"2\""),
            std::string::npos);
}

TEST(Limits, FileSizeIsCountedWhileWriting) {  // X126
  const std::string page = page_of(1'000, "\"some text that repeats\"");
  WriterOptions options;
  const Book whole = write_book(kOne, {page, page}, options);
  for (const std::uint64_t max :
       {whole.package.size() - 1, std::size_t{1'000}, std::size_t{10}, std::size_t{0}}) {
    options.max_file_bytes = max;
    std::string package;
    base::Error error;
    auto writer = Writer::open(kOne, options, testing::into(package));
    if (!writer.ok()) {
      error = writer.error();
    } else {
      for (int i = 0; i < 2; ++i) {
        const auto appended = (*writer)->append_json_rows(page);
        if (!appended.ok()) break;
      }
      const auto closed = (*writer)->close();
      ASSERT_FALSE(closed.ok());
      error = closed.error();
      EXPECT_FALSE((*writer)->append_json_rows("[]").ok());
    }
    EXPECT_EQ(error.category, base::ErrorCategory::kLimit);
    EXPECT_EQ(error.field, "max_file_bytes");
    EXPECT_EQ(error.limit, std::to_string(max));
    EXPECT_EQ(error.unit, "bytes");
    EXPECT_LE(package.size(), max);
  }
  options.max_file_bytes = whole.package.size();  // exactly reached by the end record
  EXPECT_EQ(write_book(kOne, {page, page}, options).package, whole.package);
}

TEST(Limits, RowsAreCountedOverAllPages) {
  WriterOptions options;
  options.max_rows = 5;
  std::string package;
  auto writer = Writer::open(kOne, options, testing::into(package));
  ASSERT_TRUE((*writer)->append_json_rows(page_of(5, "1")).ok());
  const auto over = (*writer)->append_json_rows(page_of(1, "1"));
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().category, base::ErrorCategory::kLimit);
  EXPECT_EQ(over.error().field, "max_rows");
  EXPECT_EQ((*writer)->rows(), 5);
}

TEST(Errors, OfTheSinkAreKept) {
  for (int good = 0; good < 4; ++good) {
    int calls = 0;
    const ByteSink sink = [&](std::string_view) -> base::Status {
      if (calls++ == good) return base::unavailable("disk full");
      EXPECT_LE(calls, good + 1) << "called after it failed";
      return {};
    };
    std::string noise;  // does not compress
    std::uint64_t state = 1;
    for (int i = 0; i < 300'000; ++i) {
      state = state * 6'364'136'223'846'793'005u + 1;
      noise += static_cast<char>('a' + (state >> 33) % 26);
    }
    std::string page = "[";
    for (int i = 0; i < 40; ++i)
      page += (i == 0 ? "{\"v\":\"" : ",{\"v\":\"") +
              noise.substr(static_cast<std::size_t>(i) * 7'000, 7'000) + "\"}";
    page += "]";
    auto writer = Writer::open(kOne, {}, sink);
    ASSERT_TRUE(writer.ok());
    bool failed = false;
    for (int i = 0; i < 5; ++i) failed = !(*writer)->append_json_rows(page).ok() || failed;
    const auto closed = (*writer)->close();
    ASSERT_FALSE(closed.ok());
    EXPECT_EQ(closed.error().message, "disk full");
  }
}

TEST(Errors, StopEndsTheWriting) {
  std::string package;
  auto writer = Writer::open(kOne, {}, testing::into(package));
  int asked = 0;
  const auto stop = [&asked] { return ++asked == 2; };
  const auto stopped = (*writer)->append_json_rows(page_of(30'000, "1"), stop);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().category, base::ErrorCategory::kCancelled);
  EXPECT_EQ((*writer)->rows(), kStopCheckRows);
  EXPECT_FALSE((*writer)->close().ok());
}

TEST(Errors, AfterCloseNothingIsAccepted) {
  std::string package;
  auto writer = Writer::open(kOne, {}, testing::into(package));
  ASSERT_TRUE((*writer)->close().ok());
  EXPECT_FALSE((*writer)->close().ok());
  EXPECT_FALSE((*writer)->append_json_rows("[]").ok());
}

TEST(Pages, ThatAreNoArrayOfObjectsAreTransient) {
  for (const std::string page : {"",
                                 " ",
                                 "{}",
                                 "1",
                                 "null",
                                 "\"x\"",
                                 "[",
                                 "[{]",
                                 "[{\"v\":1}",
                                 "[{\"v\":1},",
                                 "[{\"v\":1},]",
                                 "[{\"v\":1}]x",
                                 "[{\"v\":1}][]",
                                 "[1]",
                                 "[[]]",
                                 "[null]",
                                 "[{\"v\"}]",
                                 "[{\"v\":}]",
                                 "[{\"v\" 1}]",
                                 "[{v:1}]",
                                 "[{\"v\":1 2}]",
                                 "[{\"v\":tru}]",
                                 "[{\"v\":nul}]",
                                 "[{\"v\":truex}]",
                                 "[{\"v\":1x}]",
                                 "[{\"v\":01}]",
                                 "[{\"v\":-}]",
                                 "[{\"v\":1.}]",
                                 "[{\"v\":+1}]",
                                 "[{\"v\":NaN}]",
                                 "[{\"v\":\"a\\q\"}]",
                                 "[{\"v\":\"a\\u12\"}]",
                                 "[{\"v\":\"a\\u12G4\"}]",
                                 "[{\"v\":\"a]",
                                 "[{\"v\":\"a\nb\"}]",
                                 "[{\"v\":[1,]}]",
                                 "[{\"v\":[}]",
                                 "[{\"v\":{]}]",
                                 "[{\"v\":{\"a\" 1}}]",
                                 "[{\"v\":{\"a\":1,}}]",
                                 "[{\"v\":[1 2]}]",
                                 "[{\"v\":[01]}]",
                                 "[{\"v\":{1:2}}]",
                                 "[{\"v\\q\":1}]",
                                 "[{\"v\":'x'}]"}) {
    std::string package;
    auto writer = Writer::open(kOne, {}, testing::into(package));
    const auto result = (*writer)->append_json_rows(page);
    EXPECT_FALSE(result.ok()) << page;
    if (result.ok()) continue;
    EXPECT_EQ(result.error().category, base::ErrorCategory::kUnavailable) << page;
    EXPECT_FALSE((*writer)->close().ok()) << page;
  }
}

TEST(Pages, NestingHasAnEnd) {
  const auto nested = [](std::size_t levels) {
    return "[{\"v\":" + std::string(levels, '[') + std::string(levels, ']') + "}]";
  };
  EXPECT_EQ(write_book(kOne, {nested(256)}).raw_text("A2"),
            std::string(256, '[') + std::string(256, ']'));
  for (const std::size_t levels : {std::size_t{257}, std::size_t{1'000'000}}) {
    std::string package;
    auto writer = Writer::open(kOne, {}, testing::into(package));
    EXPECT_FALSE((*writer)->append_json_rows(nested(levels)).ok());
  }
}

TEST(Pages, HaveASize) {
  std::string package;
  auto writer = Writer::open(kOne, {}, testing::into(package));
  const auto result = (*writer)->append_json_rows(std::string(kMaxPageBytes + 1, ' '));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().category, base::ErrorCategory::kLimit);
}

TEST(Pages, NestedTextIsCutLikeAnyOther) {
  const Book book = write_book(kOne, {"[{\"v\":[\"" + std::string(200'000, 'x') + "\"]}]"});
  EXPECT_EQ(book.raw_text("A2"), "[\"" + std::string(32'765, 'x'));
  EXPECT_EQ(book.report.cells_cut, 1);
}

TEST(Pages, KeysInAnyOrderFeedTheirColumn) {
  const std::vector<Column> columns = {{"a", "A", ColumnType::kInteger, 0},
                                       {"b", "B", ColumnType::kInteger, 0},
                                       {"é\"", "C", ColumnType::kInteger, 0},
                                       {"", "D", ColumnType::kInteger, 0}};
  const Book book = write_book(columns, {R"([{"a":1,"b":2,"é\"":3,"":4},{"b":6,"a":5},
      {"":8,"\u00e9\u0022":7},
      {"b":10,"zz":0,"a":9,"yy":{"a":99,"b":[98]}}, {"a":11,"a":12},
      {"zz":1,"\u007az":2,"b":14,"a":null,"yy":[]}])"});
  EXPECT_EQ(book.number("A2"), "1");
  EXPECT_EQ(book.number("C2"), "3");
  EXPECT_EQ(book.number("D2"), "4");
  EXPECT_EQ(book.number("A3"), "5");
  EXPECT_EQ(book.number("B3"), "6");
  EXPECT_EQ(book.number("C4"), "7");
  EXPECT_EQ(book.number("D4"), "8");
  EXPECT_EQ(book.number("A5"), "9");
  EXPECT_EQ(book.number("B5"), "10");
  EXPECT_EQ(book.number("A6"), "12");  // of a repeated key the last value counts
  EXPECT_EQ(book.number("B7"), "14");
  EXPECT_EQ(book.cell("A7"), "");
  EXPECT_EQ(book.report.undeclared_keys, 2);
}

TEST(Pages, UndeclaredNamesAreCountedToABound) {
  std::string page = "[";
  for (int i = 0; i < 3'000; ++i)
    page += (i == 0 ? "{\"k" : ",{\"k") + std::to_string(i) + "\":1,\"v\":\"x\"}";
  const Book book = write_book(kOne, {page + "]"});
  EXPECT_EQ(book.report.undeclared_keys, 1'000);
  EXPECT_EQ(book.raw_text("A3001"), "x");
}

TEST(SharedStrings, RepeatedTextIsStoredOnce) {  // X102
  const Book book = write_book(kOne, {page_of(100, "\"PENDING\""), R"([{"v":"\u0050ENDING"}])"});
  const std::string& strings = book.parts.at("xl/sharedStrings.xml");
  EXPECT_NE(strings.find("count=\"102\" uniqueCount=\"2\""), std::string::npos) << strings;
  EXPECT_EQ(book.cell("A102"), book.cell("A101").replace(6, 4, "A102"));
}

TEST(SharedStrings, BudgetEndsInInlineStringsAndLosesNothing) {  // X121
  WriterOptions options;
  options.shared_string_budget_bytes = 20'000;
  std::string page = "[";
  for (int i = 0; i < 6'000; ++i)
    page += (i == 0 ? "{\"v\":\"text " : ",{\"v\":\"text ") + std::to_string(i % 3'000) + "\"}";
  const Book book = write_book(kOne, {page + "]"}, options);
  const std::string xml = book.sheet();
  EXPECT_NE(xml.find("t=\"s\""), std::string::npos);
  EXPECT_NE(xml.find("t=\"inlineStr\""), std::string::npos);
  EXPECT_LT(book.parts.at("xl/sharedStrings.xml").size(), 20'000u);
  for (int row = 0; row < 6'000; row += row < 400 ? 1 : 97) {
    EXPECT_EQ(book.raw_text("A" + std::to_string(row + 2)), "text " + std::to_string(row % 3'000));
  }
}

TEST(Locale, NumbersDoNotFollowIt) {  // X36
  const char* old = std::setlocale(LC_ALL, nullptr);
  const std::string saved = old == nullptr ? "C" : old;
  bool any = false;
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ru_RU.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    any = true;
    const Book book = write_values(ColumnType::kDecimal, {"1.5", "0.30000000000000004"});
    EXPECT_EQ(book.number("A2"), "1.5");
    EXPECT_EQ(book.number("A3"), "0.30000000000000004");
  }
  std::setlocale(LC_ALL, saved.c_str());
  if (!any) GTEST_SKIP() << "no locale with a decimal comma installed";
}

}  // namespace
}  // namespace waybill::xlsx
