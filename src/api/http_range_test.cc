#include "api/http_range.h"

#include <gtest/gtest.h>

#include <string>

namespace waybill::api {
namespace {

using Kind = ByteRange::Kind;

TEST(HttpRange, Table) {
  struct Case {
    std::string header;
    Kind kind;
    std::uint64_t first = 0;
    std::uint64_t size = 0;
  };
  const Case cases[] = {
      {"", Kind::kWhole},
      {"bytes=0-0", Kind::kPart, 0, 1},
      {"bytes=0-", Kind::kPart, 0, 100},
      {"bytes=10-19", Kind::kPart, 10, 10},
      {"bytes=90-1000", Kind::kPart, 90, 10},
      {"bytes=99-99", Kind::kPart, 99, 1},
      {"bytes=-1", Kind::kPart, 99, 1},
      {"bytes=-1000", Kind::kPart, 0, 100},
      {"bytes=0-18446744073709551616", Kind::kPart, 0, 100},
      {"bytes=100-", Kind::kUnsatisfiable},
      {"bytes=100-200", Kind::kUnsatisfiable},
      {"bytes=-0", Kind::kUnsatisfiable},
      {"bytes=18446744073709551616-", Kind::kUnsatisfiable},
      {"bytes=20-10", Kind::kWhole},
      {"bytes=", Kind::kWhole},
      {"bytes=-", Kind::kWhole},
      {"bytes=a-b", Kind::kWhole},
      {"bytes=+1-2", Kind::kWhole},
      {"bytes=--5", Kind::kWhole},
      {"bytes=1-2-3", Kind::kWhole},
      {"bytes=0-1,5-6", Kind::kWhole},
      {"items=0-1", Kind::kWhole},
      {"bytes 0-1", Kind::kWhole},
  };
  for (const Case& one : cases) {
    const ByteRange range = parse_range(one.header, 100);
    EXPECT_EQ(range.kind, one.kind) << one.header;
    EXPECT_EQ(range.first, one.first) << one.header;
    EXPECT_EQ(range.size, one.size) << one.header;
  }
  EXPECT_EQ(parse_range("bytes=0-", 0).kind, Kind::kUnsatisfiable);
  EXPECT_EQ(parse_range("bytes=-5", 0).kind, Kind::kUnsatisfiable);
}

// D114: sets of ranges are not served, so nothing is sent twice.
TEST(HttpRange, ManyRangesAreTheWholeFile) {
  std::string header = "bytes=0-";
  for (int i = 0; i < 1'000; ++i) header += ",0-";
  EXPECT_EQ(parse_range(header, 1u << 30).kind, Kind::kWhole);
}

TEST(HttpRange, EtagLists) {
  EXPECT_TRUE(matches_etag("\"a\"", "\"a\""));
  EXPECT_TRUE(matches_etag("\"b\", W/\"a\"", "\"a\""));
  EXPECT_TRUE(matches_etag("*", "\"a\""));
  EXPECT_FALSE(matches_etag("", "\"a\""));
  EXPECT_FALSE(matches_etag("a", "\"a\""));
}

}  // namespace
}  // namespace waybill::api
