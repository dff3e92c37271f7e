#include "api/jwt.h"

#include <cjose/cjose.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <utility>

#include "api/json_reader.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "core/validate.h"
#include "http/server.h"

namespace waybill::api {
namespace {

constexpr base::Millis kMsPerSecond = 1'000;
constexpr base::Millis kMaxNumericDate = 253'402'300'799;  // 9999-12-31T23:59:59Z
constexpr std::array<std::string_view, 8> kWellKnownSecrets{"changeme",
                                                            "secret",
                                                            "password",
                                                            "your-256-bit-secret",
                                                            "0123456789abcdef0123456789abcdef",
                                                            "supersecretsupersecretsupersecret",
                                                            "please-change-me-please-change-me",
                                                            "your-secret-key-your-secret-key-00"};

template <auto release>
struct Release {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};
using Key = std::unique_ptr<cjose_jwk_t, Release<cjose_jwk_release>>;
using Jws = std::unique_ptr<cjose_jws_t, Release<cjose_jws_release>>;
using Header = std::unique_ptr<cjose_header_t, Release<cjose_header_release>>;

base::Error refused(std::string message) {
  base::Error error = base::denied(std::move(message));
  error.code = "UNAUTHENTICATED";
  return error;
}

Key make_key(const std::string& secret) {
  cjose_err error{};
  return Key(cjose_jwk_create_oct_spec(reinterpret_cast<const std::uint8_t*>(secret.data()),
                                       secret.size(), &error));
}

bool is_base64url(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_';
  });
}

