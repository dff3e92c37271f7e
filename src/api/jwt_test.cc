#include "api/jwt.h"

#include <cjose/cjose.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "http/server.h"

namespace waybill::api {
namespace {

const std::string kSecret = "a secret of the tests, long enough for it";

std::string base64url(const std::string& text) {
  char* out = nullptr;
  std::size_t size = 0;
  cjose_err error{};
  EXPECT_TRUE(cjose_base64url_encode(reinterpret_cast<const std::uint8_t*>(text.data()),
                                     text.size(), &out, &size, &error));
  std::string result(out, size);
  std::free(out);
  return result;
}

// A token with exactly this header and these claims, signed with HS256 whatever the header says.
std::string forge(const std::string& header, const std::string& claims,
                  const std::string& secret = kSecret) {
  cjose_err error{};
  cjose_jwk_t* key = cjose_jwk_create_oct_spec(reinterpret_cast<const std::uint8_t*>(secret.data()),
                                               secret.size(), &error);
  cjose_header_t* plain = cjose_header_new(&error);
  cjose_header_set(plain, CJOSE_HDR_ALG, CJOSE_HDR_ALG_HS256, &error);
  // The library writes its own header, so sign a text that has ours in front: HMAC over
  // "header.claims".
  cjose_jws_t* jws = cjose_jws_sign(
      key, plain, reinterpret_cast<const std::uint8_t*>(claims.data()), claims.size(), &error);
  const char* compact = nullptr;
  cjose_jws_export(jws, &compact, &error);
  const std::string own(compact);
  const auto parts = base::split(own, '.');
  std::string out = base64url(header) + "." + std::string(parts[1]) + "." + std::string(parts[2]);
  if (header == R"({"alg":"HS256"})") out = own;
  cjose_jws_release(jws);
  cjose_header_release(plain);
  cjose_jwk_release(key);
  return out;
}

class JwtTest : public ::testing::Test {
 protected:
  JwtTest() { settings_.secrets = {kSecret}; }

  base::Result<Identity> ask(const std::string& authorization) {
    auto authenticator = make_jwt_authenticator(settings_, clock_);
    EXPECT_TRUE(authenticator.ok());
    http::Request request;
    request.headers.emplace_back("authorization", authorization);
    return (*authenticator)->authenticate(request);
  }
  bool accepts(const std::string& token) { return ask("Bearer " + token).ok(); }
  bool accepts_claims(const std::string& claims) {
    return accepts(forge(R"({"alg":"HS256"})", claims));
  }
  // Claims of a good token, with `more` at the end.
  [[nodiscard]] std::string claims(const std::string& more = R"(,"exp":1700003600)") const {
    return R"({"sub":"u","tenant":"t","app_code":"A","access_domain":"PLATFORM","permissions":["p:q:r"])" +
           more + "}";
  }

  base::ManualClock clock_;  // stands at 1,700,000,000 s
  JwtSettings settings_;
  const Identity who_{"u1", "t1", "APP", registry::AppScope::kMerchant, {"a:b:c", "d:e:f"}};
};

TEST_F(JwtTest, WhatIsSignedIsRead) {
  const std::string token = sign_demo_token(settings_, who_, clock_.wall_ms(), 1'000).value();
  for (const std::string scheme : {"Bearer ", "bearer ", "BEARER  "}) {
    const auto read = ask(scheme + token);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->user, "u1");
    EXPECT_EQ(read->tenant, "t1");
    EXPECT_EQ(read->app_code, "APP");
    EXPECT_EQ(read->access_domain, registry::AppScope::kMerchant);
    EXPECT_EQ(read->permissions, who_.permissions);
  }
  EXPECT_TRUE(accepts_claims(claims()));
}

TEST_F(JwtTest, SecretsCanBeRotated) {
  const std::string old_token = sign_demo_token(settings_, who_, clock_.wall_ms(), 1'000).value();
  settings_.secrets = {"the next secret, also long enough for it", kSecret};
  EXPECT_TRUE(accepts(old_token));
  EXPECT_TRUE(accepts(sign_demo_token(settings_, who_, clock_.wall_ms(), 1'000).value()));
  settings_.secrets.pop_back();
  EXPECT_FALSE(accepts(old_token));
}

TEST_F(JwtTest, TimesAreCheckedWithSkew) {
  EXPECT_TRUE(accepts_claims(claims(R"(,"exp":1699999941)")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":1699999940)")));
  EXPECT_TRUE(accepts_claims(claims(R"(,"exp":1700003600.5)")));
  EXPECT_FALSE(accepts_claims(claims("")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":"1700003600")")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":null)")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":true)")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":-1)")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":1e300)")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":99999999999999999999999)")));
  EXPECT_TRUE(accepts_claims(claims(R"(,"exp":1700003600,"nbf":1700000060)")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":1700003600,"nbf":1700000061)")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":1700003600,"nbf":"0")")));
}

TEST_F(JwtTest, IssuerAndAudienceWhereConfigured) {
  settings_.issuer = "iss";
  settings_.audience = "aud";
  EXPECT_TRUE(accepts(sign_demo_token(settings_, who_, clock_.wall_ms(), 1'000).value()));
  EXPECT_TRUE(accepts_claims(claims(R"(,"exp":1700003600,"iss":"iss","aud":["x","aud"])")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":1700003600,"iss":"iss")")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":1700003600,"aud":"aud")")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":1700003600,"iss":"iss2","aud":"aud")")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":1700003600,"iss":"iss","aud":["aud2"])")));
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":1700003600,"iss":["iss"],"aud":"aud")")));
}

