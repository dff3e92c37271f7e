#include "client/http_client.h"

#include <algorithm>

#include "client/address.h"
#include "client/url.h"

namespace waybill::client {

std::string_view Response::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

base::Status AllowList::allow(std::string_view base_url) {
  WAYBILL_ASSIGN(const Url url, parse_url(base_url, "base_url"));
  if (forbidden_host(url.host)) {
    return base::invalid(
        "base_url", "the URL is refused: link-local and metadata addresses are never contacted");
  }
  const std::string origin = url.origin();
  if (std::find(origins_.begin(), origins_.end(), origin) == origins_.end()) {
    origins_.push_back(origin);
  }
  return {};
}

bool AllowList::allows(std::string_view url) const {
  const auto parsed = parse_url(url, "url");
  return parsed.ok() &&
         std::find(origins_.begin(), origins_.end(), parsed->origin()) != origins_.end();
}

}  // namespace waybill::client