std::optional<std::string> decode_base64url(std::string_view text) {
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  cjose_err error{};
  if (!cjose_base64url_decode(text.data(), text.size(), &bytes, &size, &error)) return std::nullopt;
  std::string out(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return out;
}

// A whole number of seconds, or one with a fraction, which is cut.
std::optional<base::Millis> numeric_date(const JsonField& claim) {
  if (claim.kind != JsonKind::kInteger && claim.kind != JsonKind::kNumber) return std::nullopt;
  const double seconds = std::strtod(claim.text.c_str(), nullptr);
  if (!(seconds >= 0 && seconds <= static_cast<double>(kMaxNumericDate))) return std::nullopt;
  return static_cast<base::Millis>(seconds) * kMsPerSecond;
}

class JwtAuthenticator final : public Authenticator {
 public:
  JwtAuthenticator(JwtSettings settings, std::vector<Key> keys, const base::Clock& clock)
      : settings_(std::move(settings)), keys_(std::move(keys)), clock_(clock) {}

  base::Result<Identity> authenticate(const http::Request& request) override {
    const std::string_view header = request.header("authorization");
    constexpr std::string_view kScheme = "bearer ";
    if (header.empty()) return refused("no token was sent");
    const bool is_bearer =
        header.size() > kScheme.size() &&
        std::equal(kScheme.begin(), kScheme.end(), header.begin(), [](char a, char b) {
          return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
        });
    if (!is_bearer) return refused("no token was sent");
    const std::string_view token = base::trim(header.substr(kScheme.size()));
    if (token.size() > kMaxTokenBytes) return refused("the token is too long");
    WAYBILL_ASSIGN(const std::string payload, verify(token));
    const auto claims = read_json_object(payload);
    if (!claims.ok()) return refused("the token's claims are not one JSON object");
    WAYBILL_TRY(check_times(*claims));
    WAYBILL_TRY(check_parties(*claims));
    return identify(*claims);
  }

 private:
  // The payload of a token that one of the keys signed.
  [[nodiscard]] base::Result<std::string> verify(std::string_view token) const {
    const std::vector<std::string_view> parts = base::split(token, '.');
    if (parts.size() != 3 || !std::ranges::all_of(parts, is_base64url))
      return refused("this is not a signed token");
    // Before anything is computed: the token has no say in how it is checked.
    const auto header_text = decode_base64url(parts[0]);
    if (!header_text) return refused("this is not a signed token");
    const auto header = read_json_object(*header_text);
    if (!header.ok()) return refused("the token's header is not one JSON object");
    const JsonField* const algorithm = find_field(*header, "alg");
    if (algorithm == nullptr || algorithm->kind != JsonKind::kString ||
        algorithm->text != settings_.algorithm) {
      return refused("the token is not signed with " + settings_.algorithm);
    }
    if (find_field(*header, "crit") != nullptr) return refused("the token demands an extension");
    for (const Key& key : keys_) {
      cjose_err error{};
      const Jws jws(cjose_jws_import(token.data(), token.size(), &error));
      if (jws == nullptr) return refused("this is not a signed token");
      if (!cjose_jws_verify(jws.get(), key.get(), &error)) continue;
      std::uint8_t* bytes = nullptr;  // owned by jws
      std::size_t size = 0;
      if (!cjose_jws_get_plaintext(jws.get(), &bytes, &size, &error)) continue;
      return std::string(reinterpret_cast<const char*>(bytes), size);
    }
    return refused("the token's signature is wrong");
  }

  [[nodiscard]] base::Status check_times(const std::vector<JsonField>& claims) const {
    const base::Millis now = clock_.wall_ms();
    const JsonField* const expires = find_field(claims, "exp");
    if (expires == nullptr) return refused("the token has no exp");
    const auto until = numeric_date(*expires);
    if (!until) return refused("the token's exp is not a number of seconds");
    if (*until + kTokenSkewMs <= now) return refused("the token has expired");
    if (const JsonField* const begins = find_field(claims, "nbf")) {
      const auto from = numeric_date(*begins);
      if (!from) return refused("the token's nbf is not a number of seconds");
      if (*from - kTokenSkewMs > now) return refused("the token is not valid yet");
    }
    return {};
  }

  [[nodiscard]] base::Status check_parties(const std::vector<JsonField>& claims) const {
    if (!settings_.issuer.empty()) {
      const JsonField* const issuer = find_field(claims, "iss");
      if (issuer == nullptr || issuer->kind != JsonKind::kString ||
          issuer->text != settings_.issuer) {
        return refused("the token comes from another issuer");
      }
    }
    if (settings_.audience.empty()) return {};
    const JsonField* const audience = find_field(claims, "aud");
    if (audience != nullptr && audience->kind == JsonKind::kString &&
        audience->text == settings_.audience)
      return {};
    if (audience != nullptr && audience->kind == JsonKind::kArray) {
      const auto names = read_json_strings(audience->text);
      if (names.ok() && std::ranges::find(*names, settings_.audience) != names->end()) return {};
    }
    return refused("the token is meant for another audience");
  }

  [[nodiscard]] base::Result<Identity> identify(const std::vector<JsonField>& claims) const {
    Identity who;
    WAYBILL_TRY(take(claims, settings_.claims.user, core::kMaxRequestedByLength, who.user));
    WAYBILL_TRY(take(claims, settings_.claims.tenant, core::kMaxTenantLength, who.tenant));
    WAYBILL_TRY(take(claims, settings_.claims.app_code, core::kMaxAppCodeLength, who.app_code));
    std::string domain;
    WAYBILL_TRY(take(claims, settings_.claims.access_domain, core::kMaxTypeLength, domain));
    if (domain == to_string(registry::AppScope::kPlatform)) {
      who.access_domain = registry::AppScope::kPlatform;
    } else if (domain == to_string(registry::AppScope::kMerchant)) {
      who.access_domain = registry::AppScope::kMerchant;
    } else {
      return refused("the token's access domain is neither PLATFORM nor MERCHANT");
    }
    if (const JsonField* const granted = find_field(claims, settings_.claims.permissions)) {
      std::vector<std::string> words;
      if (granted->kind == JsonKind::kArray) {
        auto list = read_json_strings(granted->text);
        if (!list.ok()) return refused("the token's permissions are not words");
        words = std::move(list).value();
      } else if (granted->kind == JsonKind::kString) {
        for (const std::string_view word : base::split(granted->text, ' '))
          words.emplace_back(word);
      } else {
        return refused("the token's permissions are not words");
      }
      if (words.size() > kMaxPermissions) return refused("the token has too many permissions");
      who.permissions.insert(words.begin(), words.end());
      who.permissions.erase(std::string());
    }
    return who;
  }

  static base::Status take(const std::vector<JsonField>& claims, const std::string& name,
                           std::size_t max_length, std::string& out) {
    const JsonField* const claim = find_field(claims, name);
    const bool good = claim != nullptr && claim->kind == JsonKind::kString &&
                      core::check_text(name, claim->text, max_length).ok();
    if (!good) return refused("the token's claim " + name + " is missing or not a usable text");
    out = claim->text;
    return {};
  }

  const JwtSettings settings_;
  const std::vector<Key> keys_;
  const base::Clock& clock_;
};

}  // namespace

