// The Retry-After header (RFC 9110 §10.2.3): seconds, or a date.

#ifndef WAYBILL_EXPORTING_RETRY_AFTER_H_
#define WAYBILL_EXPORTING_RETRY_AFTER_H_

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace waybill::exporting {

// "Sun, 06 Nov 1994 08:49:37 GMT" as wall milliseconds; the two obsolete forms are not read.
std::optional<base::Millis> parse_http_date(std::string_view text);

// How long the other side asks to be left alone, >= 0 and at most kMaxRetryAfter; nullopt for an
// empty or malformed header. `date_header`: its own idea of now, so that a clock difference does
// not count; `wall_ms` where it is absent.
std::optional<base::Millis> parse_retry_after(std::string_view header, std::string_view date_header,
                                              base::Millis wall_ms);

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_RETRY_AFTER_H_
