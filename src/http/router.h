// Finds the route of a path. Patterns are literal segments and "{name}" for one whole, non-empty
// segment.

#ifndef WAYBILL_HTTP_ROUTER_H_
#define WAYBILL_HTTP_ROUTER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"

namespace waybill::http {

// Immutable, so thread-safe.
class Router {
 public:
  explicit Router(std::vector<Route> routes);

  struct Match {
    const Route* route = nullptr;  // null: see `allow`
    std::map<std::string, std::string, std::less<>> values;
    std::string
        allow;  // the path exists, but not for this method: the methods it has. Empty: no such path
  };
  // Of several patterns that fit, the one with a literal at the first difference wins. HEAD finds
  // GET.
  [[nodiscard]] Match find(std::string_view method, std::string_view path) const;

 private:
  struct Compiled {
    std::vector<std::string> segments;
    std::uint64_t literals = 0;  // a 1 for each literal, the first segment in the highest bit
    Route route;
  };
  std::vector<Compiled> routes_;  // most specific first
};

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_ROUTER_H_
