#include "xlsx/parts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "xlsx/cell_text.h"

namespace waybill::xlsx {
namespace {

constexpr double kDefaultWidth = 16.0;          // characters
constexpr double kDefaultDateTimeWidth = 20.0;  // 19 characters; too narrow would show ####
constexpr double kMinColumnWidth = 0.1;         // rounds to 0 below, and 0 hides the column

constexpr std::string_view kPackage = "http://schemas.openxmlformats.org/package/2006";
constexpr std::string_view kOffice =
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
constexpr std::string_view kSheetMl = "application/vnd.openxmlformats-officedocument.spreadsheetml";

template <class... T>
std::string join(const T&... parts) {
  std::string out;
  ((out += parts), ...);
  return out;
}

std::string override_type(std::string_view path, std::string_view type) {
  return join("<Override PartName=\"/", path, "\" ContentType=\"", type, "\"/>");
}

std::string relation(std::string_view id, std::string_view type, std::string_view target) {
  return join("<Relationship Id=\"", id, "\" Type=\"", type, "\" Target=\"", target, "\"/>");
}

std::string relations(std::string_view inside) {
  return join(kXmlDeclaration, "<Relationships xmlns=\"", kPackage, "/relationships\">", inside,
              "</Relationships>");
}

// W3CDTF in UTC. Years outside 0001..9999 have no such form: clamped.
std::string w3c_time(std::int64_t unix_seconds) {
  constexpr std::int64_t kFirst = -62'135'596'800;  // 0001-01-01T00:00:00Z
  constexpr std::int64_t kLast = 253'402'300'799;   // 9999-12-31T23:59:59Z
  const auto seconds = static_cast<std::time_t>(std::clamp(unix_seconds, kFirst, kLast));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return text;
}

std::string area(std::size_t columns, std::int64_t last_row, bool absolute) {
  const std::string_view fix = absolute ? "$" : "";
  return join(fix, "A", fix, "1:", fix, column_letters(columns - 1), fix, std::to_string(last_row));
}

// 'It''s' for formulas.
std::string quoted_sheet(std::string_view name) {
  std::string out = "'";
  for (const char c : name) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

double width_of(const Column& column) {
  if (std::isfinite(column.width) && column.width > 0) {
    return std::clamp(column.width, kMinColumnWidth, kMaxColumnWidth);
  }
  return column.type == ColumnType::kDateTime ? kDefaultDateTimeWidth : kDefaultWidth;
}

// At most three decimals, independent of the locale.
std::string width_text(double width) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, std::round(width * 1000) / 1000).ptr;
  return {text, end};
}

}  // namespace

std::string sheet_path(std::size_t number) {
  return join("xl/worksheets/sheet", std::to_string(number), ".xml");
}

std::string column_letters(std::size_t column) {
  std::string out;
  for (std::size_t n = column + 1; n > 0; n = (n - 1) / 26) {
    out.insert(out.begin(), static_cast<char>('A' + (n - 1) % 26));
  }
  return out;
}

std::string content_types_part(std::size_t sheets, bool shared_strings) {
  std::string out =
      join(kXmlDeclaration, "<Types xmlns=\"", kPackage, "/content-types\">",
           "<Default Extension=\"rels\" "
           "ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>",
           "<Default Extension=\"xml\" ContentType=\"application/xml\"/>",
           override_type("xl/workbook.xml", join(kSheetMl, ".sheet.main+xml")));
  for (std::size_t i = 1; i <= sheets; ++i) {
    out += override_type(sheet_path(i), join(kSheetMl, ".worksheet+xml"));
  }
  out += override_type("xl/styles.xml", join(kSheetMl, ".styles+xml"));
  if (shared_strings)
    out += override_type("xl/sharedStrings.xml", join(kSheetMl, ".sharedStrings+xml"));
  out += override_type("docProps/core.xml",
                       "application/vnd.openxmlformats-package.core-properties+xml");
  out += override_type("docProps/app.xml",
                       "application/vnd.openxmlformats-officedocument.extended-properties+xml");
  return out + "</Types>";
}

