// What holds in a time zone behind the last entry of its table: the rule in the form of POSIX TZ
// ("CET-1CEST,M3.5.0,M10.5.0/3") that ends its file (RFC 8536 3.3, with the times of day of
// version 3: -167 to 167 hours).

#ifndef WAYBILL_BASE_ZONE_RULE_H_
#define WAYBILL_BASE_ZONE_RULE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace waybill::base {

// Immutable and thread-safe.
class ZoneRule {
 public:
  // Nothing for text that is no such rule.
  static std::optional<ZoneRule> parse(std::string_view text);

  // Seconds to add to UTC at this moment.
  [[nodiscard]] std::int64_t offset_seconds(std::int64_t utc_seconds) const;

 private:
  // A change of the clocks, the same every year.
  struct Change {
    enum class Kind : std::uint8_t {
      kMonth,      // Mm.w.d: weekday d of week w of month m; w = 5 is the last
      kDay,        // n: day 0..365
      kDayNoLeap,  // Jn: day 1..365, 29 February is never counted
    };
    Kind kind = Kind::kMonth;
    int month = 0, week = 0, day = 0;
    std::int64_t seconds = 7'200;  // of the day, by the clock that is changed

    // Seconds since 1970-01-01 as that clock shows them.
    [[nodiscard]] std::int64_t in_year(int year) const;
  };
  friend class ZoneRuleReader;

  std::int64_t standard_ = 0;  // seconds east of UTC
  std::int64_t summer_ = 0;
  bool changes_ = false;
  Change to_summer_, to_standard_;
};

}  // namespace waybill::base

#endif  // WAYBILL_BASE_ZONE_RULE_H_
