// A request target taken apart: strict percent-decoding (RFC 3986 §2.1), no traversal.

#ifndef WAYBILL_HTTP_TARGET_H_
#define WAYBILL_HTTP_TARGET_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "http/failure.h"

namespace waybill::http {

inline constexpr std::size_t kMaxQueryValues = 64;

struct Target {
  std::string path;                                        // decoded, starts with '/'
  std::vector<std::pair<std::string, std::string>> query;  // decoded ('+' is a blank), in order
};

// 400 for broken escapes, control characters, bytes that are not UTF-8, and targets that are
// neither a path nor an http(s) URL. 404 for "." and ".." segments and for '/' or '\' in disguise:
// there is nothing behind such a path.
std::variant<Target, Failure> parse_target(std::string_view target);

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_TARGET_H_