std::string package_rels_part() {
  return relations(
      join(relation("rId1", join(kOffice, "/officeDocument"), "xl/workbook.xml"),
           relation("rId2", join(kPackage, "/relationships/metadata/core-properties"),
                    "docProps/core.xml"),
           relation("rId3", join(kOffice, "/extended-properties"), "docProps/app.xml")));
}

std::string core_properties_part(const WriterOptions& options) {
  const std::string time = w3c_time(options.created_unix_seconds);
  const std::string application = xml_attribute(options.application);
  return join(kXmlDeclaration, "<cp:coreProperties xmlns:cp=\"", kPackage,
              "/metadata/core-properties\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\""
              " xmlns:dcterms=\"http://purl.org/dc/terms/\""
              " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><dc:title>",
              xml_attribute(options.title), "</dc:title><dc:creator>", application,
              "</dc:creator><cp:lastModifiedBy>", application,
              "</cp:lastModifiedBy><dcterms:created xsi:type=\"dcterms:W3CDTF\">", time,
              "</dcterms:created><dcterms:modified xsi:type=\"dcterms:W3CDTF\">", time,
              "</dcterms:modified></cp:coreProperties>");
}

// No AppVersion: Excel accepts only its own form of it.
std::string app_properties_part(const WriterOptions& options) {
  return join(kXmlDeclaration,
              "<Properties xmlns=\"http://schemas.openxmlformats.org/officeDocument/2006/"
              "extended-properties\"><Application>",
              xml_attribute(options.application), "</Application></Properties>");
}

std::string styles_part() {
  const auto format = [](std::string_view attributes, std::string_view inside = {}) {
    const std::string head = join("<xf borderId=\"0\" fillId=\"0\" xfId=\"0\" ", attributes);
    return inside.empty() ? join(head, "/>") : join(head, ">", inside, "</xf>");
  };
  constexpr std::string_view kWrap = "<alignment wrapText=\"1\"/>";
  constexpr std::string_view kBold = "numFmtId=\"0\" fontId=\"1\" applyFont=\"1\"";
  std::string formats = format("numFmtId=\"0\" fontId=\"0\"");
  formats += format("numFmtId=\"164\" fontId=\"0\" applyNumberFormat=\"1\"");
  formats += format("numFmtId=\"165\" fontId=\"0\" applyNumberFormat=\"1\"");
  formats += format("numFmtId=\"49\" fontId=\"0\" applyNumberFormat=\"1\"");
  formats += format("numFmtId=\"0\" fontId=\"0\" applyAlignment=\"1\"", kWrap);
  formats += format("numFmtId=\"0\" fontId=\"0\" quotePrefix=\"1\"");
  formats += format("numFmtId=\"0\" fontId=\"0\" quotePrefix=\"1\" applyAlignment=\"1\"", kWrap);
  formats += format(kBold);
  formats += format(join(kBold, " applyAlignment=\"1\""), kWrap);
  formats += format(join(kBold, " quotePrefix=\"1\""));
  formats += format(join(kBold, " quotePrefix=\"1\" applyAlignment=\"1\""), kWrap);
  constexpr std::string_view kFont = "<sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/>";
  return join(
      kXmlDeclaration, "<styleSheet xmlns=\"", kMainNamespace, "\"><numFmts count=\"2\">",
      "<numFmt numFmtId=\"164\" formatCode=\"yyyy-mm-dd\"/>",
      "<numFmt numFmtId=\"165\" formatCode=\"yyyy-mm-dd hh:mm:ss\"/></numFmts>",
      "<fonts count=\"2\"><font>", kFont, "</font><font><b/>", kFont, "</font></fonts>",
      "<fills count=\"2\"><fill><patternFill patternType=\"none\"/></fill>",
      "<fill><patternFill patternType=\"gray125\"/></fill></fills>",
      "<borders count=\"1\"><border><left/><right/><top/><bottom/><diagonal/></border></borders>",
      "<cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" "
      "borderId=\"0\"/></cellStyleXfs>",
      "<cellXfs count=\"", std::to_string(kStyles), "\">", formats, "</cellXfs>",
      "<cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" "
      "builtinId=\"0\"/></cellStyles>",
      "<dxfs count=\"0\"/><tableStyles count=\"0\" defaultTableStyle=\"TableStyleMedium9\" "
      "defaultPivotStyle=\"PivotStyleLight16\"/></styleSheet>");
}

