// Absolute URLs, taken apart strictly. What another parser might read differently (user names,
// back-slashes, encoded or numeric hosts, blanks) is refused rather than understood, so that the
// host that was checked is the host that is contacted.

#ifndef WAYBILL_CLIENT_URL_H_
#define WAYBILL_CLIENT_URL_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace waybill::client {

inline constexpr std::size_t kMaxUrlBytes = 8'192;

struct Url {
  bool tls = false;
  std::string host;    // lower case; IPv6 in its shortest form, with brackets
  int port = 0;        // 1..65535
  std::string target;  // path and query, starts with '/'

  [[nodiscard]] std::string place() const { return host + ":" + std::to_string(port); }
  // Equal for equal scheme, host and port.
  [[nodiscard]] std::string origin() const { return (tls ? "https://" : "http://") + place(); }
};

// kInvalid with `field`. The message never repeats the text, which may hold secrets.
base::Result<Url> parse_url(std::string_view text, std::string_view field);

}  // namespace waybill::client

#endif  // WAYBILL_CLIENT_URL_H_
