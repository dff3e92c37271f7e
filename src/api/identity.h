// Who is asking: the result of authentication, and the seam behind which tokens are checked.

#ifndef WAYBILL_API_IDENTITY_H_
#define WAYBILL_API_IDENTITY_H_

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "registry/registry.h"

namespace waybill::http {
struct Request;
}

namespace waybill::api {

// Permissions that the API itself asks for; a type's own permission stands in the registry.
inline constexpr std::string_view kListPermission = "platform:download:list";
inline constexpr std::string_view kAllPermission = "platform:download:all";
inline constexpr std::string_view kPrioritizePermission = "platform:task:prioritize";

// Tenant, user and rights come from here alone, never from a path, a query, a header or a body.
struct Identity {
  std::string user;      // 1..64 characters
  std::string tenant;    // 1..64
  std::string app_code;  // 1..32
  registry::AppScope access_domain = registry::AppScope::kPlatform;
  std::set<std::string, std::less<>> permissions;

  [[nodiscard]] bool may(std::string_view permission) const {
    return permissions.contains(permission);
  }
};

// Thread-safe.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // kDenied with code UNAUTHENTICATED when the request does not prove who sends it. The message
  // never repeats any part of a credential.
  virtual base::Result<Identity> authenticate(const http::Request& request) = 0;
};

}  // namespace waybill::api

#endif  // WAYBILL_API_IDENTITY_H_
