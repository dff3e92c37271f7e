#include "exporting/retry_after.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "base/time_zone.h"
#include "exporting/settings.h"

namespace waybill::exporting {

std::optional<base::Millis> parse_http_date(std::string_view text) {
  // Fixed positions: the form has no optional parts.
  constexpr std::size_t kLength = 29;
  static constexpr std::array<std::string_view, 12> kMonths{
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != kLength || text.substr(3, 2) != ", " || text.substr(25) != " GMT") {
    return std::nullopt;
  }
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  if (month == kMonths.end()) return std::nullopt;
  const auto number = month - kMonths.begin() + 1;
  std::string iso(text.substr(12, 4));
  iso += (number < 10 ? "-0" : "-") + std::to_string(number) + '-';
  iso.append(text.substr(5, 2)).append("T").append(text.substr(17, 8)).append("Z");
  const auto parsed = base::parse_iso(iso);
  if (!parsed.ok()) return std::nullopt;
  return parsed.value();
}

std::optional<base::Millis> parse_retry_after(std::string_view header, std::string_view date_header,
                                              base::Millis wall_ms) {
  const std::string_view text = base::trim(header);
  if (text.empty()) return std::nullopt;
  if (text.find_first_not_of("0123456789") == std::string_view::npos) {
    // More digits than 64 bits hold are simply "very long".
    const auto seconds = base::parse_int(text);
    const base::Millis most = kMaxRetryAfter / 1'000;
    return seconds ? std::min(*seconds, most) * 1'000 : kMaxRetryAfter;
  }
  const auto until = parse_http_date(text);
  if (!until) return std::nullopt;
  const base::Millis now = parse_http_date(base::trim(date_header)).value_or(wall_ms);
  return std::clamp<base::Millis>(*until - now, 0, kMaxRetryAfter);
}

}  // namespace waybill::exporting
