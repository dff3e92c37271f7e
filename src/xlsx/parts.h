// The small parts of the package: everything but the sheets and the string table.

#ifndef WAYBILL_XLSX_PARTS_H_
#define WAYBILL_XLSX_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "xlsx/writer.h"

namespace waybill::xlsx {

// Index into cellXfs of xl/styles.xml. The four header styles follow their plain twins in the same
// order.
enum class Style : std::uint8_t {
  kGeneral,
  kDate,
  kDateTime,
  kText,     // number format @: digits stay text when a person edits the cell
  kWrapped,  // text with line feeds
  kQuoted,   // quotePrefix: looks like a formula
  kQuotedWrapped,
  kHeader,
  kHeaderWrapped,
  kHeaderQuoted,
  kHeaderQuotedWrapped,
};
inline constexpr std::size_t kStyles = 11;

// A sheet as the workbook lists it.
struct SheetEntry {
  std::string name;           // legal and unique
  std::int64_t last_row = 1;  // header included
};

inline constexpr std::string_view kXmlDeclaration =
    "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
inline constexpr std::string_view kMainNamespace =
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main";

std::string sheet_path(std::size_t number);      // "xl/worksheets/sheet1.xml", from 1
std::string column_letters(std::size_t column);  // 0 -> "A", 16,383 -> "XFD"

std::string content_types_part(std::size_t sheets, bool shared_strings);
std::string package_rels_part();
std::string core_properties_part(const WriterOptions& options);
std::string app_properties_part(const WriterOptions& options);
std::string styles_part();
std::string workbook_part(const std::vector<SheetEntry>& sheets, std::size_t columns);
std::string workbook_rels_part(std::size_t sheets, bool shared_strings);

// <cols> and everything in front of it, from the XML declaration to <sheetData>.
std::string sheet_head(const std::vector<Column>& columns, bool selected);
// From </sheetData> to the end.
std::string sheet_tail(std::size_t columns, std::int64_t last_row);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_PARTS_H_
