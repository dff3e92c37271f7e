// Files that are no workbooks, are damaged, or mean harm: one clear sentence, bounded work.

#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "xlsx/reader.h"
#include "xlsx/test_zip.h"
#include "xlsx/xml_parser.h"

namespace waybill::xlsx {
namespace {

using testing::BookParts;
using testing::outcome;
using testing::reading;
using testing::sheet_of;
using testing::ZipMaker;

BookParts one_cell() {
  BookParts parts;
  parts.sheet = sheet_of("<row><c><v>1</v></c></row>");
  return parts;
}

base::Error refused(std::string_view package) {
  const auto reader = Reader::open(package.size(), reading(package));
  return reader.ok() ? base::internal("it was opened") : reader.error();
}

TEST(ReaderFileKinds, AreNamed) {  // X150
  ZipMaker plain;
  plain.add("readme.txt", "x");
  const auto archive = [](const char* part) {
    ZipMaker zip;
    zip.add(part, "x");
    return zip.finish();
  };
  BookParts word = one_cell();
  word.workbook = "<w:document xmlns:w=\"w\"/>";
  const std::pair<std::string, const char*> cases[] = {
      {"", "empty"},
      {" \r\n", "blank"},
      {"a,b\n1,2\n", "plain text, such as CSV"},
      {"\xEF\xBB\xBF"
       "a;b\n",
       "plain text, such as CSV"},
      {std::string("\xFF\xFE"
                   "a\0,\0",
                   6),
       "UTF-16 text, such as an exported CSV"},
      {"<!DOCTYPE html><html>", "an HTML page"},
      {"\n<TABLE><tr><td>1", "an HTML page"},
      {"<?xml version=\"1.0\"?><Workbook xmlns=\"urn:schemas-microsoft-com:office:spreadsheet\">",
       "an Excel 2003 XML workbook"},
      {"<?xml version=\"1.0\"?><x/>", "an XML document"},
      {"{\"code\":1}", "JSON or other text"},
      {"%PDF-1.7", "a PDF document"},
      {"{\\rtf1", "an RTF document"},
      {"\x1F\x8B\x08", "a gzip file"},
      {"\x89PNG\r\n", "an image"},
      {std::string("\x09\x08\x08\0\0\x05", 6), "an old Excel sheet (.xls)"},
      {std::string("\x09\x04\x06\0\0\0", 6), "an old Excel sheet (.xls)"},
      {std::string("\x09\x05\x06\0\0\0", 6), "of an unknown kind"},
      {plain.finish(), "a ZIP archive without a workbook"},
      {archive("word/document.xml"), "a Word document (.docx)"},
      {archive("ppt/presentation.xml"), "a PowerPoint presentation (.pptx)"},
      {archive("xl/workbook.bin"), "a binary Excel workbook (.xlsb)"},
      {archive("META-INF/manifest.xml"), "an OpenDocument file (.ods, .odt)"},
      {archive("META-INF/MANIFEST.MF"), "a Java archive"},
      {archive("Index/Document.iwa"), "an Apple iWork document; export it as .xlsx"},
      {word.zip().finish(), "a ZIP archive without a workbook"},
  };
  for (const auto& [package, kind] : cases) {
    const base::Error error = refused(package);
    EXPECT_EQ(error.message, "the file is " + std::string(kind) + ", not an XLSX workbook");
    EXPECT_EQ(error.code, "XLSX_NOT_A_WORKBOOK") << kind;
    EXPECT_EQ(error.category, base::ErrorCategory::kInvalid) << kind;
  }
}

// A compound file whose directory has these entries.
std::string compound(const std::vector<std::string>& names, bool second_sector) {
  std::string header = std::string("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1") + std::string(22, '\0');
  zip::put16(header, 9);
  header.resize(48);
  zip::put32(header, 1);  // first directory sector
  header.resize(76);
  zip::put32(header, 0);  // the allocation table is sector 0
  header.resize(512, '\xFF');
  std::string table;
  zip::put32(table, 0xFFFF'FFFD);
  zip::put32(table, second_sector ? 2 : 0xFFFF'FFFE);
  zip::put32(table, 0xFFFF'FFFE);
  table.resize(512, '\xFF');
  std::string directory(second_sector ? 512 : 0, '\0');
  for (const std::string& name : names) {
    std::string entry;
    for (const char c : name) entry += std::string(1, c) + '\0';
    entry.resize(64, '\0');
    zip::put16(entry, 2 * name.size() + 2);
    entry.resize(128, '\0');
    directory += entry;
  }
  directory.resize(second_sector ? 1'024 : 512, '\0');
  return header + table + directory;
}

TEST(ReaderFileKinds, CompoundFiles) {  // X148
  for (const bool second : {false, true}) {
    const base::Error error = refused(compound({"Root Entry", "EncryptedPackage"}, second));
    EXPECT_EQ(error.message, "the workbook is protected by a password; save it without one");
    EXPECT_EQ(error.code, "XLSX_ENCRYPTED");
  }
  EXPECT_EQ(refused(compound({"Root Entry", "Workbook"}, false)).message,
            "the file is an old Excel workbook (.xls), not an XLSX workbook");
  EXPECT_EQ(refused(compound({"WordDocument"}, true)).message,
            "the file is an old Word document (.doc), not an XLSX workbook");
  EXPECT_EQ(refused(compound({"Other"}, true)).message,
            "the file is an OLE compound file, not an XLSX workbook");
  // A chain without end, and sectors that do not exist.
  std::string endless = compound({"x"}, false);
  endless.replace(512 + 4, 4, std::string("\x01\0\0\0", 4));
  EXPECT_EQ(refused(endless).code, "XLSX_NOT_A_WORKBOOK");
  for (std::size_t size = 8; size < endless.size(); size += 7)
    EXPECT_EQ(refused(std::string_view(endless).substr(0, size)).code, "XLSX_NOT_A_WORKBOOK");
}

TEST(ReaderFileKinds, EncryptedParts) {
  ZipMaker zip = one_cell().zip();
  zip.part("xl/workbook.xml").local.flags = zip.part("xl/workbook.xml").central.flags = 1;
  EXPECT_EQ(refused(zip.finish()).code, "XLSX_ENCRYPTED");
}

TEST(ReaderXml, RefusesEveryDoctype) {  // X133
  for (const char* doctype :
       {"<!DOCTYPE x>", "<!DOCTYPE x SYSTEM \"file:///etc/passwd\">",
        "<!DOCTYPE x [<!ENTITY a SYSTEM \"http://127.0.0.1:9/\">]>",
        "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>"}) {
    for (std::string BookParts::* part :
         {&BookParts::rels, &BookParts::workbook, &BookParts::workbook_rels, &BookParts::sheet,
          &BookParts::strings, &BookParts::styles}) {
      BookParts parts = one_cell();
      parts.strings = "<sst/>";
      parts.styles = "<styleSheet/>";
      parts.*part = doctype + parts.*part;
      EXPECT_NE(outcome(parts).find("a DOCTYPE is not allowed"), std::string::npos) << doctype;
    }
  }
}

TEST(ReaderXml, DecodesOnlyWhatTheParserKnows) {  // X135, X137
  const auto encoded = [](const std::string& sheet) {
    BookParts parts;
    parts.sheet = sheet;
    return outcome(parts);
  };
  const std::string body =
      "<worksheet><sheetData><row><c t=\"inlineStr\"><is><t>a\xE9</t></is></c></row></sheetData>"
      "</worksheet>";
  for (const char* encoding : {"UTF-7", "UTF-32", "windows-1252", "x"}) {
    const std::string out =
        encoded("<?xml version=\"1.0\" encoding=\"" + std::string(encoding) + "\"?>" + body);
    EXPECT_NE(out.find("unknown encoding"), std::string::npos) << out;
  }
  EXPECT_EQ(encoded("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>" + body), "A1=\"aé\"");
  EXPECT_NE(encoded(body).find("not well-formed"), std::string::npos);
  std::string wide = "\xFF\xFE";
  for (const char c : sheet_of("<row><c><v>1</v></c></row>")) wide += std::string(1, c) + '\0';
  EXPECT_EQ(encoded(wide), "A1=1");
  BookParts marked = one_cell();
  for (std::string* part : {&marked.rels, &marked.workbook, &marked.workbook_rels, &marked.sheet})
    *part = "\xEF\xBB\xBF" + *part;
  EXPECT_EQ(outcome(marked), "A1=1");
}

TEST(ReaderXml, BrokenXmlIsSaidWithItsPlace) {
  BookParts parts;
  parts.sheet = "<worksheet><sheetData><row><c><v>1</c></row></sheetData></worksheet>";
  EXPECT_EQ(outcome(parts),
            "error: part xl/worksheets/sheet1.xml: not well-formed XML: mismatched tag (line 1, "
            "column 37)");
  parts.sheet = "<worksheet><sheetData><row><c><v>1</v></c></row>";
  EXPECT_NE(outcome(parts).find("not well-formed"), std::string::npos);
  parts.sheet = "<chartsheet/>";
  EXPECT_EQ(outcome(parts), "error: part xl/worksheets/sheet1.xml: it is no worksheet");
  parts.sheet = "<worksheet><sheetData/><sheetData/></worksheet>";
  EXPECT_EQ(outcome(parts), "error: part xl/worksheets/sheet1.xml: it has two sets of rows");
}

TEST(ReaderXml, BoundsDepthTokensAndTexts) {
  BookParts parts;
  std::string deep;
  for (int i = 0; i < kMaxXmlDepth; ++i) deep += "<a>";
  parts.sheet = "<worksheet>" + deep;
  EXPECT_EQ(outcome(parts), "error: part xl/worksheets/sheet1.xml: elements are nested too deeply");
  const std::string long_text(8u << 20, 'x');
  for (const std::string& sheet :
       {"<worksheet a=\"" + long_text + "\"/>", "<worksheet><" + long_text + "/></worksheet>",
        "<worksheet><!--" + long_text + "--></worksheet>"}) {
    parts.sheet = sheet;
    EXPECT_EQ(outcome(parts),
              "error: part xl/worksheets/sheet1.xml: a tag or an attribute is too long");
  }
  parts.sheet = sheet_of("<row><c t=\"str\"><v>" + long_text + "</v></c></row>");
  EXPECT_EQ(outcome(parts), "error: a text of more than 1048576 bytes");
  parts.sheet = sheet_of("<row><c t=\"s\"><v>0</v></c></row>");
  parts.strings = "<sst><si><t>" + long_text + "</t></si></sst>";
  EXPECT_EQ(outcome(parts), "error: a text of more than 1048576 bytes");
}

TEST(ReaderLimits, ARowOfLongSharedStrings) {
  BookParts parts;
  std::string cells;
  for (int i = 0; i < 16'384; ++i) cells += "<c t=\"s\"><v>0</v></c>";
  parts.sheet = sheet_of("<row>" + cells + "</row>");
  parts.strings = "<sst><si><t>" + std::string(32'767, 'x') + "</t></si></sst>";
  const std::string package = parts.zip().finish();
  const auto read = testing::read_rows(package);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().category, base::ErrorCategory::kLimit);
  EXPECT_EQ(read.error().field, "row_bytes");
}

TEST(ReaderLimits, PartsAndTotal) {
  BookParts parts = one_cell();
  parts.sheet = sheet_of("<row><c><v>1</v></c></row>" + std::string(100'000, ' '));
  const std::string package = parts.zip().finish();
  EXPECT_EQ(outcome(package, {}, {.max_part_bytes = 200'000}), "A1=1");
  const auto part = testing::read_rows(package, {}, {.max_part_bytes = 50'000});
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().field, "part_bytes");
  const auto total = testing::read_rows(package, {}, {.max_total_bytes = 100'100});
  ASSERT_FALSE(total.ok());
  EXPECT_EQ(total.error().field, "total_bytes");
}

TEST(ReaderLimits, HighlyPackedButSmallStylesAreFine) {  // X131
  BookParts parts = one_cell();
  std::string fonts(800'000, ' ');
  parts.styles = "<styleSheet>" + fonts + "</styleSheet>";
  EXPECT_EQ(outcome(parts), "A1=1");
}

TEST(ReaderLimits, StylesSheetsAndRelationships) {
  const auto limit_of = [](const BookParts& parts) {
    const std::string package = parts.zip().finish();
    const auto read = testing::read_rows(package);
    return read.ok() ? "none" : read.error().field;
  };
  const auto repeat = [](int times, std::string_view text) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  BookParts parts = one_cell();
  parts.styles = "<styleSheet><cellXfs>" + repeat(65'537, "<xf/>") + "</cellXfs></styleSheet>";
  EXPECT_EQ(limit_of(parts), "cell_formats");
  parts = one_cell();
  std::string formats;
  for (int i = 0; i < 65'537; ++i)
    formats += "<numFmt numFmtId=\"" + std::to_string(i) + "\" formatCode=\"0\"/>";
  parts.styles = "<styleSheet><numFmts>" + formats + "</numFmts></styleSheet>";
  EXPECT_EQ(limit_of(parts), "number_formats");
  parts = one_cell();
  parts.workbook = "<workbook><sheets>" + repeat(4'097, "<sheet/>") + "</sheets></workbook>";
  EXPECT_EQ(limit_of(parts), "sheets");
  parts = one_cell();
  parts.workbook_rels = "<Relationships>" +
                        repeat(8'193, "<Relationship Id=\"\" Type=\"\" Target=\"\"/>") +
                        "</Relationships>";
  EXPECT_EQ(limit_of(parts), "relationships");
}

// The growth of the largest resident size while something runs, in KiB.
template <typename Work>
long peak_growth(const Work& work) {
  const auto peak = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::strtol(line.c_str() + 6, nullptr, 10);
    }
    return 0L;
  };
  std::ofstream("/proc/self/clear_refs") << "5";
  const long before = peak();
  work();
  return peak() - before;
}

TEST(ReaderLimits, MemoryStaysBelow32MiB) {
  BookParts parts;
  std::string strings = "<sst>";
  std::string rows;
  for (int i = 0; i < 400'000; ++i) {
    strings += "<si><t>a string that is used once, number " + std::to_string(i) + "</t></si>";
    rows += "<row><c t=\"s\"><v>" + std::to_string(i * 7'919LL % 400'000) + "</v></c></row>";
  }
  parts.strings = strings + "</sst>";
  parts.sheet = sheet_of(rows);
  const std::string package = parts.zip().finish();
  std::int64_t cells = 0;
  const long growth = peak_growth([&] {
    const auto reader = Reader::open(package.size(), reading(package));
    ASSERT_TRUE(reader.ok());
    const auto sheet = (*reader)->open_sheet(0);
    ASSERT_TRUE(sheet.ok());
    for (;;) {
      const auto row = (*sheet)->next();
      ASSERT_TRUE(row.ok());
      if (*row == nullptr) break;
      cells += static_cast<std::int64_t>((*row)->cells.size());
    }
  });
  EXPECT_EQ(cells, 400'000);
  EXPECT_LT(growth, 32 << 10);
}

TEST(ReaderLimits, AFullSheetOfFormattedEmptyRows) {
  std::string rows;
  for (int i = 0; i < 1'048'576; ++i) rows += "<row s=\"1\"><c s=\"1\"/></row>";
  BookParts parts;
  parts.sheet = sheet_of(rows);
  EXPECT_EQ(outcome(parts), "");
}

TEST(ReaderPackage, IgnoresWhatIsNotData) {  // X151, X154
  ZipMaker zip = one_cell().zip();
  zip.add("docProps/core.xml", "<not well-formed");
  zip.add("xl/vbaProject.bin", "macro");
  EXPECT_EQ(outcome(zip.finish()), "A1=1");
}

TEST(ReaderPackage, BackslashesInNames) {  // X140
  ZipMaker zip;
  const BookParts parts = one_cell();
  zip.add("_rels\\.rels", parts.rels);
  zip.add("xl\\workbook.xml", parts.workbook);
  zip.add("xl\\_rels\\workbook.xml.rels", parts.workbook_rels);
  zip.add("xl\\worksheets\\sheet1.xml", parts.sheet);
  EXPECT_EQ(outcome(zip.finish()), "A1=1");
}

TEST(ReaderPackage, TargetsCannotLeaveIt) {
  BookParts parts = one_cell();
  parts.workbook_rels =
      "<Relationships><Relationship Id=\"s1\" Type=\"t/worksheet\" "
      "Target=\"../../../etc/passwd\"/></Relationships>";
  EXPECT_EQ(outcome(parts), "error: the sheet Data is missing from the workbook");
  parts.workbook_rels =
      "<Relationships><Relationship Id=\"s1\" Type=\"t/worksheet\" TargetMode=\"External\" "
      "Target=\"worksheets/sheet1.xml\"/></Relationships>";
  EXPECT_EQ(outcome(parts), "error: the sheet Data is missing from the workbook");
}

TEST(ReaderPackage, DamageAnywhereIsAnErrorOrHarmless) {
  BookParts parts = one_cell();
  parts.strings = "<sst><si><t>abc</t></si></sst>";
  parts.styles = testing::styles_of({"General", "yyyy-mm-dd"});
  parts.sheet = sheet_of("<row><c t=\"s\"><v>0</v></c><c s=\"1\"><v>45000</v></c></row>");
  const std::string whole = parts.zip().finish();
  const std::string right = outcome(whole);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    const std::string out = outcome(damaged);
    EXPECT_TRUE(out == right || out.starts_with("error: ")) << at << ": " << out;
  }
}

TEST(ReaderPackage, PassesOnTheErrorOfTheSource) {
  const std::string package = one_cell().zip().finish();
  for (int allowed = 0;; ++allowed) {
    int reads = 0;
    const RandomRead failing = [&](std::uint64_t offset,
                                   std::span<char> buffer) -> base::Result<std::size_t> {
      if (++reads > allowed) return base::unavailable("gone");
      return reading(package)(offset, buffer);
    };
    const auto read = [&]() -> base::Status {
      WAYBILL_ASSIGN(const auto reader, Reader::open(package.size(), failing));
      WAYBILL_ASSIGN(const auto sheet, reader->open_sheet(0));
      for (;;) {
        WAYBILL_ASSIGN(const Row* const row, sheet->next());
        if (row == nullptr) return {};
      }
    }();
    if (read.ok()) {
      EXPECT_GT(allowed, 8);
      break;
    }
    EXPECT_EQ(read.error().message, "gone");
    ASSERT_LT(allowed, 100);
  }
}

}  // namespace
}  // namespace waybill::xlsx
