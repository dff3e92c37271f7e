#include "xlsx/inspect.h"

#include <string>

#include <gtest/gtest.h>

#include "xlsx/test_package.h"
#include "xlsx/test_zip.h"

namespace waybill::xlsx {
namespace {

using testing::BookParts;
using testing::sheet_of;
using testing::ZipMaker;

Inspection inspect(std::string_view package) {
  auto inspection = inspect_workbook(package.size(), testing::reading(package));
  EXPECT_TRUE(inspection.ok());
  return inspection.ok() ? std::move(*inspection) : Inspection();
}

// Findings, one a line.
std::string findings(std::string_view package) {
  std::string out;
  for (const std::string& finding : inspect(package).findings) out += finding + "\n";
  return out;
}

// A workbook without a fault.
BookParts right() {
  constexpr std::string_view kType = "application/vnd.openxmlformats-officedocument.spreadsheetml.";
  const auto type = [&](std::string_view part, std::string_view kind) {
    return "<Override PartName=\"/xl/" + std::string(part) + "\" ContentType=\"" +
           std::string(kType) + std::string(kind) + "+xml\"/>";
  };
  BookParts parts;
  parts.types = "<Types><Default Extension=\"rels\" ContentType=\"application/rels+xml\"/>" +
                type("workbook.xml", "sheet.main") + type("worksheets/sheet1.xml", "worksheet") +
                type("sharedStrings.xml", "sharedStrings") + type("styles.xml", "styles") +
                "</Types>";
  parts.sheet = sheet_of("<row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c></row>");
  parts.strings = "<sst><si><t>a</t></si></sst>";
  parts.styles = "<styleSheet><cellXfs><xf/></cellXfs></styleSheet>";
  return parts;
}

// The findings of a workbook whose sheet is this.
std::string in_sheet(std::string_view xml) {
  BookParts parts = right();
  parts.sheet = xml;
  return findings(parts.zip().finish());
}
constexpr std::string_view kSheet = "part xl/worksheets/sheet1.xml: ";
std::string of_sheet(std::string_view finding) {
  return std::string(kSheet) + std::string(finding) + "\n";
}

TEST(Inspect, FindsNothingWrongWithOurOwnFiles) {
  const testing::Book book = testing::write_book(
      {{"a", "A", ColumnType::kString, 0}, {"b", "B", ColumnType::kDateTime, 0}},
      {R"([{"a":"=1","b":"2024-01-19T13:14:15"},{"a":"x\ny"},{"b":"1999-12-31"}])"});
  const Inspection inspection = inspect(book.package);
  EXPECT_EQ(inspection.findings, std::vector<std::string>());
  ASSERT_EQ(inspection.sheets.size(), 1u);
  EXPECT_EQ(inspection.sheets[0].name, "Sheet1");
  EXPECT_EQ(inspection.sheets[0].rows, 4);
  EXPECT_EQ(inspection.sheets[0].cells, 6);
  EXPECT_EQ(findings(right().zip().finish()), "");
}

TEST(Inspect, OtherFilesHaveOneFinding) {
  EXPECT_EQ(findings("a,b\n"), "the file is plain text, such as CSV, not an XLSX workbook\n");
  EXPECT_EQ(findings(""), "the file is empty, not an XLSX workbook\n");
  EXPECT_TRUE(inspect("x").sheets.empty());
}

TEST(Inspect, PassesOnTheErrorOfTheSource) {
  const auto failed =
      inspect_workbook(100, [](std::uint64_t, std::span<char>) -> base::Result<std::size_t> {
        return base::unavailable("gone");
      });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "gone");
}

TEST(Inspect, OrderOfElements) {
  EXPECT_EQ(in_sheet("<worksheet><sheetData/><cols/></worksheet>"),
            of_sheet("<cols> must come before <sheetData>"));
  EXPECT_EQ(in_sheet("<worksheet><cols/><cols/><sheetData/></worksheet>"),
            of_sheet("<cols> occurs twice"));
  EXPECT_EQ(in_sheet("<worksheet><nonsense/><sheetData/></worksheet>"),
            of_sheet("<nonsense> is unknown to the schema"));
  EXPECT_EQ(in_sheet("<worksheet xmlns:x=\"e\"><sheetData/><x:ext/><conditionalFormatting/>"
                     "<conditionalFormatting/></worksheet>"),
            "");
  EXPECT_EQ(in_sheet(sheet_of("<row><c><v>1</v><f>A1</f></c></row><x/>")),
            of_sheet("a cell without reference: <f> must come before <v>") +
                of_sheet("<sheetData> holds <x>, not only rows"));
  BookParts parts = right();
  parts.styles = "<styleSheet><cellXfs><xf/></cellXfs><numFmts/></styleSheet>";
  EXPECT_EQ(findings(parts.zip().finish()),
            "part xl/styles.xml: <numFmts> must come before <cellXfs>\n");
}

TEST(Inspect, Cells) {
  EXPECT_EQ(in_sheet(sheet_of("<row><c r=\"A1\" s=\"1\"><v>1</v></c><c r=\"B1\" s=\"x\"/></row>")),
            of_sheet("cell A1 has the style 1, but there are only 1") +
                of_sheet("cell B1 has the style x, but there are only 1"));
  EXPECT_EQ(in_sheet(sheet_of("<row><c r=\"A1\" t=\"q\"><v>1</v></c></row>")),
            of_sheet("cell A1 has the unknown type \"q\"") +
                "sheet Data, cell A1: its type is unknown\n");
  EXPECT_EQ(in_sheet(sheet_of("<row><c t=\"s\"><v>1</v></c><c><v>x</v></c></row>")),
            "sheet Data, cell A1: it refers to a shared string that does not exist\n"
            "sheet Data, cell B1: its value is not a number\n");
  EXPECT_EQ(
      in_sheet(sheet_of("<row><c t=\"str\"><v>" + std::string(32'768, 'x') +
                        "</v></c><c t=\"str\"><v>" + std::string(32'767, 'x') + "</v></c></row>")),
      "sheet Data, cell A1: its text is longer than 32767 characters\n");
  EXPECT_EQ(in_sheet(sheet_of("<row r=\"2\"/><row r=\"1\"/>")),
            of_sheet("row 1 comes after row 2"));
}

TEST(Inspect, Areas) {
  EXPECT_EQ(
      in_sheet("<worksheet><dimension ref=\"A1:XFE2\"/><sheetData/><autoFilter ref=\"B2:A1\"/>"
               "<mergeCells><mergeCell ref=\"A1:B2\"/><mergeCell ref=\"A0\"/></mergeCells>"
               "</worksheet>"),
      of_sheet("<dimension> names no area of the sheet: \"A1:XFE2\"") +
          of_sheet("<autoFilter> names no area of the sheet: \"B2:A1\"") +
          of_sheet("<mergeCell> names no area of the sheet: \"A0\""));
}

TEST(Inspect, SheetNames) {
  BookParts parts = right();
  parts.workbook =
      "<workbook xmlns:r=\"r\"><sheets><sheet name=\"a/b\" sheetId=\"1\" r:id=\"s1\"/><sheet "
      "name=\"A/B\" sheetId=\"1\" r:id=\"s1\"/></sheets></workbook>";
  EXPECT_EQ(findings(parts.zip().finish()),
            "part xl/workbook.xml: the sheet name \"a/b\" is not allowed\n"
            "part xl/workbook.xml: the sheet name \"A/B\" is not allowed\n"
            "part xl/workbook.xml: the sheet name \"A/B\" occurs twice\n"
            "part xl/workbook.xml: the sheet \"A/B\" has no sheetId of its own\n");
}

TEST(Inspect, ContentTypesAndRelationships) {
  ZipMaker stray = right().zip();
  stray.add("xl/stray.bin", "x");
  EXPECT_EQ(findings(stray.finish()), "part xl/stray.bin: it has no content type\n");
  BookParts parts = right();
  parts.types = testing::replace_all(parts.types, "worksheet+xml", "other+xml");
  EXPECT_EQ(findings(parts.zip().finish()),
            of_sheet("its content type is not that of a worksheet"));
  parts = right();
  parts.types = testing::replace_all(parts.types, "sheet.main+xml", "other+xml");
  EXPECT_EQ(findings(parts.zip().finish()),
            "part xl/workbook.xml: its content type is not that of a workbook\n");
  parts = right();
  parts.types = "";
  EXPECT_EQ(findings(parts.zip().finish()), "part [Content_Types].xml is missing\n");
  parts = right();
  parts.strings = "";
  parts.sheet = sheet_of("");
  EXPECT_EQ(findings(parts.zip().finish()),
            "part xl/sharedstrings.xml has a content type, but does not exist\n"
            "part xl/workbook.xml refers to the part xl/sharedStrings.xml, which does not exist\n");
  parts = right();
  parts.workbook_rels = testing::replace_all(parts.workbook_rels, "Id=\"s2\"", "Id=\"s1\"");
  EXPECT_EQ(findings(parts.zip().finish()),
            "part xl/workbook.xml has two relationships with the id s1\n");
}

TEST(Inspect, DamageIsSaidOnce) {
  ZipMaker zip = right().zip();
  zip.part("xl/sharedStrings.xml").local.crc = ++zip.part("xl/sharedStrings.xml").central.crc;
  EXPECT_EQ(findings(zip.finish()), "part xl/sharedStrings.xml: size or checksum differ\n");
  ZipMaker binary = right().zip();
  binary.add("docProps/thumbnail.jpeg", "x").central.crc = 1;
  binary.part("docProps/thumbnail.jpeg").local.crc = 1;
  EXPECT_EQ(findings(binary.finish()),
            "part docProps/thumbnail.jpeg: size or checksum differ\n"
            "part docProps/thumbnail.jpeg: it has no content type\n");
}

TEST(Inspect, CountsWhatItLeavesOut) {
  std::string cells;
  for (int i = 0; i < 150; ++i) cells += "<c><v>x</v></c>";
  BookParts parts = right();
  parts.sheet = sheet_of("<row>" + cells + "</row>");
  const Inspection inspection = inspect(parts.zip().finish());
  EXPECT_EQ(inspection.findings.size(), kMaxFindings);
  EXPECT_EQ(inspection.left_out, 50);
}

}  // namespace
}  // namespace waybill::xlsx
