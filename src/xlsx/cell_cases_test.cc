// One cell, one rule: what each JSON value becomes in each type of column. Case ids (X..) are those
// of docs/formats_xlsx.md.

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "xlsx/test_package.h"

namespace waybill::xlsx {
namespace {

using testing::Book;
using testing::write_values;

std::string times(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

struct TextCase {
  const char* id;
  std::string json;      // the value, quotes included
  std::string raw_text;  // inside <t>
};

TEST(TextCells, CharactersAreStoredSoThatTheyComeBack) {
  const std::vector<TextCase> cases = {
      {"X01", R"("图\u0014图")", "图_x0014_图"},
      {"X03", R"("test\u000Btest")", "test_x000B_test"},
      {"X04", R"("_x000D_")", "_x005F_x000D_"},
      {"X04 twice", R"("_x000D_x000a_")", "_x005F_x000D_x005F_x000a_"},
      {"X04 completed by an escape", R"("_x0041\u0001")", "_x005F_x0041_x0001_"},
      {"X04 completed by U+FFFE", R"("_x0041\ufffe")", "_x005F_x0041_xFFFE_"},
      {"X04 not completed by a tab", R"("_x0041\t")", "_x0041\t"},
      {"X06", R"("_xd_ _x00G0_ _x00D_ x000D _X000D_ __")", "_xd_ _x00G0_ _x00D_ x000D _X000D_ __"},
      {"X06 cut short", R"("_x000D")", "_x000D"},
      {"X08 raw", R"("prix 😊")", "prix 😊"},
      {"X08 escaped", R"("prix \ud83d\ude0a")", "prix 😊"},
      {"X09", R"("👌🏻 👨‍👩‍👧 🇩🇪")", "👌🏻 👨‍👩‍👧 🇩🇪"},
      {"X10 high", R"("a\ud83d")", "a\uFFFD"},
      {"X10 low", R"("\ude00b")", "\uFFFDb"},
      {"X10 high high low", R"("\ud83d\ud83d\ude0a")", "\uFFFD😊"},
      {"X10 high and other escape", R"("\ud83d\n")", "\uFFFD\n"},
      {"U+FFFE, U+FFFF", "\"a\xEF\xBF\xBE\xEF\xBF\xBF!\"", "a_xFFFE__xFFFF_!"},
      {"halfwidth stays", R"("ﾟ￥")", "ﾟ￥"},
      {"NUL", R"("a\u0000b")", "a_x0000_b"},
      {"X14", R"(" a b ")", " a b "},
      {"X16 one", R"(" ")", " "},
      {"X16 three", R"("   ")", "   "},
      {"X16 inner", R"("a  b")", "a  b"},
      {"X16 no-break", R"("a\u00A0b")", "a\u00A0b"},
      {"X17", R"("a\r\nb")", "a\nb"},
      {"X17 lone CR", R"("a\rb\r\rc")", "a\nb\n\nc"},
      {"X19", R"("a\nb")", "a\nb"},
      {"X19 many", "\"" + times("x\\n", 300) + "y\"", times("x\n", 300) + "y"},
      {"X25", R"("\u200Fمرحبا\u202E")", "\u200Fمرحبا\u202E"},
      {"X40", R"("004")", "004"},
      {"X40 exponent", R"("1E5")", "1E5"},
      {"X40 truth", R"("TRUE")", "TRUE"},
      {"X40 date", R"("2024-01-05")", "2024-01-05"},
      {"X40 fraction", R"("1/2")", "1/2"},
      {"X73", R"("a]]>b & <c>")", "a]]&gt;b &amp; &lt;c&gt;"},
      {"X88", R"("https://example.org/1")", "https://example.org/1"},
      {"X109", R"("=cmd|' /C calc'!A0")", "=cmd|' /C calc'!A0"},
      {"X112 tab", R"("\t=1+1")", "\t=1+1"},
      {"X112 CR", R"("\r=1+1")", "\n=1+1"},
      {"X114", R"("＝1+1")", "＝1+1"},
      {"X120", R"("'=1+1")", "'=1+1"},
      {"X120 word", R"("'tis")", "'tis"},
      {"all escapes", R"("\"\\\/\b\f\n\r\t\u00e9x")", "\"\\/_x0008__x000C_\n\n\t\u00e9x"},
      {"number in a STRING column", "-12.50", "-12.50"},
      {"truth in a STRING column", "true", "true"},
      {"nested", R"({"a" : [1, 2.0,"x y"], "b":null })", R"({"a":[1,2.0,"x y"],"b":null})"},
      {"nested empty", "[ ]", "[]"},
  };
  std::vector<std::string> values;
  for (const TextCase& c : cases) values.push_back(c.json);
  for (const std::size_t budget : {std::size_t{8} << 20, std::size_t{0}}) {
    WriterOptions options;
    options.shared_string_budget_bytes = budget;
    const Book book = write_values(ColumnType::kString, values, options);
    EXPECT_EQ(book.parts.contains("xl/sharedStrings.xml"), budget > 0);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::string ref = "A" + std::to_string(i + 2);
      EXPECT_EQ(book.raw_text(ref), cases[i].raw_text) << cases[i].id << " budget " << budget;
      EXPECT_EQ(book.cell(ref).find("\r"), std::string::npos) << cases[i].id;
      const std::string& t = cases[i].raw_text;
      const bool preserve = std::string_view(" \t\n").find(t.front()) != std::string_view::npos ||
                            std::string_view(" \t\n").find(t.back()) != std::string_view::npos;
      EXPECT_EQ(book.text_element(ref).starts_with("<t xml:space=\"preserve\">"), preserve)
          << cases[i].id;
      EXPECT_EQ(book.sheet().find("<f"), std::string::npos);
    }
    EXPECT_EQ(book.report.text_repaired, 4);
  }
}

TEST(TextCells, EveryPositionOfASpecialCharacterIsSeen) {
  // The escaper looks at 16 bytes at once: all lengths and positions around that.
  for (const auto& [special, escaped] : std::vector<std::pair<std::string, std::string>>{
           {"<", "&lt;"}, {"\\u0001", "_x0001_"}, {"_x000D_", "_x005F_x000D_"}, {"\\r\\n", "\n"}}) {
    std::vector<std::string> values;
    std::vector<std::string> expected;
    for (int before = 1; before < 36; ++before) {
      for (int after = 0; after < 3; ++after) {
        values.push_back("\"" + times("a", before) + special + times("é", after) + "b\"");
        expected.push_back(times("a", before) + escaped + times("é", after) + "b");
      }
    }
    WriterOptions options;
    options.shared_string_budget_bytes = 0;
    const Book book = write_values(ColumnType::kString, values, options);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(book.raw_text("A" + std::to_string(i + 2)), expected[i]);
    }
  }
}

TEST(TextCells, IllFormedUtf8OfAPageIsRepaired) {  // X12
  const Book book = write_values(ColumnType::kString,
                                 {"\"a\xE9\"", "\"\xC0\xAF\"", "\"\xED\xA0\xBD\"", "\"ok é\""});
  EXPECT_EQ(book.raw_text("A2"), "a\uFFFD");
  EXPECT_EQ(book.raw_text("A3"), "\uFFFD\uFFFD");
  EXPECT_EQ(book.raw_text("A4"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(book.raw_text("A5"), "ok é");
  EXPECT_EQ(book.report.text_repaired, 6);
}

TEST(TextCells, LongTextIsCutByUtf16UnitsAfterNormalisation) {  // X20, X22, X23
  const Book book =
      write_values(ColumnType::kString,
                   {"\"" + times("x", 40'000) + "\"", "\"" + times("👍", 20'000) + "\"",
                    "\"" + times("a\\r\\n", 32'768) + "\"", "\"" + times("é", 32'767) + "\"",
                    "\"" + times("\\u0001", 33'000) + "\"", "\"" + times("&", 32'767) + "\"",
                    "\"" + times("x", 32'766) + "👍\""});
  EXPECT_EQ(book.raw_text("A2"), times("x", 32'767));
  EXPECT_EQ(book.raw_text("A3"), times("👍", 16'383));
  EXPECT_EQ(book.raw_text("A4"), times("a\n", 16'383) + "a");
  EXPECT_EQ(book.raw_text("A5"), times("é", 32'767));
  EXPECT_EQ(book.raw_text("A6"), times("_x0001_", 32'767));
  EXPECT_EQ(book.raw_text("A7"), times("&amp;", 32'767));
  EXPECT_EQ(book.raw_text("A8"), times("x", 32'766));
  EXPECT_EQ(book.report.cells_cut, 5);
}

TEST(TextCells, FormulaLookalikesGetTheQuotePrefixAndKeepTheirText) {  // X109..X120, D117
  const std::vector<std::string> guarded = {"=1+1",  "+1+1",  "-1+1", "@SUM(A1)", "\\t=1+1",
                                            "\\r=1", "＝1+1", "＋1",  "－1",      "＠A1"};
  const std::vector<std::string> harmless = {"%x", "|x", "'=1+1", " =1", "a=b", "，x"};
  std::vector<std::string> values;
  for (const std::string& v : guarded) values.push_back("\"" + v + "\"");
  for (const std::string& v : harmless) values.push_back("\"" + v + "\"");
  const Book book = write_values(ColumnType::kString, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string style = book.style("A" + std::to_string(i + 2));
    EXPECT_EQ(style == "5" || style == "6", i < guarded.size()) << values[i];
  }
  EXPECT_EQ(book.report.cells_guarded, static_cast<std::int64_t>(guarded.size()));
  const std::string& styles = book.parts.at("xl/styles.xml");
  std::size_t at = styles.find("<cellXfs");
  for (int i = 0; i <= 5; ++i) at = styles.find("<xf ", at + 1);
  EXPECT_NE(styles.substr(at, styles.find('>', at) - at).find("quotePrefix=\"1\""),
            std::string::npos);
}

TEST(TextCells, TheApostropheGuardPutsExactlyOneInFront) {
  for (const std::size_t budget : {std::size_t{8} << 20, std::size_t{0}}) {
    WriterOptions options;
    options.formula_guard = FormulaGuard::kApostrophe;
    options.shared_string_budget_bytes = budget;
    const Book book = write_values(
        ColumnType::kString,
        {"\"=1+1\"", "\"'=1+1\"", "\"\\t=1\"", "\"=" + times("x", 40'000) + "\"", "\"plain\""},
        options);
    EXPECT_EQ(book.raw_text("A2"), "'=1+1");
    EXPECT_EQ(book.raw_text("A3"), "'=1+1");
    EXPECT_EQ(book.raw_text("A4"), "'\t=1");
    EXPECT_EQ(book.raw_text("A5"), "'=" + times("x", 32'765));
    EXPECT_EQ(book.raw_text("A6"), "plain");
    EXPECT_EQ(book.style("A2"), "0");
    EXPECT_EQ(book.report.cells_guarded, 3);
    EXPECT_EQ(book.report.cells_cut, 1);
  }
}

TEST(TextCells, StylesSayWhatKindOfTextItIs) {
  const Book book = write_values(ColumnType::kString,
                                 {"\"20211029000000001234\"", "\"a\\nb\"", "\"=a\\nb\"", "\"x1\""});
  EXPECT_EQ(book.style("A2"), "3");  // X41: number format @
  EXPECT_EQ(book.style("A3"), "4");  // X19: wrapped
  EXPECT_EQ(book.style("A4"), "6");
  EXPECT_EQ(book.style("A5"), "0");
}

TEST(TextCells, EmptyTextAndNullAreNoCell) {  // X65
  const std::vector<Column> columns = {{"s", "S", ColumnType::kString, 0},
                                       {"i", "I", ColumnType::kInteger, 0},
                                       {"b", "B", ColumnType::kBoolean, 0}};
  const Book book = testing::write_book(
      columns,
      {R"([{"s":null,"i":null,"b":null},{"s":"","i":0,"b":false},{"s":null,"i":7,"b":null},{}])"});
  const std::string xml = book.sheet();
  EXPECT_NE(xml.find("<row r=\"2\"></row><row r=\"3\"><c r=\"B3\"><v>0</v></c><c r=\"C3\" "
                     "t=\"b\"><v>0</v></c></row>"
                     "<row r=\"4\"><c r=\"B4\"><v>7</v></c></row><row r=\"5\"></row></sheetData>"),
            std::string::npos)
      << xml;
  EXPECT_EQ(book.report.rows, 4);
  EXPECT_EQ(book.report.invalid_as_text, 0);
}

struct NumberCase {
  const char* id;
  ColumnType type;
  std::string json;
  std::string number;  // "" = not a number cell
  std::string text;    // "" = not a text cell
};

TEST(NumberCells, NoDigitIsLost) {
  constexpr auto kInt = ColumnType::kInteger;
  constexpr auto kDec = ColumnType::kDecimal;
  const std::vector<NumberCase> cases = {
      {"plain", kInt, "42", "42", ""},
      {"as string", kInt, "\"42\"", "42", ""},
      {"15 digits", kInt, "999999999999999", "999999999999999", ""},
      {"X26", kInt, "1405202108700589", "", "1405202108700589"},
      {"X28 a", kInt, "9007199254740992", "", "9007199254740992"},
      {"X28 b", kInt, "\"9007199254740993\"", "", "9007199254740993"},
      {"16 digits with zeros", kInt, "1000000000000000", "", "1000000000000000"},
      {"negative long", kInt, "-9223372036854775808", "", "-9223372036854775808"},
      {"X35 int", kInt, "-0", "0", ""},
      {"X44 fraction zero", kInt, "1.0", "1", ""},
      {"X44 exponent", kInt, "1e3", "1000", ""},
      {"X44 hundred", kInt, "1.20e2", "120", ""},
      {"X44 fraction", kInt, "1.5", "", "1.5"},
      {"X44 negative", kInt, "-1.35", "", "-1.35"},
      {"big exponent", kInt, "12e20", "", "1200000000000000000000"},
      {"absurd exponent", kInt, "\"1e999999999\"", "", "1e999999999"},
      {"X43", kInt, "\"abc\"", "", "abc"},
      {"X43 object", kInt, "{}", "", "{}"},
      {"leading zero", kInt, "\"007\"", "", "007"},
      {"blank around", kInt, "\" 7\"", "", " 7"},
      {"truth", kInt, "true", "", "true"},
      {"escaped digits", kInt, R"("\u0031\u0032")", "12", ""},
      {"X115 int", kInt, "-5", "-5", ""},
      {"X29", kDec, "\"12345678901234567890.123\"", "", "12345678901234567890.123"},
      {"X29 fraction", kDec, "\"0.1234567890123456789\"", "", "0.1234567890123456789"},
      {"X29 exponent", kDec, "\"1.2345678901234567890E+5\"", "", "123456.7890123456789"},
      {"X29 unquoted", kDec, "12345678901234567890.123", "", "12345678901234567890.123"},
      {"X31 small", kDec, "0.0000012345", "0.0000012345", ""},
      {"X31 pi", kDec, "3.141592653589793", "3.141592653589793", ""},
      {"X31 large", kDec, "-9.711085923568919e+18", "-9.711085923568919e+18", ""},
      {"X31 pi as string", kDec, "\"3.141592653589793\"", "", "3.141592653589793"},
      {"X31 hundred", kDec, "100.0", "100.0", ""},
      {"trailing zeros", kDec, "\"1.500000000000000000\"", "1.500000000000000000", ""},
      {"very long zeros", kDec, "\"1.5" + times("0", 3'000) + "\"", "1.5", ""},
      {"very long and small", kDec, "\"0." + times("0", 40) + "15\"", "1.5E-41", ""},
      {"X32 a", kDec, "3.6e-260", "3.6e-260", ""},
      {"X32 b", kDec, "1e21", "1e21", ""},
      {"X32 c", kDec, "1.5e300", "1.5e300", ""},
      {"X32 d", kDec, "-2.5E-7", "-2.5E-7", ""},
      {"largest", kDec, "1.79769313486231e308", "1.79769313486231e308", ""},
      {"over", kDec, "1e309", "", "1e309"},
      {"under", kDec, "1e-320", "", "1e-320"},
      {"far under", kDec, "\"1e-99999\"", "", "1e-99999"},
      {"X33 nan", kDec, "\"NaN\"", "", "NaN"},
      {"X33 infinity", kDec, "\"Infinity\"", "", "Infinity"},
      {"X33 -inf", kDec, "\"-inf\"", "", "-inf"},
      {"X35 zero", kDec, "-0.0", "0", ""},
      {"X35 small", kDec, "-0.04", "-0.04", ""},
      {"X36", kDec, "1.5", "1.5", ""},
      {"X38 comma", kDec, "\"1,5\"", "", "1,5"},
      {"X38 both", kDec, "\"1.234,56\"", "", "1.234,56"},
      {"X38 blank", kDec, "\"1 000\"", "", "1 000"},
      {"X115", kDec, "\"-1234.56\"", "-1234.56", ""},
      {"plus", kDec, "\"+5\"", "", "+5"},
      {"no digit", kDec, "\"-\"", "", "-"},
      {"dot", kDec, "\"1.\"", "", "1."},
      {"hex", kDec, "\"0x10\"", "", "0x10"},
      {"zero with exponent", kDec, "0e9", "0", ""},
      {"17 digits of a double", kDec, "0.30000000000000004", "0.30000000000000004", ""},
      {"17 digits of no double", kDec, "0.30000000000000005", "", "0.30000000000000005"},
  };
  for (const NumberCase& c : cases) {
    const Book book = write_values(c.type, {c.json});
    EXPECT_EQ(book.number("A2"), c.number) << c.id;
    EXPECT_EQ(book.raw_text("A2"), c.text) << c.id;
    if (!c.number.empty()) {
      EXPECT_EQ(book.style("A2"), "0") << c.id;
      EXPECT_EQ(book.report.cells_guarded, 0) << c.id;
    }
  }
}

TEST(NumberCells, CountersTellWhatBecameText) {
  const Book integers = write_values(ColumnType::kInteger,
                                     {"1234567890123456", "-1234567890123456", "\"x\"", "\"\""});
  EXPECT_EQ(integers.report.integers_as_text, 2);
  EXPECT_EQ(integers.report.invalid_as_text, 1);
  EXPECT_EQ(integers.report.cells_guarded, 0);
  EXPECT_EQ(integers.style("A2"), "3");
  EXPECT_EQ(integers.style("A3"), "3");  // a number's minus is no formula
  EXPECT_EQ(integers.cell("A5"), "");
  const Book decimals = write_values(ColumnType::kDecimal, {"\"0.12345678901234567\"", "\"=1+1\""});
  EXPECT_EQ(decimals.report.decimals_as_text, 1);
  EXPECT_EQ(decimals.report.invalid_as_text, 1);
  EXPECT_EQ(decimals.report.cells_guarded, 1);  // text of any column is guarded
  EXPECT_EQ(decimals.style("A3"), "5");
}

TEST(BooleanCells, OneAndZero) {  // X63
  const Book book = write_values(
      ColumnType::kBoolean, {"true", "false", "\"true\"", "\"false\"", "1", "\"yes\"", "\"\""});
  EXPECT_EQ(book.cell("A2"), "<c r=\"A2\" t=\"b\"><v>1</v></c>");
  EXPECT_EQ(book.cell("A3"), "<c r=\"A3\" t=\"b\"><v>0</v></c>");
  EXPECT_EQ(book.cell("A4"), "<c r=\"A4\" t=\"b\"><v>1</v></c>");
  EXPECT_EQ(book.cell("A5"), "<c r=\"A5\" t=\"b\"><v>0</v></c>");
  EXPECT_EQ(book.raw_text("A6"), "1");
  EXPECT_EQ(book.raw_text("A7"), "yes");
  EXPECT_EQ(book.cell("A8"), "");
  EXPECT_EQ(book.report.invalid_as_text, 2);
}

TEST(DateCells, SerialsByTheCalendar) {
  constexpr auto kDate = ColumnType::kDate;
  constexpr auto kTime = ColumnType::kDateTime;
  const std::vector<NumberCase> cases = {
      {"X45", kDate, "\"1900-01-01\"", "", "1900-01-01"},
      {"last day of the doubtful time", kDate, "\"1900-02-28\"", "", "1900-02-28"},
      {"first serial", kDate, "\"1900-03-01\"", "61", ""},
      {"X47 1900", kDate, "\"1900-02-29\"", "", "1900-02-29"},
      {"X47 2023", kDate, "\"2023-02-29\"", "", "2023-02-29"},
      {"X47 2024", kDate, "\"2024-02-29\"", "45351", ""},
      {"X47 month", kDate, "\"2024-13-01\"", "", "2024-13-01"},
      {"day 0", kDate, "\"2024-01-00\"", "", "2024-01-00"},
      {"X48", kDate, "\"1899-12-31\"", "", "1899-12-31"},
      {"X48 old", kDate, "\"1582-10-15\"", "", "1582-10-15"},
      {"X50", kDate, "\"9999-12-31\"", "2958465", ""},
      {"year 10000", kDate, "\"10000-01-01\"", "", "10000-01-01"},
      {"X55", kDate, "\"2024-01-15\"", "45306", ""},
      {"date with time", kDate, "\"2024-01-15T23:59:59\"", "45306", ""},
      {"X52", kTime, "\"2018-09-26T23:59:59.999999\"", "43369.999988426", ""},
      {"X57", kTime, "\"1905-06-01T12:00:00\"", "1979.5", ""},
      {"X58", kTime, "\"2013-10-05T00:00:00\"", "41552", ""},
      {"X62 time only", kTime, "\"12:15:00\"", "", "12:15:00"},
      {"X62 zero date", kTime, "\"0000-00-00 00:00:00\"", "", "0000-00-00 00:00:00"},
      {"X62 date only", kTime, "\"2024-01-15\"", "45306", ""},
      {"blank between", kTime, "\"2024-01-15 06:00:00\"", "45306.25", ""},
      {"no seconds", kTime, "\"2024-01-15T06:00\"", "45306.25", ""},
      {"offset", kTime, "\"2024-01-15T06:00:00+08:00\"", "45305.916666667", ""},
      {"Z", kTime, "\"2024-01-15T06:00:00Z\"", "45306.25", ""},
      {"offset without colon", kTime, "\"2024-01-15T06:00:00.5-0600\"", "45306.5", ""},
      {"offset hours only", kTime, "\"2024-01-15T06:00:00+06\"", "45306", ""},
      {"offset too far", kTime, "\"2024-01-15T06:00:00+19:00\"", "", "2024-01-15T06:00:00+19:00"},
      {"offset over the end", kTime, "\"9999-12-31T23:59:59-01:00\"", "",
       "9999-12-31T23:59:59-01:00"},
      {"hour 24", kTime, "\"2024-01-15T24:00:00\"", "", "2024-01-15T24:00:00"},
      {"leap second", kTime, "\"2024-01-15T23:59:60\"", "", "2024-01-15T23:59:60"},
      {"trailing", kTime, "\"2024-01-15T06:00:00Zx\"", "", "2024-01-15T06:00:00Zx"},
      {"dot without digit", kTime, "\"2024-01-15T06:00:00.\"", "", "2024-01-15T06:00:00."},
      {"X43", kDate, "\"soon\"", "", "soon"},
      {"epoch number", kDate, "1705276800", "", "1705276800"},
      {"truth", kDate, "true", "", "true"},
  };
  for (const NumberCase& c : cases) {
    const Book book = write_values(c.type, {c.json});
    EXPECT_EQ(book.number("A2"), c.number) << c.id;
    EXPECT_EQ(book.raw_text("A2"), c.text) << c.id;
    EXPECT_EQ(book.report.invalid_as_text, c.text.empty() ? 0 : 1) << c.id;
    if (!c.number.empty()) {
      EXPECT_EQ(book.style("A2"), c.type == kDate ? "1" : "2") << c.id;
    }
    EXPECT_EQ(book.sheet().find("t=\"d\""), std::string::npos);  // X61
  }
}

TEST(DateCells, OffsetsMoveToTheConfiguredZone) {
  WriterOptions options;
  // Eight hours east until a moment in 2024, then nine: the moment, not the local time, decides.
  options.zone_offset_seconds = [](std::int64_t utc) -> std::int64_t {
    return utc < 1'705'300'000 ? 28'800 : 32'400;
  };
  const Book book = write_values(
      ColumnType::kDateTime,
      {"\"2024-01-14T16:00:00.000Z\"", "\"2024-01-15T10:00:00Z\"", "\"2024-01-15T10:00:00\""},
      options);
  EXPECT_EQ(book.number("A2"), "45306");
  EXPECT_EQ(book.number("A3"), "45306.791666667");
  EXPECT_EQ(book.number("A4"), "45306.416666667");
}

TEST(DateCells, EverySecondOfADayComesBack) {  // X54
  std::vector<std::string> values;
  for (int s = 0; s < 86'400; ++s) {
    char text[40];
    std::snprintf(text, sizeof text, "\"2020-07-04T%02d:%02d:%02d\"", s / 3600, s / 60 % 60,
                  s % 60);
    values.emplace_back(text);
  }
  const Book book = write_values(ColumnType::kDateTime, values);
  const std::string xml = book.sheet();
  std::size_t at = xml.find("<row r=\"2\"");
  for (int s = 0; s < 86'400; ++s) {
    at = xml.find("<v>", at) + 3;
    const double serial = std::stod(xml.substr(at, 32));
    ASSERT_EQ(std::lround((serial - 44'016) * 86'400), s);
    ASSERT_LT(std::abs((serial - 44'016) * 86'400 - s), 0.0001);
  }
}

}  // namespace
}  // namespace waybill::xlsx
