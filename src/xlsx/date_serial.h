// Serial numbers of both date systems as days and times of the calendar.

#ifndef WAYBILL_XLSX_DATE_SERIAL_H_
#define WAYBILL_XLSX_DATE_SERIAL_H_

#include <cstdint>
#include <optional>
#include <string>

namespace waybill::xlsx {

// A moment as the sheet shows it; no time zone.
struct DateTime {
  std::int16_t year = 0;  // 1900..9999; 0 for a time of day without a date
  std::uint8_t month = 0, day = 0, hour = 0, minute = 0, second = 0;
  std::uint16_t millisecond = 0;
  [[nodiscard]] bool has_date() const { return year != 0; }
  [[nodiscard]] bool has_time() const { return (hour | minute | second | millisecond) != 0; }
  friend bool operator==(const DateTime&, const DateTime&) = default;
};

// Rounded to milliseconds. A serial below 1 of the 1900 system is a time of day without a date.
// Nothing outside 0..9999-12-31, and for day 60 of the 1900 system, 29 February 1900, which never
// was.
std::optional<DateTime> date_of_serial(double serial, bool date_1904);

// "2026-11-30", "14:23:59", "2026-11-30T14:23:59.123".
std::string date_text(const DateTime& date);
std::string time_text(const DateTime& date);
std::string date_time_text(const DateTime& date);
// "-PT36H30M5S" for a number of days (ISO 8601); seconds with up to three decimals. REQUIRES:
// |days| <= kMaxDurationDays.
inline constexpr double kMaxDurationDays = 1e9;
std::string duration_text(double days);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_DATE_SERIAL_H_