base::Status check_secret(std::string_view secret) {
  const std::string field = "auth.jwt.secret";
  if (secret.empty()) return base::invalid(field, "the token secret is missing");
  if (std::ranges::find(kWellKnownSecrets, secret) != kWellKnownSecrets.end() ||
      std::ranges::all_of(secret, [&](char c) { return c == secret.front(); })) {
    return base::invalid(field, "the token secret is one that everybody knows");
  }
  if (secret.size() < kMinSecretBytes) {
    return base::invalid(
        field, "the token secret is shorter than " + std::to_string(kMinSecretBytes) + " bytes");
  }
  return {};
}

base::Result<std::unique_ptr<Authenticator>> make_jwt_authenticator(JwtSettings settings,
                                                                    const base::Clock& clock) {
  if (settings.algorithm != CJOSE_HDR_ALG_HS256) {
    return base::invalid("auth.jwt.algorithm",
                         "the only token algorithm with a shared secret is HS256");
  }
  if (settings.secrets.empty())
    return base::invalid("auth.jwt.secret", "the token secret is missing");
  std::vector<Key> keys;
  for (const std::string& secret : settings.secrets) {
    if (secret.empty()) return base::invalid("auth.jwt.secret", "the token secret is empty");
    keys.push_back(make_key(secret));
    if (keys.back() == nullptr) return base::internal("the token secret cannot be made into a key");
  }
  return std::unique_ptr<Authenticator>(
      new JwtAuthenticator(std::move(settings), std::move(keys), clock));
}

base::Result<std::string> sign_demo_token(const JwtSettings& settings, const Identity& identity,
                                          base::Millis now_ms, base::Millis valid_ms) {
  if (settings.secrets.empty())
    return base::invalid("auth.jwt.secret", "the token secret is missing");
  base::JsonWriter claims;
  claims.begin_object();
  claims.field(settings.claims.user, identity.user).field(settings.claims.tenant, identity.tenant);
  claims.field(settings.claims.app_code, identity.app_code);
  claims.field(settings.claims.access_domain, to_string(identity.access_domain));
  claims.key(settings.claims.permissions).begin_array();
  for (const std::string& permission : identity.permissions) claims.value(permission);
  claims.end_array();
  if (!settings.issuer.empty()) claims.field("iss", settings.issuer);
  if (!settings.audience.empty()) claims.field("aud", settings.audience);
  claims.field("iat", now_ms / kMsPerSecond)
      .field("exp", (now_ms + valid_ms) / kMsPerSecond)
      .end_object();

  cjose_err error{};
  const Header header(cjose_header_new(&error));
  const Key key = make_key(settings.secrets.front());
  if (header == nullptr || key == nullptr ||
      !cjose_header_set(header.get(), CJOSE_HDR_ALG, CJOSE_HDR_ALG_HS256, &error)) {
    return base::internal("a token cannot be signed");
  }
  const std::string& text = claims.text();
  const Jws jws(cjose_jws_sign(key.get(), header.get(),
                               reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                               &error));
  const char* compact = nullptr;  // owned by jws
  if (jws == nullptr || !cjose_jws_export(jws.get(), &compact, &error)) {
    return base::internal("a token cannot be signed");
  }
  return std::string(compact);
}

}  // namespace waybill::api
