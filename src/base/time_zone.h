// Time zones by IANA name, for what a person reads: ISO-8601 with offset in answers, local dates in
// files.

#ifndef WAYBILL_BASE_TIME_ZONE_H_
#define WAYBILL_BASE_TIME_ZONE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/zone_rule.h"

namespace waybill::base {

// A value; copies share the zone data. Thread-safe.
class TimeZone {
 public:
  TimeZone();  // UTC
  // "Asia/Shanghai", "UTC", ...; empty = the system's zone. kInvalid for an unknown name.
  static Result<TimeZone> find(std::string_view name);

  // Seconds to add to UTC at this moment.
  [[nodiscard]] std::int64_t offset_seconds(Millis utc_ms) const;
  // "2026-11-30T14:23:59.123+08:00"; UTC is written +00:00.
  [[nodiscard]] std::string iso(Millis utc_ms) const;
  // "14:23:59", for progress lines.
  [[nodiscard]] std::string clock_time(Millis utc_ms) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_ = "UTC";
  const void* zone_ = nullptr;         // date::time_zone, owned by the zone database; null = UTC
  std::optional<ZoneRule> last_rule_;  // behind the end of the zone's table
};

// Parses "2026-11-30T14:23:59.123+08:00" or "...Z" (seconds and fraction optional). kInvalid
// otherwise.
Result<Millis> parse_iso(std::string_view text);

}  // namespace waybill::base

#endif  // WAYBILL_BASE_TIME_ZONE_H_
