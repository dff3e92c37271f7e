#include "xlsx/date_serial.h"

#include <chrono>
#include <cmath>
#include <cstdio>

#include "xlsx/cell_date.h"

namespace waybill::xlsx {
namespace {

constexpr std::int64_t kMillisPerDay = kSecondsPerDay * 1'000;
constexpr std::int64_t kGhostDay = 60;        // Excel's 1900-02-29
constexpr std::int64_t kEpoch1900 = -25'569;  // 1899-12-30: right from 1900-03-01 on
constexpr std::int64_t kEpoch1904 = -24'107;  // 1904-01-01
constexpr std::int64_t kShift1904 = kEpoch1904 - kEpoch1900;

void set_time(DateTime& out, std::int64_t millis) {
  out.millisecond = static_cast<std::uint16_t>(millis % 1'000);
  out.second = static_cast<std::uint8_t>(millis / 1'000 % 60);
  out.minute = static_cast<std::uint8_t>(millis / 60'000 % 60);
  out.hour = static_cast<std::uint8_t>(millis / 3'600'000);
}

template <typename... Numbers>
std::string format(const char* pattern, Numbers... numbers) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, numbers...);
  return text;
}

}  // namespace

std::optional<DateTime> date_of_serial(double serial, bool date_1904) {
  const std::int64_t last = kLastSerial - (date_1904 ? kShift1904 : 0);
  if (!(serial >= 0) || serial >= static_cast<double>(last + 1)) return std::nullopt;
  const double whole = std::floor(serial);
  auto day = static_cast<std::int64_t>(whole);
  std::int64_t millis = std::llround((serial - whole) * static_cast<double>(kMillisPerDay));
  if (millis == kMillisPerDay) {
    millis = 0;
    ++day;
  }
  if (day > last || (!date_1904 && day == kGhostDay)) return std::nullopt;
  DateTime out;
  set_time(out, millis);
  if (!date_1904 && day == 0) return out;
  const bool before_ghost = !date_1904 && day < kGhostDay;
  const std::int64_t unix_day =
      day + (date_1904 ? kEpoch1904 : kEpoch1900) + (before_ghost ? 1 : 0);
  const std::chrono::year_month_day ymd{std::chrono::sys_days(std::chrono::days(unix_day))};
  out.year = static_cast<std::int16_t>(static_cast<int>(ymd.year()));
  out.month = static_cast<std::uint8_t>(static_cast<unsigned>(ymd.month()));
  out.day = static_cast<std::uint8_t>(static_cast<unsigned>(ymd.day()));
  return out;
}

std::string date_text(const DateTime& date) {
  return format("%04d-%02d-%02d", date.year, date.month, date.day);
}

std::string time_text(const DateTime& date) {
  const std::string text = format("%02d:%02d:%02d", date.hour, date.minute, date.second);
  return date.millisecond == 0 ? text : text + format(".%03d", date.millisecond);
}

std::string date_time_text(const DateTime& date) { return date_text(date) + "T" + time_text(date); }

std::string duration_text(double days) {
  const std::int64_t millis = std::llround(days * static_cast<double>(kMillisPerDay));
  const std::int64_t rest = std::abs(millis);
  std::string out = millis < 0 ? "-PT" : "PT";
  if (const std::int64_t hours = rest / 3'600'000) out += std::to_string(hours) + "H";
  if (const std::int64_t minutes = rest / 60'000 % 60) out += std::to_string(minutes) + "M";
  const std::int64_t seconds = rest % 60'000;
  if (seconds % 1'000 != 0) {
    out += format("%d.%03dS", static_cast<int>(seconds / 1'000), static_cast<int>(seconds % 1'000));
  } else if (seconds != 0 || rest == 0) {
    out += std::to_string(seconds / 1'000) + "S";
  }
  return out;
}

}  // namespace waybill::xlsx
