// ISO-8601 dates to serial numbers of the 1900 date system. Pure calendar arithmetic: no time zone
// data, no locale.

#ifndef WAYBILL_XLSX_CELL_DATE_H_
#define WAYBILL_XLSX_CELL_DATE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace waybill::xlsx {

// From here on every program agrees on the serials: Excel counts a 29 February 1900 that never was.
inline constexpr std::int64_t kFirstSerial = 61;        // 1900-03-01
inline constexpr std::int64_t kLastSerial = 2'958'465;  // 9999-12-31
inline constexpr std::int64_t kSecondsPerDay = 86'400;

// A moment as a spreadsheet shows it.
struct Serial {
  std::int64_t day = 0;     // kFirstSerial..kLastSerial
  std::int64_t second = 0;  // 0..86,399
};

// Reads YYYY-MM-DD, optionally followed by T or a blank and HH:MM[:SS[.fraction]], then optionally
// by Z or an offset
// (+HH:MM, +HHMM, +HH, at most 18 hours). A fraction is cut, never rounded: the date must not
// change. A time with an offset is moved to the zone that `zone_offset_seconds` describes (unset:
// UTC). Nothing for any other text, for a day that no calendar has, and outside
// 1900-03-01..9999-12-31.
std::optional<Serial> parse_serial(
    std::string_view text, const std::function<std::int64_t(std::int64_t)>& zone_offset_seconds);

// The same for a moment without zone; nothing outside the range.
std::optional<Serial> serial_of(std::int64_t local_unix_seconds);

// Writes the serial to `p` (at most kMaxSerialBytes) and returns the end. Nine decimals: steps of
// 86 microseconds, and no more than the 15 digits that Excel keeps; never below the exact value.
inline constexpr std::size_t kMaxSerialBytes = 24;
char* put_serial(char* p, Serial serial, bool with_time);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_CELL_DATE_H_
