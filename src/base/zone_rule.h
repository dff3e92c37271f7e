// What holds in a time zone behind the last entry of its table: the rule in the form of POSIX TZ
// ("CET-1CEST,M3.5.0,M10.5.0/3", RFC 8536 3.3) that ends its file.

#ifndef WAYBILL_BASE_ZONE_RULE_H_
#define WAYBILL_BASE_ZONE_RULE_H_

#include <cstdint>
#include <memory>
#include <string>

namespace waybill::base {

// Immutable and thread-safe.
class ZoneRule {
 public:
  // Null for text that is no such rule.
  static std::shared_ptr<const ZoneRule> parse(const std::string& text);
  virtual ~ZoneRule() = default;

  // Seconds to add to UTC at this moment.
  [[nodiscard]] virtual std::int64_t offset_seconds(std::int64_t utc_seconds) const = 0;
};

}  // namespace waybill::base

#endif  // WAYBILL_BASE_ZONE_RULE_H_
