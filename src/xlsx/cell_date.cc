#include "xlsx/cell_date.h"

#include <charconv>

namespace waybill::xlsx {
namespace {

constexpr std::int64_t kUnixEpochSerial = 25'569;  // 1970-01-01
constexpr int kMaxOffsetHours = 18;                // the widest that common libraries write
constexpr int kFractionDigits = 9;
constexpr std::int64_t kFractionUnits = 1'000'000'000;

// Reads from the front of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  [[nodiscard]] bool at_end() const { return text_.empty(); }
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // Exactly `count` digits.
  bool digits(int count, int& value) {
    if (text_.size() < static_cast<std::size_t>(count)) return false;
    value = 0;
    for (int i = 0; i < count; ++i) {
      const char c = text_[static_cast<std::size_t>(i)];
      if (c < '0' || c > '9') return false;
      value = value * 10 + (c - '0');
    }
    text_.remove_prefix(static_cast<std::size_t>(count));
    return true;
  }
  // At least one digit, of any number; their value does not matter.
  bool skip_digits() {
    int ignored = 0;
    if (!digits(1, ignored)) return false;
    while (digits(1, ignored)) {
    }
    return true;
  }

 private:
  std::string_view text_;
};

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int days_in_month(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}

// Days since 1970-01-01 in the proleptic Gregorian calendar. REQUIRES: a day that exists, year >=
// 0.
std::int64_t days_from_civil(int year, int month, int day) {
  // Years start in March, so that the leap day comes last.
  const std::int64_t y = month <= 2 ? year - 1 : year;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719'468;
}

std::optional<std::int64_t> read_date(Reader& in) {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!in.digits(4, year) || !in.take('-') || !in.digits(2, month) || !in.take('-') ||
      !in.digits(2, day)) {
    return std::nullopt;
  }
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) return std::nullopt;
  return days_from_civil(year, month, day);
}

std::optional<std::int64_t> read_time(Reader& in) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (!in.digits(2, hour) || !in.take(':') || !in.digits(2, minute)) return std::nullopt;
  if (in.take(':')) {
    if (!in.digits(2, second)) return std::nullopt;
    if ((in.take('.') || in.take(',')) && !in.skip_digits()) return std::nullopt;
  }
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return (hour * 60 + minute) * 60 + second;
}

// Behind the time. REQUIRES: !in.at_end().
std::optional<std::int64_t> read_offset(Reader& in) {
  if (in.take('Z') || in.take('z')) return 0;
  const bool west = in.take('-');
  if (!west && !in.take('+')) return std::nullopt;
  int hours = 0;
  int minutes = 0;
  if (!in.digits(2, hours)) return std::nullopt;
  const bool colon = in.take(':');
  if ((colon || !in.at_end()) && !in.digits(2, minutes)) return std::nullopt;
  if (minutes > 59 || hours * 60 + minutes > kMaxOffsetHours * 60) return std::nullopt;
  const std::int64_t seconds = (std::int64_t{hours} * 60 + minutes) * 60;
  return west ? -seconds : seconds;
}

std::optional<Serial> in_range(Serial serial) {
  if (serial.day < kFirstSerial || serial.day > kLastSerial) return std::nullopt;
  return serial;
}

}  // namespace

std::optional<Serial> parse_serial(
    std::string_view text, const std::function<std::int64_t(std::int64_t)>& zone_offset_seconds) {
  Reader in(text);
  const std::optional<std::int64_t> date = read_date(in);
  if (!date) return std::nullopt;
  Serial serial{*date, 0};
  if (!in.at_end()) {
    if (!in.take('T') && !in.take(' ') && !in.take('t')) return std::nullopt;
    const std::optional<std::int64_t> time = read_time(in);
    if (!time) return std::nullopt;
    serial.second = *time;
    if (!in.at_end()) {
      const std::optional<std::int64_t> offset = read_offset(in);
      if (!offset || !in.at_end()) return std::nullopt;
      const std::int64_t utc = serial.day * kSecondsPerDay + serial.second - *offset;
      return serial_of(utc + (zone_offset_seconds ? zone_offset_seconds(utc) : 0));
    }
  }
  return in_range({serial.day + kUnixEpochSerial, serial.second});
}

std::optional<Serial> serial_of(std::int64_t local_unix_seconds) {
  const std::int64_t second =
      (local_unix_seconds % kSecondsPerDay + kSecondsPerDay) % kSecondsPerDay;
  const std::int64_t day =
      local_unix_seconds / kSecondsPerDay - (local_unix_seconds % kSecondsPerDay < 0 ? 1 : 0);
  return in_range({day + kUnixEpochSerial, second});
}

char* put_serial(char* p, Serial serial, bool with_time) {
  p = std::to_chars(p, p + kMaxSerialBytes, serial.day).ptr;
  if (!with_time || serial.second == 0) return p;
  // Rounded up: a program that cuts what its format does not show (LibreOffice) would show the
  // second before for anything below the whole second.
  auto fraction = static_cast<std::uint64_t>((serial.second * kFractionUnits + kSecondsPerDay - 1) /
                                             kSecondsPerDay);
  *p = '.';
  for (int i = kFractionDigits; i > 0; --i) {
    p[i] = static_cast<char>('0' + fraction % 10);
    fraction /= 10;
  }
  p += kFractionDigits;
  while (*p == '0') --p;
  return p + 1;
}

}  // namespace waybill::xlsx
