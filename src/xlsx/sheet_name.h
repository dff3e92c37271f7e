// Legal and unique names of sheets.

#ifndef WAYBILL_XLSX_SHEET_NAME_H_
#define WAYBILL_XLSX_SHEET_NAME_H_

#include <set>
#include <string>
#include <string_view>

namespace waybill::xlsx {

// What Excel accepts: [ ] : * ? / \ become _, control characters go, no apostrophe or blank at
// either end, at most kMaxSheetNameUnits UTF-16 units, not the reserved "History". A name with
// nothing visible becomes "Sheet1".
std::string legal_sheet_name(std::string_view name);

// Hands out names of one workbook. Not thread-safe.
class SheetNames {
 public:
  // `wanted` made legal; if it was given before (letters A-Z count as a-z), with " (2)", " (3)",
  // ... at its end, the name itself cut to fit.
  std::string next(std::string_view wanted);

 private:
  std::set<std::string> used_;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_SHEET_NAME_H_
