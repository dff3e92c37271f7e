#include "xlsx/number_format.h"

#include <gtest/gtest.h>

namespace waybill::xlsx {
namespace {

constexpr NumberClass kNumber = NumberClass::kNumber;
constexpr NumberClass kDate = NumberClass::kDate;
constexpr NumberClass kTime = NumberClass::kTime;
constexpr NumberClass kDateTime = NumberClass::kDateTime;
constexpr NumberClass kDuration = NumberClass::kDuration;

TEST(NumberFormat, Codes) {
  const struct {
    const char* code;
    NumberClass is;
  } cases[] = {
      {"", kNumber},
      {"General", kNumber},
      {"GENERAL;@", kNumber},
      {"0", kNumber},
      {"0.00E+00", kNumber},
      {"##0.0e-0", kNumber},
      {"#,##0 \"days\"", kNumber},
      {"0\\d", kNumber},
      {"0_d", kNumber},
      {"0*d", kNumber},
      {"\"unclosed dd", kNumber},
      {"0\\", kNumber},
      {"[Red]0;[DarkRed]0", kNumber},
      {"[$-409]0", kNumber},
      {"[$USD] 0", kNumber},
      {"[>=100]0;[<5]0.0", kNumber},
      {"[h", kNumber},
      {"[]0", kNumber},
      {"@", kNumber},
      {"# ?/?", kNumber},
      {"yyyy-mm-dd", kDate},
      {"m/d/yy", kDate},
      {"mmm", kDate},
      {"MMMM", kDate},
      {"m", kDate},
      {"mm", kDate},
      {"d", kDate},
      {"[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", kDate},
      {"yyyy\"年\"m\"月\"d\"日\";@", kDate},
      {"[$-411]ggge\"年\"m\"月\"", kDate},
      {"[$-41E]d mmm bb", kDate},
      {"[=0]\"\";yyyy-mm-dd", kDate},
      {"[Blue]dd.mm.yyyy", kDate},
      {"h:mm", kTime},
      {"h:mm AM/PM", kTime},
      {"h A/P", kTime},
      {"mm:ss", kTime},
      {"mm:ss.0", kTime},
      {"h", kTime},
      {"hh:mm:ss.000", kTime},
      {"h\"時\"mm\"分\"", kTime},
      {"yyyy-mm-dd hh:mm:ss", kDateTime},
      {"m/d/yy h:mm", kDateTime},
      {"h:mm d/m", kDateTime},
      {"dd hh:mm", kDateTime},
      {"hh:mmm", kDateTime},
      {"[h]:mm", kDuration},
      {"[mm]:ss", kDuration},
      {"[ss]", kDuration},
      {"[HH]:MM:SS", kDuration},
  };
  for (const auto& c : cases) EXPECT_EQ(classify_format(c.code), c.is) << c.code;
}

TEST(NumberFormat, BuiltIn) {
  for (const std::uint32_t id :
       {0u, 1u, 4u, 9u, 11u, 13u, 23u, 37u, 44u, 48u, 49u, 59u, 70u, 82u, 163u, 164u, 0xFFFF'FFFFu})
    EXPECT_EQ(builtin_format(id), kNumber) << id;
  for (const std::uint32_t id : {14u, 15u, 16u, 17u, 27u, 31u, 36u, 50u, 57u, 58u, 71u, 81u})
    EXPECT_EQ(builtin_format(id), kDate) << id;
  for (const std::uint32_t id : {18u, 19u, 20u, 21u, 32u, 35u, 45u, 47u, 75u, 80u})
    EXPECT_EQ(builtin_format(id), kTime) << id;
  for (const std::uint32_t id : {22u, 55u, 56u, 77u})
    EXPECT_EQ(builtin_format(id), kDateTime) << id;
  for (const std::uint32_t id : {46u, 79u}) EXPECT_EQ(builtin_format(id), kDuration) << id;
}

}  // namespace
}  // namespace waybill::xlsx