TEST_F(JwtTest, ForgeriesAreRefused) {
  const std::string good = forge(R"({"alg":"HS256"})", claims());
  ASSERT_TRUE(accepts(good));
  const auto parts = base::split(good, '.');
  const std::string body(parts[1]);
  const std::string signature(parts[2]);
  for (const std::string algorithm :
       {"none", "None", "NONE", "nOnE", "", "HS384", "HS512", "RS256", "hs256", "ES256"}) {
    const std::string header = base64url(R"({"alg":")" + algorithm + "\"}");
    EXPECT_FALSE(accepts(header + "." + body + ".")) << algorithm;
    EXPECT_FALSE(accepts(header + "." + body + "." + signature)) << algorithm;
  }
  EXPECT_FALSE(accepts(std::string(parts[0]) + "." + body + ".")) << "empty signature";
  EXPECT_FALSE(accepts(std::string(parts[0]) + "." + body)) << "no signature";
  EXPECT_FALSE(accepts(good + ".x"));
  EXPECT_FALSE(accepts(good + "="));
  EXPECT_FALSE(accepts(good.substr(0, good.size() - 2)));
  EXPECT_FALSE(
      accepts(forge(R"({"alg":"HS256"})", claims(), "some other secret, long enough as well")));
  EXPECT_FALSE(accepts(std::string(parts[0]) + "." + base64url(claims(R"(,"exp":1800000000)")) +
                       "." + signature));
  // The signature belongs to another header: pointers to keys, criticals and repeated algorithms do
  // not help.
  for (const std::string header :
       {R"({"alg":"HS256","jku":"http://127.0.0.1:1/k"})",
        R"({"alg":"HS256","x5u":"http://127.0.0.1:1/k"})",
        R"({"alg":"HS256","jwk":{"kty":"oct","k":"YQ"}})",
        R"({"alg":"HS256","crit":["b64"],"b64":false})", R"({"alg":"HS256","alg":"none"})",
        R"({"alg":["HS256"]})", R"({})", R"([])", "x"}) {
    EXPECT_FALSE(accepts(forge(header, claims()))) << header;
  }
  EXPECT_FALSE(accepts_claims(claims(R"(,"exp":1700003600,"tenant":"other")")))
      << "a claim given twice";
  EXPECT_FALSE(accepts_claims("[]"));
  EXPECT_FALSE(accepts_claims("{"));
  EXPECT_FALSE(accepts(std::string(kMaxTokenBytes + 1, 'a')));
  EXPECT_FALSE(ask("").ok());
  EXPECT_FALSE(ask("Bearer ").ok());
  EXPECT_FALSE(ask("Basic dTpw").ok());
  EXPECT_FALSE(ask(good).ok());
}

TEST_F(JwtTest, ClaimsMustBeUsable) {
  const std::string end = R"(,"exp":1700003600})";
  EXPECT_FALSE(accepts_claims(R"({"tenant":"t","app_code":"A","access_domain":"PLATFORM")" + end));
  EXPECT_FALSE(
      accepts_claims(R"({"sub":"","tenant":"t","app_code":"A","access_domain":"PLATFORM")" + end));
  EXPECT_FALSE(
      accepts_claims(R"({"sub":7,"tenant":"t","app_code":"A","access_domain":"PLATFORM")" + end));
  EXPECT_FALSE(accepts_claims(
      R"({"sub":"a\nb","tenant":"t","app_code":"A","access_domain":"PLATFORM")" + end));
  EXPECT_FALSE(
      accepts_claims(R"({"sub":"u","tenant":"t","app_code":"A","access_domain":"ROOT")" + end));
  EXPECT_FALSE(accepts_claims(
      R"({"sub":"u","tenant":"t","app_code":"A","access_domain":"PLATFORM","permissions":7)" +
      end));
  EXPECT_FALSE(accepts_claims(R"({"sub":")" + std::string(65, 'u') +
                              R"(","tenant":"t","app_code":"A","access_domain":"PLATFORM")" + end));
  const auto words = ask(
      "Bearer " +
      forge(
          R"({"alg":"HS256"})",
          R"({"sub":"u","tenant":"t","app_code":"A","access_domain":"PLATFORM","permissions":"a:b:c  d:e:f")" +
              end));
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(words->permissions, who_.permissions);
}

TEST_F(JwtTest, WeakSecretsAreNamed) {
  EXPECT_TRUE(check_secret(kSecret).ok());
  EXPECT_FALSE(check_secret("").ok());
  EXPECT_FALSE(check_secret("short").ok());
  EXPECT_FALSE(check_secret("changeme").ok());
  EXPECT_FALSE(check_secret(std::string(64, 'a')).ok());
  EXPECT_FALSE(check_secret("0123456789abcdef0123456789abcdef").ok());
  settings_.secrets = {};
  EXPECT_FALSE(make_jwt_authenticator(settings_, clock_).ok());
  settings_.secrets = {kSecret};
  settings_.algorithm = "none";
  EXPECT_FALSE(make_jwt_authenticator(settings_, clock_).ok());
}

}  // namespace
}  // namespace waybill::api
