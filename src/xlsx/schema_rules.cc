#include "xlsx/schema_rules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "xlsx/cell_ref.h"
#include "xlsx/cell_value.h"
#include "xlsx/sheet_name.h"

namespace waybill::xlsx {
namespace {

// CT_Worksheet
constexpr std::string_view kWorksheet[] = {"sheetPr",
                                           "dimension",
                                           "sheetViews",
                                           "sheetFormatPr",
                                           "cols",
                                           "sheetData",
                                           "sheetCalcPr",
                                           "sheetProtection",
                                           "protectedRanges",
                                           "scenarios",
                                           "autoFilter",
                                           "sortState",
                                           "dataConsolidate",
                                           "customSheetViews",
                                           "mergeCells",
                                           "phoneticPr",
                                           "conditionalFormatting",
                                           "dataValidations",
                                           "hyperlinks",
                                           "printOptions",
                                           "pageMargins",
                                           "pageSetup",
                                           "headerFooter",
                                           "rowBreaks",
                                           "colBreaks",
                                           "customProperties",
                                           "cellWatches",
                                           "ignoredErrors",
                                           "smartTags",
                                           "drawing",
                                           "drawingHF",
                                           "legacyDrawing",
                                           "legacyDrawingHF",
                                           "picture",
                                           "oleObjects",
                                           "controls",
                                           "webPublishItems",
                                           "tableParts",
                                           "extLst"};
// CT_Workbook
constexpr std::string_view kWorkbook[] = {"fileVersion",    "fileSharing",
                                          "workbookPr",     "workbookProtection",
                                          "bookViews",      "sheets",
                                          "functionGroups", "externalReferences",
                                          "definedNames",   "calcPr",
                                          "oleSize",        "customWorkbookViews",
                                          "pivotCaches",    "smartTagPr",
                                          "smartTagTypes",  "webPublishing",
                                          "fileRecoveryPr", "webPublishObjects",
                                          "extLst"};
// CT_Stylesheet
constexpr std::string_view kStyles[] = {"numFmts",      "fonts",   "fills",      "borders",
                                        "cellStyleXfs", "cellXfs", "cellStyles", "dxfs",
                                        "tableStyles",  "colors",  "extLst"};
// CT_Sst
constexpr std::string_view kStrings[] = {"si", "extLst"};
// CT_Cell
constexpr std::string_view kCell[] = {"f", "v", "is", "extLst"};
// These may come more than once.
constexpr std::string_view kRepeated[] = {"conditionalFormatting", "fileRecoveryPr", "si"};

std::span<const std::string_view> order_of(PartKind kind) {
  switch (kind) {
    case PartKind::kWorksheet:
      return kWorksheet;
    case PartKind::kWorkbook:
      return kWorkbook;
    case PartKind::kStyles:
      return kStyles;
    case PartKind::kStrings:
      return kStrings;
    case PartKind::kOther:
      return {};
  }
  return {};
}

// Moves `order` behind `name`, or says what is wrong.
std::optional<std::string> step(std::span<const std::string_view> names, std::string_view name,
                                std::size_t& order) {
  const auto found = std::find(names.begin(), names.end(), name);
  const std::string quoted = "<" + base::printable(name, 40) + ">";
  if (found == names.end()) return quoted + " is unknown to the schema";
  const auto place = static_cast<std::size_t>(found - names.begin());
  const bool repeated =
      std::find(std::begin(kRepeated), std::end(kRepeated), name) != std::end(kRepeated);
  if (place + 1 == order && !repeated) return quoted + " occurs twice";
  if (place + 1 < order)
    return quoted + " must come before <" + std::string(names[order - 1]) + ">";
  order = place + 1;
  return std::nullopt;
}

}  // namespace

SchemaRules::SchemaRules(PartKind kind, std::size_t cell_formats, Report report)
    : kind_(kind), cell_formats_(cell_formats), report_(std::move(report)) {}

base::Status SchemaRules::start(std::string_view name, const XmlAttributes& attributes) {
  ++depth_;
  if (name.empty() || kind_ == PartKind::kOther) return {};  // extensions have schemas of their own
  if (depth_ == 2) child_of_root(name);
  if (kind_ == PartKind::kWorksheet) worksheet_element(name, attributes);
  if (kind_ == PartKind::kWorkbook && depth_ == 3 && section_ == "sheets" && name == "sheet")
    workbook_sheet(attributes);
  return {};
}

base::Status SchemaRules::end() {
  if (depth_ == 4) in_cell_ = false;
  if (depth_ == 3) in_row_ = false;
  if (depth_ == 2) section_.clear();
  --depth_;
  return {};
}

void SchemaRules::child_of_root(std::string_view name) {
  section_ = name;
  if (const auto wrong = step(order_of(kind_), name, order_)) report_(*wrong);
}

void SchemaRules::worksheet_element(std::string_view name, const XmlAttributes& attributes) {
  if (depth_ == 2 && name == "dimension") area("dimension", attributes.find("ref"));
  if (depth_ == 2 && name == "autoFilter") area("autoFilter", attributes.find("ref"));
  if (depth_ == 3 && name == "mergeCell") area("mergeCell", attributes.find("ref"));
  if (depth_ == 3 && section_ == "sheetData") {
    in_row_ = name == "row";
    if (!in_row_) report_("<sheetData> holds <" + base::printable(name, 40) + ">, not only rows");
  }
  if (depth_ == 4 && in_row_) {
    in_cell_ = name == "c";
    if (in_cell_) cell(attributes);
  }
  if (depth_ == 5 && in_cell_) child_of_cell(name);
}

void SchemaRules::cell(const XmlAttributes& attributes) {
  const char* r = attributes.find("r");
  place_ = r == nullptr ? "a cell without reference" : "cell " + base::printable(r, 20);
  in_cell_order_ = 0;
  const char* t = attributes.find("t");
  if (t != nullptr && cell_type(t) == CellType::kUnknown)
    report_(place_ + " has the unknown type \"" + base::printable(t, 20) + "\"");
  const char* s = attributes.find("s");
  if (s == nullptr) return;
  const std::optional<std::int64_t> style = base::parse_int(s);
  if (!style || *style < 0 || static_cast<std::size_t>(*style) >= cell_formats_) {
    report_(place_ + " has the style " + base::printable(s, 20) + ", but there are only " +
            std::to_string(cell_formats_));
  }
}

void SchemaRules::child_of_cell(std::string_view name) {
  if (const auto wrong = step(kCell, name, in_cell_order_)) report_(place_ + ": " + *wrong);
}

// "A1:B2" or "A1".
void SchemaRules::area(std::string_view what, const char* ref) {
  const std::string_view text = ref == nullptr ? "" : ref;
  const std::size_t colon = text.find(':');
  const std::optional<CellRef> first = parse_cell_ref(text.substr(0, colon));
  const std::optional<CellRef> last =
      colon == std::string_view::npos ? first : parse_cell_ref(text.substr(colon + 1));
  if (!first || !last || last->row < first->row || last->column < first->column) {
    report_("<" + std::string(what) + "> names no area of the sheet: \"" +
            base::printable(text, 40) + "\"");
  }
}

void SchemaRules::workbook_sheet(const XmlAttributes& attributes) {
  const char* value = attributes.find("name");
  const std::string name = value == nullptr ? "" : value;
  const std::string shown = "the sheet name \"" + base::printable(name, 40) + "\"";
  if (legal_sheet_name(name) != name) report_(shown + " is not allowed");
  if (!sheet_names_.insert(lower_ascii(name)).second) report_(shown + " occurs twice");
  const char* id = attributes.find("sheetId");
  if (id == nullptr || !sheet_ids_.insert(id).second)
    report_("the sheet \"" + base::printable(name, 40) + "\" has no sheetId of its own");
}

}  // namespace waybill::xlsx
