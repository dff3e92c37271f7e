// What xl/styles.xml says about numbers: the class of each cell format, nothing else.

#ifndef WAYBILL_XLSX_CELL_FORMATS_H_
#define WAYBILL_XLSX_CELL_FORMATS_H_

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "xlsx/number_format.h"
#include "xlsx/zip_reader.h"

namespace waybill::xlsx {

inline constexpr std::size_t kMaxCellFormats = 65'536;    // Excel: 65,490
inline constexpr std::size_t kMaxNumberFormats = 65'536;  // Excel: 200 to 250 by language

// By the index that a cell's s attribute has.
class CellFormats {
 public:
  // kLimit (field "cell_formats" or "number_formats"), or the errors of the part.
  static base::Result<CellFormats> read(const ZipReader& zip, const ZipPart& part,
                                        InflateBudget& budget);
  // An index that the part does not define is a plain number.
  [[nodiscard]] NumberClass at(std::size_t index) const {
    return index < classes_.size() ? classes_[index] : NumberClass::kNumber;
  }
  [[nodiscard]] std::size_t size() const { return classes_.size(); }

 private:
  std::vector<NumberClass> classes_;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_CELL_FORMATS_H_
