#include "http/router.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/text.h"

namespace waybill::http {
namespace {

constexpr std::size_t kMaxSegments = 32;

bool is_name(std::string_view segment) {
  return segment.starts_with('{') && segment.ends_with('}');
}

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string_view>& path) {
  if (pattern.size() != path.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (is_name(pattern[i]) ? path[i].empty() : pattern[i] != path[i]) return false;
  }
  return true;
}

}  // namespace

Router::Router(std::vector<Route> routes) {
  for (Route& route : routes) {
    Compiled compiled;
    WAYBILL_CHECK(route.pattern.starts_with('/'), "a route's pattern starts with a slash");
    const std::string_view pattern(route.pattern);
    for (const std::string_view segment : base::split(pattern.substr(1), '/')) {
      const bool literal = !is_name(segment);
      compiled.literals = compiled.literals << 1 | static_cast<std::uint64_t>(literal);
      compiled.segments.emplace_back(segment);
    }
    WAYBILL_CHECK(compiled.segments.size() <= kMaxSegments, "a route has at most 32 segments");
    compiled.route = std::move(route);
    routes_.push_back(std::move(compiled));
  }
  std::ranges::sort(routes_, std::ranges::greater(), &Compiled::literals);
}

Router::Match Router::find(std::string_view method, std::string_view path) const {
  Match match;
  if (!path.starts_with('/')) return match;
  const std::vector<std::string_view> segments = base::split(path.substr(1), '/');
  if (segments.size() > kMaxSegments) return match;
  std::set<std::string> allowed;
  for (const Compiled& candidate : routes_) {
    if (!fits(candidate.segments, segments)) continue;
    const std::string& offered = candidate.route.method;
    if (offered == method || (method == "HEAD" && offered == "GET")) {
      match.route = &candidate.route;
      for (std::size_t i = 0; i < segments.size(); ++i) {
        const std::string& name = candidate.segments[i];
        if (is_name(name)) match.values.emplace(name.substr(1, name.size() - 2), segments[i]);
      }
      return match;
    }
    allowed.insert(offered);
    if (offered == "GET") allowed.insert("HEAD");
  }
  for (const std::string& name : allowed) match.allow += (match.allow.empty() ? "" : ", ") + name;
  return match;
}

}  // namespace waybill::http
