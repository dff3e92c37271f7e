#include "client/url.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/address.h"
#include "client/http_client.h"

namespace waybill::client {
namespace {

TEST(Url, IsTakenApart) {
  const auto url = parse_url("HTTP://Provider.Example:8080/internal/a?x=1", "url");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->origin(), "http://provider.example:8080");
  EXPECT_EQ(url->target, "/internal/a?x=1");
  EXPECT_EQ(parse_url("https://a", "url")->origin(), "https://a:443");
  EXPECT_EQ(parse_url("http://a?q", "url")->target, "/?q");
  EXPECT_EQ(parse_url("http://[0:0:0:0:0:0:0:1]/", "url")->origin(), "http://[::1]:80");
}

TEST(Url, WhatAnotherParserCouldReadDifferentlyIsRefused) {
  const std::vector<std::string> urls = {
      "", "/relative", "//host/", "ftp://a/", "file:///etc/passwd", "gopher://a/", "http:/a/",
      "http:///x", "http://user@a/", "http://user:secret@a/", "http://a@169.254.169.254/",
      "http://a\\@b/", "http://a\\b", "http://a b/", "http://a/\r\nX: 1", "http://a/x y",
      "http://a/#f", "http://a:/", "http://a:0/", "http://a:65536/", "http://a:1x/", "http://a:-1/",
      "http://a:80:80/", "http://a:123456/", "http://a./", "http://.a/", "http://a..b/",
      "http://%61/", "http://\xc3\xa4/", "http://a,b/", "http://[::1/", "http://[::1]x/",
      "http://[fe80::1%25eth0]/", "http://[1.2.3.4]/", "http://[]/",
      // Numbers that resolvers take for addresses.
      "http://2130706433/", "http://0177.0.0.1/", "http://0x7f.0.0.1/", "http://0x7f000001/",
      "http://127.1/", "http://127.0.0.01/", "http://256.1.1.1/", "http://1.2.3.4.5/",
      std::string("http://a/\0b", 11), "http://a/" + std::string(kMaxUrlBytes, 'x')};
  for (const std::string& url : urls) {
    const auto parsed = parse_url(url, "url");
    ASSERT_FALSE(parsed.ok()) << url;
    EXPECT_EQ(parsed.error().category, base::ErrorCategory::kInvalid);
    EXPECT_EQ(parsed.error().field, "url");
    EXPECT_EQ(parsed.error().message.find("secret"), std::string::npos);
  }
}

TEST(AllowList, MatchesSchemeHostAndPort) {
  AllowList list;
  ASSERT_TRUE(list.allow("http://IAM.internal:8080/base/path").ok());
  ASSERT_TRUE(list.allow("https://secure.internal").ok());
  ASSERT_TRUE(list.allow("http://[::1]:9000").ok());
  ASSERT_TRUE(list.allow("http://127.0.0.1:9000").ok());
  EXPECT_TRUE(list.allows("http://iam.internal:8080/anything?x"));
  EXPECT_TRUE(list.allows("HTTP://IAM.INTERNAL:8080"));
  EXPECT_TRUE(list.allows("https://secure.internal:443/x"));
  EXPECT_TRUE(list.allows("http://[0::1]:9000/"));

  for (const char* url :
       {"https://iam.internal:8080/", "http://iam.internal/", "http://iam.internal:8081/",
        "http://iam.internal.evil:8080/", "http://evil/iam.internal:8080",
        "http://iam.internal:8080@evil/", "http://secure.internal:443/",
        "http://[::ffff:127.0.0.1]:9000/", "http://2130706433:9000/", "http://0177.0.0.1:9000/",
        "http://0x7f.1:9000/", "http://127.1:9000/", "http://localhost:9000/",
        "http://127.0.0.2:9000/", "http://169.254.169.254/", ""}) {
    EXPECT_FALSE(list.allows(url)) << url;
  }
  EXPECT_FALSE(AllowList().allows("http://iam.internal:8080/"));
}

TEST(AllowList, RefusesWhatNeverMayBeContacted) {
  AllowList list;
  for (const char* url :
       {"http://169.254.169.254", "http://169.254.0.1:8080", "http://[fe80::1]",
        "http://[fd00:ec2::254]", "http://100.100.100.200", "http://[::ffff:169.254.169.254]",
        "http://[64:ff9b::a9fe:a9fe]", "http://user@host", "host:8080", "ftp://host"}) {
    const auto allowed = list.allow(url);
    ASSERT_FALSE(allowed.ok()) << url;
    EXPECT_EQ(allowed.error().category, base::ErrorCategory::kInvalid);
    EXPECT_FALSE(list.allows(url)) << url;
  }
  for (const char* url :
       {"http://10.0.0.1", "http://192.168.1.1", "http://[fd00::1]", "http://100.100.100.201"}) {
    EXPECT_TRUE(list.allow(url).ok()) << url;
  }
}

}  // namespace
}  // namespace waybill::client