std::string workbook_part(const std::vector<SheetEntry>& sheets, std::size_t columns) {
  std::string list;
  std::string filters;
  for (std::size_t i = 0; i < sheets.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    list += join("<sheet name=\"", xml_attribute(sheets[i].name), "\" sheetId=\"", number,
                 "\" r:id=\"rId", number, "\"/>");
    // Excel keeps the area of a filter under this name; without it some versions drop the filter.
    filters +=
        join("<definedName name=\"_xlnm._FilterDatabase\" localSheetId=\"", std::to_string(i),
             "\" hidden=\"1\">", xml_attribute(quoted_sheet(sheets[i].name)), "!",
             area(columns, sheets[i].last_row, true), "</definedName>");
  }
  return join(kXmlDeclaration, "<workbook xmlns=\"", kMainNamespace, "\" xmlns:r=\"", kOffice,
              "\"><workbookPr/>",
              "<bookViews><workbookView xWindow=\"0\" yWindow=\"0\" windowWidth=\"24000\" "
              "windowHeight=\"12000\" activeTab=\"0\"/></bookViews><sheets>",
              list, "</sheets><definedNames>", filters, "</definedNames></workbook>");
}

std::string workbook_rels_part(std::size_t sheets, bool shared_strings) {
  std::string list;
  for (std::size_t i = 1; i <= sheets; ++i) {
    list += relation(join("rId", std::to_string(i)), join(kOffice, "/worksheet"),
                     sheet_path(i).substr(3));
  }
  list += relation(join("rId", std::to_string(sheets + 1)), join(kOffice, "/styles"), "styles.xml");
  if (shared_strings) {
    list += relation(join("rId", std::to_string(sheets + 2)), join(kOffice, "/sharedStrings"),
                     "sharedStrings.xml");
  }
  return relations(list);
}

std::string sheet_head(const std::vector<Column>& columns, bool selected) {
  std::string out =
      join(kXmlDeclaration, "<worksheet xmlns=\"", kMainNamespace, "\"><sheetViews><sheetView ",
           selected ? "tabSelected=\"1\" " : "", "workbookViewId=\"0\">",
           "<pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/>",
           "<selection pane=\"bottomLeft\"/></sheetView></sheetViews>",
           "<sheetFormatPr defaultRowHeight=\"15\"/><cols>");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    out += join("<col min=\"", number, "\" max=\"", number, "\" width=\"",
                width_text(width_of(columns[i])), "\" customWidth=\"1\"/>");
  }
  return out + "</cols><sheetData>";
}

// Ids kept as text would all get Excel's green "number stored as text" triangle: turned off for the
// whole sheet.
std::string sheet_tail(std::size_t columns, std::int64_t last_row) {
  const std::string all = area(columns, last_row, false);
  return join("</sheetData><autoFilter ref=\"", all,
              "\"/><pageMargins left=\"0.7\" right=\"0.7\" top=\"0.75\" bottom=\"0.75\" "
              "header=\"0.3\" footer=\"0.3\"/><ignoredErrors><ignoredError sqref=\"",
              all, "\" numberStoredAsText=\"1\"/></ignoredErrors></worksheet>");
}

}  // namespace waybill::xlsx
