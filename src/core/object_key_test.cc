#include "core/object_key.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace waybill::core {
namespace {

TEST(ObjectKey, Format) {
  const ObjectKey key{{17, 2}, "5b0f6a52-6f0e-4c0e-9d0a-0c1d2e3f4a5b"};
  const std::string text = make_object_key(key);
  EXPECT_EQ(text, "exports/17/2-5b0f6a52-6f0e-4c0e-9d0a-0c1d2e3f4a5b.xlsx");
  const auto parsed = parse_object_key(text);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->execution, key.execution);
  EXPECT_EQ(parsed->uuid, key.uuid);
  const ObjectKey largest{
      {std::numeric_limits<TaskId>::max(), std::numeric_limits<std::int32_t>::max()}, key.uuid};
  EXPECT_EQ(parse_object_key(make_object_key(largest))->execution, largest.execution);
}

TEST(ObjectKey, TakesNothingElse) {
  const std::string uuid = "5b0f6a52-6f0e-4c0e-9d0a-0c1d2e3f4a5b";
  for (const std::string& text :
       {std::string(),
        std::string("exports/"),
        "exports/17/2-" + uuid,
        "exports/17/2-" + uuid + ".xlsx.xlsx",
        "/exports/17/2-" + uuid + ".xlsx",
        "exports/../17/2-" + uuid + ".xlsx",
        "exports/017/2-" + uuid + ".xlsx",
        "exports/17/02-" + uuid + ".xlsx",
        "exports/0/1-" + uuid + ".xlsx",
        "exports/-5/1-" + uuid + ".xlsx",
        "exports/17/0-" + uuid + ".xlsx",
        "exports/17/2147483648-" + uuid + ".xlsx",
        "exports/99999999999999999999/1-" + uuid + ".xlsx",
        std::string("exports/17/2-5B0F6A52-6f0e-4c0e-9d0a-0c1d2e3f4a5b.xlsx"),
        std::string("exports/17/2-.xlsx"),
        std::string("exports/17/.xlsx"),
        "exports/17/2-" + uuid + ".xlsx\n",
        "exports/17/x/2-" + uuid + ".xlsx",
        std::string("exports/17/2-5b0f.xlsx"),
        std::string("exports/.xlsx")}) {
    EXPECT_FALSE(parse_object_key(text)) << text;
  }
}

}  // namespace
}  // namespace waybill::core
