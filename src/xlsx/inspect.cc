#include "xlsx/inspect.h"

#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "xlsx/cell_formats.h"
#include "xlsx/cell_ref.h"
#include "xlsx/cell_text.h"
#include "xlsx/schema_rules.h"
#include "xlsx/workbook_index.h"
#include "xlsx/writer.h"
#include "xlsx/zip_reader.h"

namespace waybill::xlsx {
namespace {

constexpr std::string_view kTypesPart = "[Content_Types].xml";

bool is_judgement(const base::Error& error) {
  return error.category == base::ErrorCategory::kInvalid ||
         error.category == base::ErrorCategory::kLimit;
}

bool is_xml(std::string_view name) { return name.ends_with(".xml") || name.ends_with(".rels"); }

// Types > (Default | Override)
class TypeEvents final : public XmlEvents {
 public:
  base::Status start(std::string_view name, const XmlAttributes& attributes) override {
    const char* type = attributes.find("ContentType");
    const char* extension = attributes.find("Extension");
    const char* part = attributes.find("PartName");
    if (type == nullptr) return {};
    if (name == "Default" && extension != nullptr) defaults[lower_ascii(extension)] = type;
    if (name == "Override" && part != nullptr && *part == '/')
      overrides[lower_ascii(part + 1)] = type;
    return {};
  }
  base::Status end() override { return {}; }
  base::Status text(std::string_view) override { return {}; }

  // Empty where the package gives none.
  [[nodiscard]] std::string of(std::string_view part) const {
    const std::string name = lower_ascii(part);
    if (const auto found = overrides.find(name); found != overrides.end()) return found->second;
    const auto found = defaults.find(name.substr(name.rfind('.') + 1));
    return found == defaults.end() ? "" : found->second;
  }

  std::map<std::string, std::string> defaults;
  std::map<std::string, std::string> overrides;
};

class Inspector {
 public:
  Inspector(std::uint64_t size, const RandomRead& read, const ReaderOptions& options)
      : size_(size),
        read_(read),
        options_(options),
        budget_{options.max_part_bytes, options.max_total_bytes} {}

  base::Result<Inspection> run() {
    auto reader = Reader::open(size_, read_, options_);
    if (!reader.ok()) {
      WAYBILL_TRY(take(reader.error()));
      return std::move(inspection_);
    }
    WAYBILL_ASSIGN(const ZipReader zip, ZipReader::open(ByteSource(size_, read_)));
    WAYBILL_ASSIGN(index_, read_workbook_index(zip, budget_));
    if (index_.styles != nullptr) {
      const auto formats = CellFormats::read(zip, *index_.styles, budget_);
      if (formats.ok()) cell_formats_ = formats->size();
    }
    for (const ZipPart& part : zip.parts()) WAYBILL_TRY(part_content(zip, part));
    WAYBILL_TRY(content_types(zip));
    WAYBILL_TRY(relationships(zip, ""));
    WAYBILL_TRY(relationships(zip, index_.workbook->name));
    for (std::size_t i = 0; i < (*reader)->sheets().size(); ++i) WAYBILL_TRY(rows(**reader, i));
    return std::move(inspection_);
  }

 private:
  void add(const std::string& finding) {
    if (inspection_.findings.size() < kMaxFindings) {
      inspection_.findings.push_back(finding);
    } else {
      ++inspection_.left_out;
    }
  }
  // What the input is to blame for becomes a finding.
  base::Status take(const base::Error& error) {
    if (!is_judgement(error)) return error;
    if (found_.insert(error.message).second) add(error.message);
    return {};
  }

  [[nodiscard]] PartKind kind_of(const ZipPart& part) const {
    if (&part == index_.workbook) return PartKind::kWorkbook;
    if (&part == index_.styles) return PartKind::kStyles;
    if (&part == index_.shared_strings) return PartKind::kStrings;
    for (const WorkbookIndex::Sheet& sheet : index_.sheets) {
      if (&part == sheet.part) return PartKind::kWorksheet;
    }
    return PartKind::kOther;
  }

  base::Status part_content(const ZipReader& zip, const ZipPart& part);
  base::Status content_types(const ZipReader& zip);
  base::Status relationships(const ZipReader& zip, std::string_view source);
  base::Status rows(Reader& reader, std::size_t index);
  void cell(const std::string& sheet, std::int64_t row, const Cell& cell);

