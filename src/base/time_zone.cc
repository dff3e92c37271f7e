#include "base/time_zone.h"

#include <date/date.h>
#include <date/tz.h>
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>

namespace waybill::base {
namespace {
date::sys_time<std::chrono::milliseconds> as_time(Millis ms) {
  return date::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(ms));
}

constexpr const char* kZoneFolder = "/usr/share/zoneinfo/";
constexpr std::size_t kMaxRuleBytes = 200;
// Behind every entry of a zone's table, which ends in 2037 for most zones and in 2087 for some.
constexpr date::sys_days kForEver = date::year(10'000) / 1 / 1;

// The last line of a zone's file, a rule in the form of POSIX TZ (RFC 8536 3.3); empty when there
// is none.
std::string footer_of(const std::string& zone) {
  std::ifstream file(kZoneFolder + zone, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!bytes.starts_with("TZif") || !bytes.ends_with('\n')) return {};
  const std::size_t begin = bytes.rfind('\n', bytes.size() - 2);
  if (begin == std::string::npos || bytes.size() - begin > kMaxRuleBytes) return {};
  return bytes.substr(begin + 1, bytes.size() - begin - 2);
}

}  // namespace

TimeZone::TimeZone() = default;

Result<TimeZone> TimeZone::find(std::string_view name) {
  TimeZone zone;
  if (name == "UTC") return zone;
  try {
    const date::time_zone* found =
        name.empty() ? date::current_zone() : date::locate_zone(std::string(name));
    zone.zone_ = found;
    zone.name_ = found->name();
    zone.last_rule_ = ZoneRule::parse(footer_of(zone.name_));
    return zone;
  } catch (const std::exception&) {
    if (name.empty()) return TimeZone();  // a machine without a zone setting runs in UTC
    return invalid(
        "time_zone",
        fmt::format("unknown time zone \"{}\"; use an IANA name such as Asia/Shanghai", name));
  }
}

std::int64_t TimeZone::offset_seconds(Millis utc_ms) const {
  if (zone_ == nullptr) return 0;
  const auto seconds = date::floor<std::chrono::seconds>(as_time(utc_ms));
  const auto* zone = static_cast<const date::time_zone*>(zone_);
  const date::sys_info info = zone->get_info(seconds);
  if (info.end > kForEver && last_rule_)
    return last_rule_->offset_seconds(seconds.time_since_epoch().count());
  return info.offset.count();
}

std::string TimeZone::iso(Millis utc_ms) const {
  const std::int64_t offset = offset_seconds(utc_ms);
  const auto local = as_time(utc_ms + offset * 1000);
  const auto day = date::floor<date::days>(local);
  const date::year_month_day ymd(day);
  const date::hh_mm_ss<std::chrono::milliseconds> time(local - day);
  const std::int64_t minutes = (offset < 0 ? -offset : offset) / 60;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}{}{:02}:{:02}",
                     static_cast<int>(ymd.year()), static_cast<unsigned>(ymd.month()),
                     static_cast<unsigned>(ymd.day()), time.hours().count(), time.minutes().count(),
                     time.seconds().count(), time.subseconds().count(), offset < 0 ? '-' : '+',
                     minutes / 60, minutes % 60);
}

std::string TimeZone::clock_time(Millis utc_ms) const { return iso(utc_ms).substr(11, 8); }

Result<Millis> parse_iso(std::string_view text) {
  const Error bad = invalid("", "a time must look like 2026-11-30T14:23:59.123+08:00");
  const auto digits = [&](std::size_t count) -> int {
    int number = -1;
    if (text.size() < count) return -1;
    const std::string_view head = text.substr(0, count);
    const auto [end, error] = std::from_chars(head.data(), head.data() + head.size(), number);
    if (error != std::errc() || end != head.data() + head.size() || head[0] == '-') return -1;
    text.remove_prefix(count);
    return number;
  };
  const auto skip = [&](char c) {
    if (text.empty() || text[0] != c) return false;
    text.remove_prefix(1);
    return true;
  };
  const int year = digits(4);
  if (year < 0 || !skip('-')) return bad;
  const int month = digits(2);
  if (month < 0 || !skip('-')) return bad;
  const int day = digits(2);
  if (day < 0 || !(skip('T') || skip(' '))) return bad;
  const int hour = digits(2);
  if (hour < 0 || hour > 23 || !skip(':')) return bad;
  const int minute = digits(2);
  if (minute < 0 || minute > 59) return bad;
  int second = 0;
  int millis = 0;
  if (skip(':')) {
    second = digits(2);
    if (second < 0 || second > 59) return bad;
    if (skip('.')) {
      int scale = 100;
      if (text.empty() || text[0] < '0' || text[0] > '9') return bad;
      for (; !text.empty() && text[0] >= '0' && text[0] <= '9';
           text.remove_prefix(1), scale /= 10) {
        millis += (text[0] - '0') * scale;
      }
    }
  }
  int offset_minutes = 0;
  if (!skip('Z')) {
    const int sign = skip('+') ? 1 : (skip('-') ? -1 : 0);
    if (sign == 0) return bad;
    const int hours = digits(2);
    if (hours < 0 || hours > 18) return bad;
    skip(':');
    const int minutes = digits(2);
    if (minutes < 0 || minutes > 59) return bad;
    offset_minutes = sign * (hours * 60 + minutes);
  }
  if (!text.empty()) return bad;
  const date::year_month_day ymd{date::year(year), date::month(static_cast<unsigned>(month)),
                                 date::day(static_cast<unsigned>(day))};
  if (!ymd.ok()) return bad;
  const auto days = date::sys_days(ymd).time_since_epoch().count();
  return ((static_cast<Millis>(days) * 24 + hour) * 60 + minute - offset_minutes) * 60'000 +
         Millis{second} * 1'000 + millis;
}

}  // namespace waybill::base
