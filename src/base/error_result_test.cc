#include <gtest/gtest.h>

#include <memory>

#include "base/result.h"

namespace waybill::base {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return invalid("number", "must be even");
  return number / 2;
}

Result<int> quarter(int number) {
  WAYBILL_ASSIGN(const int once, half(number));
  WAYBILL_ASSIGN(const int twice, half(once));
  return twice;
}

Status check_even(int number) {
  WAYBILL_TRY(half(number));
  return {};
}

TEST(ResultTest, CarriesValueOrError) {
  EXPECT_EQ(*quarter(12), 3);
  const Result<int> odd = quarter(6);
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().category, ErrorCategory::kInvalid);
  EXPECT_EQ(odd.error().field, "number");
  EXPECT_TRUE(check_even(2).ok());
  EXPECT_EQ(check_even(3).error().message, "must be even");
}

TEST(ResultTest, MovesValuesThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(ResultDeathTest, ValueOfAFailureEndsTheProcess) {
  const Result<int> failed = internal("broken");
  EXPECT_DEATH(static_cast<void>(failed.value()), "value\\(\\) of a failed Result");
}

TEST(ErrorTest, LimitNamesFieldLimitUnitAndActual) {
  const Error error = over_limit("taskName", 100, "characters", 101, "the name is too long");
  EXPECT_EQ(error.category, ErrorCategory::kLimit);
  EXPECT_EQ(error.field, "taskName");
  EXPECT_EQ(error.limit, "100");
  EXPECT_EQ(error.unit, "characters");
  EXPECT_EQ(error.actual, "101");
  EXPECT_EQ(error.with_context("create").message, "create: the name is too long");
}

TEST(ErrorTest, OnlyThreeCategoriesAreTransient) {
  int transient = 0;
  for (int i = 0; i <= static_cast<int>(ErrorCategory::kInternal); ++i) {
    const auto category = static_cast<ErrorCategory>(i);
    EXPECT_FALSE(to_string(category).empty());
    transient += is_transient(category) ? 1 : 0;
  }
  EXPECT_EQ(transient, 3);
  EXPECT_TRUE(is_transient(ErrorCategory::kOutcomeUnknown));
  EXPECT_FALSE(is_transient(ErrorCategory::kInternal));
}

}  // namespace
}  // namespace waybill::base
