#include "core/validate.h"

#include <gtest/gtest.h>

#include <string>

namespace waybill::core {
namespace {

using base::ErrorCategory;

std::string repeated(std::string_view text, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += text;
  return out;
}

TEST(Validate, TaskNames) {
  EXPECT_TRUE(check_task_name("十一月客户 November").ok());
  EXPECT_TRUE(check_task_name(repeated("客", 100)).ok());
  const auto error = check_task_name(repeated("客", 101)).error();
  EXPECT_EQ(error.category, ErrorCategory::kLimit);
  EXPECT_EQ(error.field, "taskName");
  EXPECT_EQ(error.limit, "100");
  EXPECT_EQ(error.unit, "characters");
  EXPECT_EQ(error.actual, "101");
  for (const std::string& bad : {std::string(), std::string("   "), std::string("a\nb"),
                                 std::string("a\0b", 3), std::string("a\x7f"), std::string("a\xff"),
                                 std::string("\xC2\x85"), std::string("\xE2\x80\xA8"),
                                 std::string("\xE2\x80\xAE"
                                             "fdp.exe")}) {
    EXPECT_EQ(check_task_name(bad).error().category, ErrorCategory::kInvalid) << bad;
  }
  EXPECT_FALSE(check_task_name(std::string(10'000'000, 'x')).ok());
}

TEST(Validate, IdempotencyKeys) {
  EXPECT_TRUE(check_idempotency_key("order-2026/11:30_a.b~").ok());
  EXPECT_TRUE(check_idempotency_key(std::string(128, 'k')).ok());
  EXPECT_EQ(check_idempotency_key(std::string(129, 'k')).error().category, ErrorCategory::kLimit);
  for (const char* bad : {"", "a b", "a\tb", "客户", "a\x7f"}) {
    EXPECT_EQ(check_idempotency_key(bad).error().field, "Idempotency-Key") << bad;
  }
}

TEST(Validate, TypesAndLanes) {
  for (const char* good : {"A", "CUSTOMER_LIST", "X9_"}) EXPECT_TRUE(valid_type(good)) << good;
  for (const char* bad : {"", "a", "_A", "9A", "A-B", "A B", "Ä", "A/.."})
    EXPECT_FALSE(valid_type(bad)) << bad;
  EXPECT_TRUE(valid_type(std::string(64, 'A')));
  EXPECT_FALSE(valid_type(std::string(65, 'A')));
  for (const char* good : {"export", "a", "lane-2"}) EXPECT_TRUE(valid_lane(good)) << good;
  for (const char* bad : {"", "Export", "-a", "2a", "a_b", "a.b"})
    EXPECT_FALSE(valid_lane(bad)) << bad;
  EXPECT_TRUE(valid_lane(std::string(32, 'a')));
  EXPECT_FALSE(valid_lane(std::string(33, 'a')));
}

}  // namespace
}  // namespace waybill::core
