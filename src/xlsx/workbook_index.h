// What a package says about its workbook: where the sheets, the string table and the styles are.

#ifndef WAYBILL_XLSX_WORKBOOK_INDEX_H_
#define WAYBILL_XLSX_WORKBOOK_INDEX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "xlsx/zip_reader.h"

namespace waybill::xlsx {

inline constexpr std::size_t kMaxSheets = 4'096;
inline constexpr std::size_t kMaxRelationships = 8'192;   // of one part
inline constexpr std::size_t kMaxAttributeBytes = 1'024;  // of a name, an id or a target

// One line of a relationships part.
struct Relationship {
  std::string id;
  std::string kind;    // what stands behind the last slash of the type, such as "worksheet"
  std::string target;  // a part's name; empty for one outside the package
};

// Those of `part` ("" for the package); none where the relationships part is missing.
base::Result<std::vector<Relationship>> read_relationships(const ZipReader& zip,
                                                           std::string_view part,
                                                           InflateBudget& budget);

struct WorkbookIndex {
  enum class Visibility : std::uint8_t { kVisible, kHidden, kVeryHidden };
  struct Sheet {
    std::string name;
    Visibility visibility = Visibility::kVisible;
    const ZipPart* part = nullptr;  // nullptr where the package lacks it
  };
  std::vector<Sheet> sheets;  // worksheets alone, in their order
  const ZipPart* workbook = nullptr;
  const ZipPart* shared_strings = nullptr;  // optional
  const ZipPart* styles = nullptr;          // optional
  bool date_1904 = false;
};

// kInvalid for another kind of document (code "XLSX_NOT_A_WORKBOOK") and for a damaged one; kLimit.
base::Result<WorkbookIndex> read_workbook_index(const ZipReader& zip, InflateBudget& budget);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_WORKBOOK_INDEX_H_
