// Bearer tokens (JWS compact, RFC 7515/7519). The algorithm and the key come from the
// configuration, never from the token: `kid`, `jku`, `jwk`, `x5u` and `x5c` are not looked at,
// `crit` is refused.

#ifndef WAYBILL_API_JWT_H_
#define WAYBILL_API_JWT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/identity.h"
#include "base/clock.h"
#include "base/result.h"

namespace waybill::api {

inline constexpr std::size_t kMaxTokenBytes = 8u << 10;
inline constexpr std::size_t kMinSecretBytes = 32;  // RFC 7518 §3.2: at least the hash's size
inline constexpr base::Millis kTokenSkewMs = 60'000;
inline constexpr std::size_t kMaxPermissions = 1'000;

// Which claim carries what.
struct JwtClaims {
  std::string user = "sub";
  std::string tenant = "tenant";
  std::string app_code = "app_code";
  std::string access_domain = "access_domain";  // PLATFORM | MERCHANT
  std::string permissions =
      "permissions";  // an array of strings, or one string with blanks between
};

struct JwtSettings {
  std::string algorithm = "HS256";
  std::vector<std::string>
      secrets;           // the first signs; all of them verify, so that a secret can be rotated
  std::string issuer;    // empty = not checked
  std::string audience;  // empty = not checked; `aud` may be a string or an array
  JwtClaims claims;
};

// kInvalid for a secret that is absent, shorter than kMinSecretBytes, made of one repeated
// character or well known.
base::Status check_secret(std::string_view secret);

// kInvalid for settings that cannot work (unknown algorithm, no secret). Does not call
// check_secret(): whether a weak secret is acceptable depends on where the server listens. `clock`
// must outlive the result.
base::Result<std::unique_ptr<Authenticator>> make_jwt_authenticator(JwtSettings settings,
                                                                    const base::Clock& clock);

// A token for `identity`, signed with the first secret, valid from now for `valid_ms`.
base::Result<std::string> sign_demo_token(const JwtSettings& settings, const Identity& identity,
                                          base::Millis now_ms, base::Millis valid_ms);

}  // namespace waybill::api

#endif  // WAYBILL_API_JWT_H_