  const std::uint64_t size_;
  const RandomRead& read_;
  const ReaderOptions& options_;
  InflateBudget budget_;  // of all passes but that of the rows
  WorkbookIndex index_;
  std::size_t cell_formats_ = 1;  // a workbook without styles has the default
  std::set<std::string> found_;   // errors, which several passes see
  Inspection inspection_;
};

// CRC and size of every part, and the schema of those that have one here.
base::Status Inspector::part_content(const ZipReader& zip, const ZipPart& part) {
  if (is_xml(part.name)) {
    SchemaRules rules(kind_of(part), cell_formats_, [this, &part](const std::string& finding) {
      add("part " + base::printable(part.name, 100) + ": " + finding);
    });
    const base::Status parsed = parse_xml(zip, part, budget_, rules);
    return parsed.ok() ? parsed : take(parsed.error());
  }
  PartReader reader(zip, part, budget_);
  std::vector<char> buffer(64u << 10);
  for (;;) {
    const auto got = reader.read(buffer);
    if (!got.ok()) return take(got.error());
    if (*got == 0) return {};
  }
}

base::Status Inspector::content_types(const ZipReader& zip) {
  const ZipPart* part = zip.find(kTypesPart);
  if (part == nullptr) {
    add("part [Content_Types].xml is missing");
    return {};
  }
  TypeEvents types;
  if (!parse_xml(zip, *part, budget_, types).ok()) return {};  // already a finding
  for (const ZipPart& each : zip.parts()) {
    if (each.name == part->name || each.name.ends_with('/')) continue;
    const std::string type = types.of(each.name);
    const auto finding = [&](const std::string& what) {
      add("part " + base::printable(each.name, 100) + ": " + what);
    };
    if (type.empty()) {
      finding("it has no content type");
    } else if (kind_of(each) == PartKind::kWorkbook && !type.ends_with(".main+xml")) {
      finding("its content type is not that of a workbook");
    } else if (kind_of(each) == PartKind::kWorksheet && !type.ends_with(".worksheet+xml")) {
      finding("its content type is not that of a worksheet");
    }
  }
  for (const auto& [name, type] : types.overrides) {
    if (zip.find(name) == nullptr)
      add("part " + base::printable(name, 100) + " has a content type, but does not exist");
  }
  return {};
}

base::Status Inspector::relationships(const ZipReader& zip, std::string_view source) {
  const auto found = read_relationships(zip, source, budget_);
  if (!found.ok()) return take(found.error());
  const std::string of = source.empty() ? "the package" : "part " + base::printable(source, 100);
  std::set<std::string> ids;
  for (const Relationship& relationship : *found) {
    if (!ids.insert(relationship.id).second)
      add(of + " has two relationships with the id " + base::printable(relationship.id, 40));
    if (!relationship.target.empty() && zip.find(relationship.target) == nullptr) {
      add(of + " refers to the part " + base::printable(relationship.target, 100) +
          ", which does not exist");
    }
  }
  return {};
}

base::Status Inspector::rows(Reader& reader, std::size_t index) {
  InspectedSheet sheet{reader.sheets()[index].name};
  const std::string shown = "sheet " + base::printable(sheet.name, 40);
  const auto opened = reader.open_sheet(index);
  if (!opened.ok()) return take(opened.error());
  for (;;) {
    const auto row = (*opened)->next();
    if (!row.ok()) {
      WAYBILL_TRY(take(row.error()));
      break;
    }
    if (*row == nullptr) break;
    ++sheet.rows;
    sheet.cells += static_cast<std::int64_t>((*row)->cells.size());
    for (const Cell& each : (*row)->cells) cell(shown, (*row)->number, each);
  }
  inspection_.sheets.push_back(std::move(sheet));
  return {};
}

void Inspector::cell(const std::string& sheet, std::int64_t row, const Cell& cell) {
  if (cell.kind == CellKind::kFault) {
    add(sheet + ", cell " + cell_name(cell.column, row) + ": " + std::string(cell.text));
  } else if (cell.kind == CellKind::kText &&
             bytes_of_units(cell.text, kMaxCellUnits) < cell.text.size()) {
    add(sheet + ", cell " + cell_name(cell.column, row) + ": its text is longer than " +
        std::to_string(kMaxCellUnits) + " characters");
  }
}

}  // namespace

base::Result<Inspection> inspect_workbook(std::uint64_t size, const RandomRead& read,
                                          const ReaderOptions& options) {
  return Inspector(size, read, options).run();
}

}  // namespace waybill::xlsx
