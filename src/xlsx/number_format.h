// What a number format makes of a number: the only thing that tells a date from a number in a
// sheet.

#ifndef WAYBILL_XLSX_NUMBER_FORMAT_H_
#define WAYBILL_XLSX_NUMBER_FORMAT_H_

#include <cstdint>
#include <string_view>

namespace waybill::xlsx {

enum class NumberClass : std::uint8_t {
  kNumber,
  kDate,      // days, months, years
  kTime,      // hours, minutes, seconds of a day
  kDateTime,  // both
  kDuration,  // [h], [mm], [ss]: counts over 24 hours
};

// Of a format code (ECMA-376 18.8.31). Quoted and escaped text, fills, colours, conditions and
// locales are no date; a section with a date makes the whole format one.
NumberClass classify_format(std::string_view code);

// Of a built-in id (18.8.30, those of East Asian and Thai locales included). A workbook's own
// definition of the same id comes first.
NumberClass builtin_format(std::uint32_t id);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_NUMBER_FORMAT_H_
