#include "xlsx/workbook_index.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "xlsx/file_kind.h"
#include "xlsx/xml_parser.h"

namespace waybill::xlsx {
namespace {

base::Error too_many(const char* field, std::size_t limit, const char* what) {
  return base::over_limit(field, static_cast<std::int64_t>(limit), what,
                          static_cast<std::int64_t>(limit) + 1,
                          std::string("the workbook has too many ") + what);
}

std::string_view folder_of(std::string_view part) {
  const std::size_t slash = part.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : part.substr(0, slash + 1);
}

// The part that a target names, seen from a part (RFC 3986 5.2; a leading slash is the package's
// root). Nothing for one that climbs out of the package.
std::optional<std::string> resolve(std::string_view part, std::string target) {
  std::replace(target.begin(), target.end(), '\\', '/');
  std::string full = target.starts_with('/') ? target : std::string(folder_of(part)) + target;
  std::vector<std::string_view> steps;
  for (const std::string_view step : base::split(full, '/')) {
    if (step.empty() || step == ".") continue;
    if (step != "..") {
      steps.push_back(step);
    } else if (steps.empty()) {
      return std::nullopt;
    } else {
      steps.pop_back();
    }
  }
  std::string out;
  for (const std::string_view step : steps) {
    if (!out.empty()) out += '/';
    out += step;
  }
  return out;
}

// Relationships > Relationship
class RelationshipEvents final : public XmlEvents {
 public:
  RelationshipEvents(std::string_view part, const std::string& rels) : part_(part), rels_(rels) {}

  base::Status start(std::string_view name, const XmlAttributes& attributes) override {
    ++depth_;
    if (depth_ == 1 && name != "Relationships")
      return damaged_part(rels_, "it holds no relationships");
    if (depth_ != 2 || name != "Relationship") return {};
    const char* id = attributes.find("Id");
    const char* type = attributes.find("Type");
    const char* target = attributes.find("Target");
    const char* mode = attributes.find("TargetMode");
    if (id == nullptr || type == nullptr || target == nullptr) return {};
    if (found.size() == kMaxRelationships)
      return too_many("relationships", kMaxRelationships, "relationships");
    const std::string_view full = type;
    // Long texts are hyperlinks and the like.
    if (std::max({std::string_view(id).size(), full.size(), std::string_view(target).size()}) >
        kMaxAttributeBytes)
      return {};
    Relationship relationship{id, std::string(full.substr(full.rfind('/') + 1)), {}};
    if (mode == nullptr || std::string_view(mode) != "External")
      relationship.target = resolve(part_, target).value_or("");
    found.push_back(std::move(relationship));
    return {};
  }
  base::Status end() override {
    --depth_;
    return {};
  }
  base::Status text(std::string_view) override { return {}; }

  std::vector<Relationship> found;

 private:
  std::string_view part_;
  const std::string& rels_;
  int depth_ = 0;
};

// workbook > (workbookPr | sheets > sheet)
class WorkbookEvents final : public XmlEvents {
 public:
  struct Sheet {
    std::string name;
    std::string id;
    WorkbookIndex::Visibility visibility = WorkbookIndex::Visibility::kVisible;
  };

  base::Status start(std::string_view name, const XmlAttributes& attributes) override {
    ++depth_;
    if (depth_ == 1) is_workbook = name == "workbook";
    if (depth_ == 2) {
      in_sheets_ = name == "sheets";
      if (name == "workbookPr") date_1904 = is_true(attributes.find("date1904"));
    }
    return depth_ == 3 && in_sheets_ && name == "sheet" ? add_sheet(attributes) : base::Status();
  }
  base::Status end() override {
    --depth_;
    return {};
  }
  base::Status text(std::string_view) override { return {}; }

  std::vector<Sheet> sheets;
  bool is_workbook = false;
  bool date_1904 = false;

 private:
  base::Status add_sheet(const XmlAttributes& attributes) {
    if (sheets.size() == kMaxSheets) return too_many("sheets", kMaxSheets, "sheets");
    const auto text = [](const char* value) {
      return std::string(value == nullptr ? "" : value).substr(0, kMaxAttributeBytes);
    };
    Sheet sheet{text(attributes.find("name")), text(attributes.find_prefixed("id"))};
    const std::string state = text(attributes.find("state"));
    if (state == "hidden") sheet.visibility = WorkbookIndex::Visibility::kHidden;
    if (state == "veryHidden") sheet.visibility = WorkbookIndex::Visibility::kVeryHidden;
    sheets.push_back(std::move(sheet));
    return {};
  }
  int depth_ = 0;
  bool in_sheets_ = false;
};

// Where _rels/.rels says that the document is.
base::Result<const ZipPart*> find_document(const ZipReader& zip, InflateBudget& budget) {
  WAYBILL_ASSIGN(const auto relationships, read_relationships(zip, "", budget));
  for (const Relationship& relationship : relationships) {
    if (relationship.kind != "officeDocument") continue;
    const ZipPart* part = zip.find(relationship.target);
    if (part == nullptr) return damaged_part(relationship.target, "it is missing");
    return part;
  }
  return refuse_other_archive(zip);
}

}  // namespace

base::Result<std::vector<Relationship>> read_relationships(const ZipReader& zip,
                                                           std::string_view part,
                                                           InflateBudget& budget) {
  const std::string name = std::string(folder_of(part)) + "_rels/" +
                           std::string(part.substr(folder_of(part).size())) + ".rels";
  const ZipPart* rels = zip.find(name);
  if (rels == nullptr) return std::vector<Relationship>();
  RelationshipEvents events(part, rels->name);
  WAYBILL_TRY(parse_xml(zip, *rels, budget, events));
  return std::move(events.found);
}

base::Result<WorkbookIndex> read_workbook_index(const ZipReader& zip, InflateBudget& budget) {
  WorkbookIndex index;
  WAYBILL_ASSIGN(index.workbook, find_document(zip, budget));
  if (!index.workbook->name.ends_with(".xml")) return refuse_other_archive(zip);
  WorkbookEvents events;
  WAYBILL_TRY(parse_xml(zip, *index.workbook, budget, events));
  if (!events.is_workbook) return refuse_other_archive(zip);
  index.date_1904 = events.date_1904;
  WAYBILL_ASSIGN(const auto relationships, read_relationships(zip, index.workbook->name, budget));
  for (const Relationship& relationship : relationships) {
    const ZipPart* part = zip.find(relationship.target);
    if (relationship.kind == "sharedStrings") index.shared_strings = part;
    if (relationship.kind == "styles") index.styles = part;
  }
  for (WorkbookEvents::Sheet& sheet : events.sheets) {
    const auto found = std::find_if(relationships.begin(), relationships.end(),
                                    [&sheet](const Relationship& r) { return r.id == sheet.id; });
    // Chart sheets, dialogs and macro sheets hold no rows.
    const bool known = found != relationships.end();
    if (known && found->kind != "worksheet") continue;
    index.sheets.push_back(
        {std::move(sheet.name), sheet.visibility, known ? zip.find(found->target) : nullptr});
  }
  if (index.sheets.empty()) return damaged_part(index.workbook->name, "it lists no worksheet");
  return index;
}

}  // namespace waybill::xlsx
