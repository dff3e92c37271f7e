// Rules of the SpreadsheetML schema (ECMA-376 18, sml.xsd) and of Excel that a part can break
// without being unreadable: what a spreadsheet program "repairs".

#ifndef WAYBILL_XLSX_SCHEMA_RULES_H_
#define WAYBILL_XLSX_SCHEMA_RULES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "xlsx/xml_parser.h"

namespace waybill::xlsx {

// Gets one sentence, without the name of the part.
using Report = std::function<void(const std::string& finding)>;

// The order in which the schema wants the children of a root element.
enum class PartKind : std::uint8_t { kOther, kWorkbook, kWorksheet, kStyles, kStrings };

// Events of one XML part. Reports; never fails.
class SchemaRules final : public XmlEvents {
 public:
  // `cell_formats`: how many the style sheet has; a worksheet's cells must keep below.
  SchemaRules(PartKind kind, std::size_t cell_formats, Report report);

  base::Status start(std::string_view name, const XmlAttributes& attributes) override;
  base::Status end() override;
  base::Status text(std::string_view) override { return {}; }

 private:
  void child_of_root(std::string_view name);
  void worksheet_element(std::string_view name, const XmlAttributes& attributes);
  void cell(const XmlAttributes& attributes);
  void child_of_cell(std::string_view name);
  void area(std::string_view what, const char* ref);
  void workbook_sheet(const XmlAttributes& attributes);

  const PartKind kind_;
  const std::size_t cell_formats_;
  const Report report_;
  int depth_ = 0;
  std::size_t order_ = 0;  // place of the last child of the root, plus one
  std::string section_;    // child of the root that is open
  bool in_row_ = false;
  bool in_cell_ = false;
  std::string place_;  // of the open cell, for findings
  std::size_t in_cell_order_ = 0;
  std::set<std::string> sheet_names_;
  std::set<std::string> sheet_ids_;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_SCHEMA_RULES_H_
