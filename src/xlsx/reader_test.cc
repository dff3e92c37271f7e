// Cells, rows, sheets: what the reader makes of them. Numbers such as X155 name public bug reports
// of other readers; docs/xlsx.md has the rules.

#include "xlsx/reader.h"

#include <string>

#include <gtest/gtest.h>

#include "xlsx/test_zip.h"

namespace waybill::xlsx {
namespace {

using testing::BookParts;
using testing::outcome;
using testing::sheet_of;
using testing::styles_of;

std::string rows(std::string_view xml) {
  BookParts parts;
  parts.sheet = sheet_of(xml);
  return outcome(parts);
}
// One cell A1 of a type.
std::string cell(std::string_view type, std::string_view inside) {
  std::string out = rows("<row r=\"1\"><c r=\"A1\" t=\"" + std::string(type) + "\">" +
                         std::string(inside) + "</c></row>");
  return out.starts_with("A1=") ? out.substr(3) : out;
}
std::string value(std::string_view type, std::string_view v) {
  return cell(type, "<v>" + std::string(v) + "</v>");
}
std::string shared(std::string_view items, std::string_view index = "0") {
  BookParts parts;
  parts.sheet = sheet_of("<row><c t=\"s\"><v>" + std::string(index) + "</v></c></row>");
  parts.strings = "<sst>" + std::string(items) + "</sst>";
  std::string out = outcome(parts);
  return out.starts_with("A1=") ? out.substr(3) : out;
}
// A number in A1 with a format code.
std::string formatted(std::string_view number, const std::string& code, bool date_1904 = false) {
  BookParts parts;
  parts.sheet = sheet_of("<row><c s=\"1\"><v>" + std::string(number) + "</v></c></row>");
  parts.styles = styles_of({"General", code});
  if (date_1904) {
    parts.workbook.insert(parts.workbook.find("<sheets>"), "<workbookPr date1904=\"true\"/>");
  }
  std::string out = outcome(parts);
  return out.starts_with("A1=") ? out.substr(3) : out;
}
std::string fault(std::string_view why) { return "{\"error\":\"" + std::string(why) + "\"}"; }

constexpr std::string_view kNoDate = "the number is no date: outside the calendar of the workbook";

TEST(ReaderCells, Texts) {
  EXPECT_EQ(shared("<si><r><t>Hello</t></r><r><t xml:space=\"preserve\"> world</t></r></si>"),
            "\"Hello world\"");                                            // X155
  EXPECT_EQ(shared("<si><t/></si>"), "\"\"");                              // X155
  EXPECT_EQ(shared("<si><t>a &amp; b --&gt;</t></si>"), "\"a & b -->\"");  // X155
  EXPECT_EQ(shared("<si><t>東京</t><rPh sb=\"0\" eb=\"2\"><t>トウキョウ</t></rPh>"
                   "<phoneticPr fontId=\"1\"/></si>"),
            "\"東京\"");  // X156
  EXPECT_EQ(shared("<si><t> a </t></si>"), "\" a \"");
  EXPECT_EQ(shared("<si><t><![CDATA[<b>]]></t></si>"), "\"<b>\"");
  EXPECT_EQ(cell("inlineStr", "<is><t>x</t></is>"), "\"x\"");
  EXPECT_EQ(cell("inlineStr", "<is><r><rPr><b/></rPr><t>x</t></r><r><t>y</t></r></is>"), "\"xy\"");
  EXPECT_EQ(cell("inlineStr", "<is/>"), "\"\"");
  EXPECT_EQ(cell("inlineStr", "<v>x</v>"), "\"x\"");
  EXPECT_EQ(cell("inlineStr", ""), "");
}

TEST(ReaderCells, SharedStringNumbers) {  // X164
  constexpr std::string_view kNone = "it refers to a shared string that does not exist";
  const std::string items = "<si><t>a</t></si><si><t>b</t></si>";
  EXPECT_EQ(shared(items, " 1 "), "\"b\"");
  EXPECT_EQ(shared(items, ""), "");
  for (const char* index :
       {"-1", "2", "99999999", "x", "4294967296", "1.0", "99999999999999999999"})
    EXPECT_EQ(shared(items, index), fault(kNone)) << index;
}

TEST(ReaderCells, EscapesAndLineEnds) {  // X162
  EXPECT_EQ(shared("<si><t>a_x000D_\nb</t></si>"), "\"a\\nb\"");
  EXPECT_EQ(shared("<si><t>_x005F_x000D_</t></si>"), "\"_x000D_\"");
  EXPECT_EQ(shared("<si><t>_x0041_</t></si>"), "\"A\"");
  EXPECT_EQ(shared("<si><t>_xD83D__xDE0A_</t></si>"), "\"😊\"");
  EXPECT_EQ(shared("<si><t>_xD83D_ _xDE0A_</t></si>"), "\"\xEF\xBF\xBD \xEF\xBF\xBD\"");
  EXPECT_EQ(shared("<si><t>\r\n</t></si>"), "\"\\n\"");
  EXPECT_EQ(shared("<si><t>a&#13;b&#13;\nc</t></si>"), "\"a\\nb\\nc\"");
  EXPECT_EQ(shared("<si><t>_xd_ _x00G0_ _X000D_ _x0041</t></si>"),
            "\"_xd_ _x00G0_ _X000D_ _x0041\"");
  EXPECT_EQ(shared("<si><t>_x0000_</t></si>"), "\"\\u0000\"");
  // Two runs are two texts: no escape reaches from one into the other.
  EXPECT_EQ(shared("<si><r><t>_x00</t></r><r><t>41_</t></r></si>"), "\"_x0041_\"");
  EXPECT_EQ(value("str", "_x0041_"), "\"A\"");
  EXPECT_EQ(cell("inlineStr", "<is><t>_x0041_</t></is>"), "\"A\"");
}

TEST(ReaderCells, Numbers) {
  EXPECT_EQ(value("n", "351030001351351000"), "351030001351351000");  // X176
  EXPECT_EQ(value("n", "9007199254740993"), "9007199254740993");      // X176
  EXPECT_EQ(value("n", "-3.0335E-6"), "-3.0335E-6");                  // X180
  EXPECT_EQ(value("n", " 7\n"), "7");
  EXPECT_EQ(value("n", "+5"), "5");
  EXPECT_EQ(value("n", ".5"), "0.5");
  EXPECT_EQ(value("n", "007"), "7");
  EXPECT_EQ(value("n", "1e-400"), "1e-400");
  EXPECT_EQ(value("n", ""), "");
  for (const char* bad :
       {"1,5", "NaN", "INF", "-inf", "x", "1 2", "1e400", "0x10", "--1", "+-1", "1e"})
    EXPECT_EQ(value("n", bad), fault("its value is not a number")) << bad;
}

TEST(ReaderCells, Booleans) {  // X183
  EXPECT_EQ(value("b", "1"), "true");
  EXPECT_EQ(value("b", "true"), "true");
  EXPECT_EQ(value("b", "\n 1 \n"), "true");
  EXPECT_EQ(value("b", "0"), "false");
  EXPECT_EQ(value("b", "false"), "false");
  EXPECT_EQ(value("b", "2"), fault("its value is neither true nor false"));
}

TEST(ReaderCells, ErrorsAndUnknownTypes) {
  for (const char* error : {"#N/A", "#DIV/0!", "#REF!"})
    EXPECT_EQ(value("e", error), fault(error));  // X185
  EXPECT_EQ(value("z", "1"), fault("its type is unknown"));
}

TEST(ReaderCells, Formulas) {  // X187
  EXPECT_EQ(cell("str", "<f>\"\"</f><v/>"), "\"\"");
  EXPECT_EQ(cell("str", "<f>\"\"</f><v></v>"), "\"\"");
  EXPECT_EQ(cell("n", "<f>A2</f><v>7</v>"), "7");
  EXPECT_EQ(cell("n", "<f>A2</f>"), "");
  EXPECT_EQ(cell("str", "<f>A2</f>"), "");
}

TEST(ReaderCells, Dates) {
  EXPECT_EQ(formatted("45310.5", "yyyy-mm-dd hh:mm:ss"), "\"2024-01-19T12:00:00\"");
  EXPECT_EQ(formatted("45310", "yyyy-mm-dd hh:mm:ss"), "\"2024-01-19T00:00:00\"");
  EXPECT_EQ(formatted("45310", "d.m.yy"), "\"2024-01-19\"");
  EXPECT_EQ(formatted("45310.25", "d.m.yy"), "\"2024-01-19T06:00:00\"");
  EXPECT_EQ(formatted("0.75", "h:mm"), "\"18:00:00\"");
  EXPECT_EQ(formatted("0.75", "yyyy-mm-dd hh:mm"), "\"18:00:00\"");
  EXPECT_EQ(formatted("1.520833333333333", "[h]:mm"), "\"PT36H30M\"");
  EXPECT_EQ(formatted("-0.5", "[h]:mm"), "\"-PT12H\"");
  EXPECT_EQ(formatted("0", "[h]:mm"), "\"PT0S\"");
  EXPECT_EQ(formatted("45310.00001", "yyyy-mm-dd hh:mm:ss.000"), "\"2024-01-19T00:00:00.864\"");
  EXPECT_EQ(formatted("45309.99999999999", "yyyy-mm-dd"), "\"2024-01-19\"");  // rounds up
  // X166
  EXPECT_EQ(formatted("0", "yyyy-mm-dd", true), "\"1904-01-01\"");
  EXPECT_EQ(formatted("44000", "yyyy-mm-dd", true), "\"2024-06-19\"");
  EXPECT_EQ(formatted("0.5", "h:mm", true), "\"12:00:00\"");
  EXPECT_EQ(formatted("2957003", "yyyy-mm-dd", true), "\"9999-12-31\"");
  EXPECT_EQ(formatted("2957004", "yyyy-mm-dd", true), fault(kNoDate));
  // X173
  EXPECT_EQ(formatted("1", "yyyy-mm-dd"), "\"1900-01-01\"");
  EXPECT_EQ(formatted("59", "yyyy-mm-dd"), "\"1900-02-28\"");
  EXPECT_EQ(formatted("60", "yyyy-mm-dd"), fault(kNoDate));
  EXPECT_EQ(formatted("61", "yyyy-mm-dd"), "\"1900-03-01\"");
  EXPECT_EQ(formatted("0", "yyyy-mm-dd"), fault(kNoDate));
  // X175
  EXPECT_EQ(formatted("2958465", "yyyy-mm-dd"), "\"9999-12-31\"");
  for (const char* number : {"-1", "2958466", "1E10", "1E308", "2958465.9999999999"})
    EXPECT_EQ(formatted(number, "yyyy-mm-dd"), fault(kNoDate)) << number;
  EXPECT_EQ(formatted("1E308", "[h]"),
            fault("the number is no span of time: over 1,000,000,000 days"));
}

TEST(ReaderCells, IsoDates) {  // X168
  EXPECT_EQ(value("d", "2017-03-16"), "\"2017-03-16\"");
  EXPECT_EQ(value("d", "2017-03-16T12:30:05"), "\"2017-03-16T12:30:05\"");
  EXPECT_EQ(value("d", "T12:30:05"), "\"12:30:05\"");
  EXPECT_EQ(value("d", "12:30"), "\"12:30:00\"");
  for (const char* bad : {"2017-13-01", "x", "16.3.2017", "1850-01-01"})
    EXPECT_EQ(value("d", bad),
              fault("its value is no ISO 8601 date from 1900-03-01 to 9999-12-31"));
}

TEST(ReaderCells, FormatsThatAreNoDates) {
  EXPECT_EQ(formatted("5", "0;[Red]0"), "5");  // X169
  EXPECT_EQ(formatted("5", "#,##0_);[Red](#,##0)"), "5");
  EXPECT_EQ(formatted("5", "[Magenta]0.00"), "5");
  EXPECT_EQ(formatted("0.68", "0%"), "0.68");  // X181
  EXPECT_EQ(formatted("1234.5", "#,##0.00 &quot;days&quot;"), "1234.5");
  EXPECT_EQ(formatted("123", "00000"), "123");  // X178
}

TEST(ReaderCells, TheFilesOwnFormatWins) {  // X171
  BookParts parts;
  parts.sheet = sheet_of("<row><c s=\"0\"><v>42909</v></c><c s=\"1\"><v>81227827687</v></c></row>");
  parts.styles =
      "<styleSheet><numFmts><numFmt numFmtId=\"59\" formatCode=\"yyyy-mm-dd\"/><numFmt "
      "numFmtId=\"50\" formatCode=\"000000000000\"/></numFmts><cellXfs><xf numFmtId=\"59\"/><xf "
      "numFmtId=\"50\"/></cellXfs></styleSheet>";
  EXPECT_EQ(outcome(parts), "A1=\"2017-06-23\" B1=81227827687");
  // Formats behind the cells that use them.
  parts.styles =
      "<styleSheet><cellXfs><xf numFmtId=\"59\"/><xf/></cellXfs><numFmts><numFmt numFmtId=\"59\" "
      "formatCode=\"yyyy-mm-dd\"/></numFmts></styleSheet>";
  EXPECT_EQ(outcome(parts), "A1=\"2017-06-23\" B1=81227827687");
}

TEST(ReaderRows, CellsWithoutReference) {  // X158, X208
  EXPECT_EQ(rows("<row><c><v>1</v></c><c r=\"C1\"><v>3</v></c><c><v>4</v></c></row>"
                 "<row><c/><c><v>5</v></c></row><row r=\"9\"><c><v>6</v></c></row>"
                 "<row><c><v>7</v></c></row>"),
            "A1=1 C1=3 D1=4; B2=5; A9=6; A10=7");
}

TEST(ReaderRows, OrderInsideARow) {  // X189
  EXPECT_EQ(rows("<row r=\"1\"><c r=\"C1\"><v>3</v></c><c r=\"B1\"><v>2</v></c><c r=\"A1\"><v>1</v>"
                 "</c></row>"),
            "A1=1 B1=2 C1=3");
  const std::string twice = "error: part xl/worksheets/sheet1.xml: cell A1: it occurs twice";
  EXPECT_EQ(rows("<row r=\"1\"><c r=\"A1\"><v>1</v></c><c r=\"A1\"><v>2</v></c></row>"), twice);
  EXPECT_EQ(rows("<row r=\"1\"><c r=\"A1\"><v>1</v></c><c r=\"B1\"><v>1</v></c><c r=\"A1\"><v>2</v>"
                 "</c></row>"),
            twice);
}

TEST(ReaderRows, OrderOfRows) {
  EXPECT_EQ(rows("<row r=\"2\"><c><v>1</v></c></row><row r=\"2\"/>"),
            "error: part xl/worksheets/sheet1.xml: row 2 comes after row 2");
  EXPECT_EQ(rows("<row r=\"1\"><c r=\"A2\"><v>1</v></c></row>"),
            "error: part xl/worksheets/sheet1.xml: cell A2 in row 1 belongs to another row");
}

TEST(ReaderRows, FormattedButEmptyOnesDoNotCount) {  // X196
  std::string xml;
  for (int i = 1; i <= 10; ++i) xml += "<row><c><v>" + std::to_string(i) + "</v></c></row>";
  const std::string full = rows(xml);
  for (int i = 0; i < 2'000; ++i)
    xml += "<row s=\"1\" customFormat=\"1\"><c s=\"1\"/><c s=\"2\"/></row>";
  EXPECT_EQ(rows(xml), full);
  EXPECT_EQ(rows("<row r=\"5\"><c s=\"1\"/></row><row r=\"8\"><c><v>1</v></c></row>"), "A8=1");
}

TEST(ReaderRows, MergedAreasHaveTheirValueInTheFirstCell) {  // X200
  BookParts parts;
  parts.sheet =
      "<worksheet><sheetData><row><c t=\"inlineStr\"><is><t>X</t></is></c></row>"
      "<row r=\"2\"><c r=\"A2\"/><c r=\"B2\"><v>1</v></c></row></sheetData>"
      "<mergeCells><mergeCell ref=\"A1:A2\"/></mergeCells></worksheet>";
  EXPECT_EQ(outcome(parts), "A1=\"X\"; B2=1");
}

TEST(ReaderRows, TheDimensionIsNotBelieved) {
  for (const char* dimension : {"A1:XFD1048576", "A1", "A1:A1", "nonsense"}) {  // X192, X194
    BookParts parts;
    parts.sheet =
        "<worksheet><dimension ref=\"" + std::string(dimension) +
        "\"/><sheetData><row><c><v>1</v></c><c><v>2</v></c></row><row><c><v>3</v></c></row>"
        "</sheetData></worksheet>";
    EXPECT_EQ(outcome(parts), "A1=1 B1=2; A2=3");
  }
}

TEST(ReaderRows, CellsOutsideTheGrid) {  // X191
  for (const char* ref :
       {"XFE1", "A1048577", "A16777217", "ZZZZZZ9", "A0", "1A", "A", "1", "", "A01"}) {
    const std::string out =
        rows("<row r=\"1\"><c r=\"" + std::string(ref) + "\"><v>1</v></c></row>");
    EXPECT_EQ(out, "error: part xl/worksheets/sheet1.xml: cell " + std::string(ref) +
                       " in row 1 is outside the sheet");
  }
  EXPECT_EQ(rows("<row r=\"1\"><c r=\"XFD1\"><v>1</v></c><c><v>2</v></c></row>"),
            "error: part xl/worksheets/sheet1.xml: row 1 has cells outside the sheet");
  for (const char* row : {"0", "-1", "1048577", "x", "", "99999999999999999999"})
    EXPECT_EQ(
        rows("<row r=\"" + std::string(row) + "\"/>"),
        "error: part xl/worksheets/sheet1.xml: row " + std::string(row) + " is outside the sheet");
  EXPECT_EQ(rows("<row r=\"1048576\"><c r=\"xfd1048576\"><v>1</v></c></row>"), "XFD1048576=1");
  EXPECT_EQ(rows("<row r=\"1048576\"/><row/>"),
            "error: part xl/worksheets/sheet1.xml: row 1048577 is outside the sheet");
}

TEST(ReaderRows, WhatIsNotACellIsSkipped) {
  EXPECT_EQ(
      rows("<x><row><c><v>9</v></c></row></x><row><y><c><v>9</v></c></y><c><z/><v>1<w>2</w></v>"
           "<extLst><ext><v>3</v></ext></extLst></c></row>"),
      "A1=1");
}

TEST(ReaderSheets, PrefixesAndStrictNamespaces) {  // X144, X145
  BookParts parts;
  parts.rels =
      "<ns0:Relationships xmlns:ns0=\"n\"><ns0:Relationship Id=\"r1\" "
      "Type=\"http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument\" "
      "Target=\"/xl/workbook.xml\"/></ns0:Relationships>";
  parts.workbook =
      "<x:workbook xmlns:x=\"http://purl.oclc.org/ooxml/spreadsheetml/main\" "
      "xmlns:rel=\"r\"><x:sheets><x:sheet name=\"D\" rel:id=\"s1\"/></x:sheets></x:workbook>";
  parts.sheet =
      "<x:worksheet xmlns:x=\"m\" xmlns:y=\"e\"><x:sheetData><x:row><x:c><x:v>1</x:v></x:c><y:c>"
      "<y:v>9</y:v></y:c></x:row></x:sheetData></x:worksheet>";
  EXPECT_EQ(outcome(parts), "A1=1");
}

TEST(ReaderSheets, ChoosesTheFirstVisibleOne) {  // X202, X204
  BookParts parts;
  parts.workbook =
      "<workbook xmlns:r=\"r\"><sheets><sheet name=\"Chart\" r:id=\"c\"/><sheet name=\"Meta\" "
      "state=\"veryHidden\" r:id=\"s9\"/><sheet name=\"Data\" r:id=\"s1\"/><sheet name=\"Gone\" "
      "r:id=\"\"/></sheets></workbook>";
  parts.workbook_rels =
      "<Relationships><Relationship Id=\"c\" Type=\"t/chartsheet\" Target=\"chart.xml\"/>"
      "<Relationship Id=\"s9\" Type=\"t/worksheet\" Target=\"worksheets/missing.xml\"/>"
      "<Relationship Id=\"s1\" Type=\"t/worksheet\" Target=\"../xl/worksheets/sheet1.xml\"/>"
      "</Relationships>";
  parts.sheet = sheet_of("<row><c><v>1</v></c></row>");
  const std::string package = parts.zip().finish();
  const auto reader = Reader::open(package.size(), testing::reading(package));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  ASSERT_EQ((*reader)->sheets().size(), 3u);
  EXPECT_EQ((*reader)->sheets()[0].name, "Meta");
  EXPECT_FALSE((*reader)->sheets()[0].visible);
  EXPECT_EQ((*reader)->default_sheet(), 1u);
  EXPECT_EQ(outcome(package), "A1=1");
  EXPECT_EQ(outcome(package, 0), "error: the sheet Meta is missing from the workbook");
  EXPECT_EQ(outcome(package, 2), "error: the sheet Gone is missing from the workbook");
}

// No styles, no shared strings, no dimension, and the target counted from the package's root.
TEST(ReaderSheets, TheLeastThatAWorkbookNeeds) {  // X142, X146, X195
  BookParts parts;
  parts.workbook_rels =
      "<Relationships><Relationship Id=\"s1\" Type=\"http://x/worksheet\" "
      "Target=\"/xl/worksheets/sheet1.xml\"/></Relationships>";
  parts.sheet = sheet_of("<row><c><v>1</v></c></row>");
  EXPECT_EQ(outcome(parts), "A1=1");
}

TEST(ReaderSheets, EmptyOnes) {  // X207
  EXPECT_EQ(rows(""), "");
  BookParts parts;
  parts.sheet = "<worksheet/>";
  EXPECT_EQ(outcome(parts), "");
}

TEST(ReaderSheets, CanBeReadOneAfterTheOtherAndAgain) {
  BookParts parts;
  parts.sheet = sheet_of("<row><c t=\"s\"><v>0</v></c></row>");
  parts.strings = "<sst><si><t>a</t></si></sst>";
  const std::string package = parts.zip().finish();
  const auto reader = Reader::open(package.size(), testing::reading(package));
  ASSERT_TRUE(reader.ok());
  for (int i = 0; i < 3; ++i) {
    const auto sheet = (*reader)->open_sheet(0);
    ASSERT_TRUE(sheet.ok());
    const auto row = (*sheet)->next();
    ASSERT_TRUE(row.ok() && *row != nullptr);
    EXPECT_EQ((*row)->find(0)->text, "a");
    EXPECT_EQ((*row)->find(1), nullptr);
    const auto end = (*sheet)->next();
    EXPECT_TRUE(end.ok() && *end == nullptr);
    EXPECT_TRUE((*sheet)->next().ok());  // and stays there
  }
}

TEST(ReaderText, LongTextsInManyPieces) {  // X160
  std::string text;
  while (text.size() < 300'000) text += "大家好，才是真的好😀";
  std::string items;
  for (int i = 0; i < 3; ++i) items += "<si><t>" + text + "</t></si>";
  EXPECT_EQ(shared(items, "2"), "\"" + text + "\"");
  EXPECT_EQ(cell("inlineStr", "<is><t>" + text + "</t></is>"), "\"" + text + "\"");
}

}  // namespace
}  // namespace waybill::xlsx
