// Refuses request heads that two parsers could read differently (request smuggling, RFC 9112
// §11.2), before the real parser sees them. Stricter than the RFC where it leaves a choice: what is
// ambiguous is an error, never a guess.

#ifndef WAYBILL_HTTP_HEAD_CHECK_H_
#define WAYBILL_HTTP_HEAD_CHECK_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "http/failure.h"
#include "http/server.h"

namespace waybill::http {

inline constexpr std::size_t kMaxHeaderLines = 100;

// Looks at a head that is not complete yet: bare line ends, control characters (TLS on a plain
// port), an over-long target or head are refused as soon as they are seen, so that nobody waits for
// the rest. `from` is how far an earlier call came.
std::optional<Failure> check_partial_head(std::string_view bytes, std::size_t from,
                                          const Limits& limits);

// `head` ends with the empty line.
std::optional<Failure> check_head(std::string_view head, const Limits& limits);

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_HEAD_CHECK_H_
