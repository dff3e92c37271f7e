#include "base/zone_rule.h"

#include <date/date.h>

#include <chrono>
#include <limits>

namespace waybill::base {
namespace {

constexpr std::int64_t kDaySeconds = 86'400;
constexpr int kMaxHours = 167;

std::int64_t seconds_of(date::sys_days day) {
  return std::chrono::duration_cast<std::chrono::seconds>(day.time_since_epoch()).count();
}

}  // namespace

// Takes a rule apart from its front.
class ZoneRuleReader {
 public:
  explicit ZoneRuleReader(std::string_view text) : text_(text) {}

  std::optional<ZoneRule> rule() {
    ZoneRule rule;
    std::int64_t west = 0;  // POSIX counts westwards
    if (!name() || !time(west)) return std::nullopt;
    rule.standard_ = -west;
    if (text_.empty()) return rule;
    if (!name()) return std::nullopt;
    rule.summer_ = rule.standard_ + 3'600;
    if (!text_.empty() && text_.front() != ',') {
      if (!time(west)) return std::nullopt;
      rule.summer_ = -west;
    }
    rule.changes_ = true;
    if (!change(rule.to_summer_) || !change(rule.to_standard_) || !text_.empty())
      return std::nullopt;
    return rule;
  }

 private:
  bool skip(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // One to three digits.
  bool number(int least, int most, int& out) {
    std::size_t digits = 0;
    out = 0;
    for (; digits < 3 && digits < text_.size(); ++digits) {
      const char c = text_[digits];
      if (c < '0' || c > '9') break;
      out = out * 10 + (c - '0');
    }
    text_.remove_prefix(digits);
    return digits > 0 && out >= least && out <= most;
  }
  // "CET" or "<+0330>"; what it says does not matter.
  bool name() {
    const bool quoted = skip('<');
    std::size_t size = 0;
    const auto belongs = [&](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
             (quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-'));
    };
    while (size < text_.size() && belongs(text_[size])) ++size;
    text_.remove_prefix(size);
    return size >= 3 && (!quoted || skip('>'));
  }
  // [+-]hh[:mm[:ss]]
  bool time(std::int64_t& seconds) {
    const bool negative = skip('-');
    if (!negative) skip('+');
    int part = 0;
    if (!number(0, kMaxHours, part)) return false;
    seconds = std::int64_t{3'600} * part;
    for (const int unit : {60, 1}) {
      if (!skip(':')) break;
      if (!number(0, 59, part)) return false;
      seconds += std::int64_t{unit} * part;
    }
    if (negative) seconds = -seconds;
    return true;
  }
  bool change(ZoneRule::Change& out) {
    if (!skip(',') || !day(out)) return false;
    return !skip('/') || time(out.seconds);
  }
  bool day(ZoneRule::Change& out) {
    using Kind = ZoneRule::Change::Kind;
    if (skip('M')) {
      out.kind = Kind::kMonth;
      return number(1, 12, out.month) && skip('.') && number(1, 5, out.week) && skip('.') &&
             number(0, 6, out.day);
    }
    out.kind = skip('J') ? Kind::kDayNoLeap : Kind::kDay;
    return number(out.kind == Kind::kDay ? 0 : 1, 365, out.day);
  }

  std::string_view text_;
};

std::optional<ZoneRule> ZoneRule::parse(std::string_view text) {
  return ZoneRuleReader(text).rule();
}

std::int64_t ZoneRule::Change::in_year(int year) const {
  const date::year y(year);
  const std::int64_t first = seconds_of(y / date::January / 1);
  switch (kind) {
    case Kind::kDay:
      return first + day * kDaySeconds + seconds;
    case Kind::kDayNoLeap: {
      constexpr int kFirstOfMarch = 60;
      const bool behind = y.is_leap() && day >= kFirstOfMarch;
      return first + (day - (behind ? 0 : 1)) * kDaySeconds + seconds;
    }
    case Kind::kMonth:
      break;
  }
  const auto m = date::month(static_cast<unsigned>(month));
  const auto weekday = date::weekday(static_cast<unsigned>(day));
  const date::sys_days found = week == 5
                                   ? date::sys_days(y / m / weekday[date::last])
                                   : date::sys_days(y / m / weekday[static_cast<unsigned>(week)]);
  return seconds_of(found) + seconds;
}

// The last change before a moment decides. A change may lie in the year before or behind the one
// that names it.
std::int64_t ZoneRule::offset_seconds(std::int64_t utc_seconds) const {
  if (!changes_) return standard_;
  const auto day =
      date::floor<date::days>(date::sys_seconds(std::chrono::seconds(utc_seconds + standard_)));
  const int year = static_cast<int>(date::year_month_day(day).year());
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  std::int64_t offset = standard_;
  for (int y = year - 1; y <= year + 1; ++y) {
    const std::int64_t back = to_standard_.in_year(y) - summer_;
    if (back <= utc_seconds && back > last) {
      last = back;
      offset = standard_;
    }
    const std::int64_t forth = to_summer_.in_year(y) - standard_;
    if (forth <= utc_seconds && forth >= last) {
      last = forth;
      offset = summer_;
    }
  }
  return offset;
}

}  // namespace waybill::base
