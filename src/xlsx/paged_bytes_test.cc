#include "xlsx/paged_bytes.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "xlsx/shared_string_index.h"
#include "xlsx/test_zip.h"

namespace waybill::xlsx {
namespace {

constexpr std::size_t kPage = PagedBytes::kPageBytes;

// Any byte of any place, without keeping them.
char byte_at(std::size_t at) { return static_cast<char>(at * 2'654'435'761u >> 13); }

std::string bytes_at(std::size_t from, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += byte_at(from + i);
  return out;
}

TEST(PagedBytes, GivesBackEveryPlaceWithFewPagesInMemory) {
  for (const std::size_t memory : {0 * kPage, 2 * kPage, 5 * kPage, 100 * kPage}) {
    PagedBytes bytes(memory, 1u << 30, ::testing::TempDir());
    const std::size_t total = 20 * kPage + 17;
    for (std::size_t at = 0; at < total;) {
      const std::size_t step =
          std::min<std::size_t>(total - at, at % 3 == 0 ? 1 : 1'011 * (at % 5));
      ASSERT_TRUE(bytes.append(bytes_at(at, step)).ok());
      at += step;
    }
    EXPECT_EQ(bytes.size(), total);
    EXPECT_EQ(bytes.spilled(), memory < total);
    for (std::size_t i = 0, at = 0; i < 400; ++i, at = (at * 31 + 77'777) % total) {
      const std::size_t count = std::min(total - at, (i * 997) % (3 * kPage));
      const auto read = bytes.read(at, count);
      ASSERT_TRUE(read.ok());
      ASSERT_TRUE(*read == bytes_at(at, count)) << memory << " at " << at;
    }
    ASSERT_TRUE(bytes.read(total, 0).ok());
  }
}

TEST(PagedBytes, LeavesNoFileBehind) {
  const std::string folder = ::testing::TempDir() + "paged_bytes";
  std::filesystem::create_directories(folder);
  PagedBytes bytes(0, 1u << 30, folder);
  ASSERT_TRUE(bytes.append(std::string(5 * kPage, 'x')).ok());
  EXPECT_TRUE(bytes.spilled());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(PagedBytes, SaysWhyThereIsNoRoom) {
  PagedBytes limited(0, 10, "");
  ASSERT_TRUE(limited.append("0123456789").ok());
  const auto over = limited.append("x");
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().category, base::ErrorCategory::kLimit);
  EXPECT_EQ(over.error().field, "temp_bytes");

  PagedBytes nowhere(0, 1u << 30, "/nonexistent/folder");
  const auto failed = nowhere.append(std::string(3 * kPage, 'x'));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().category, base::ErrorCategory::kUnavailable);
}

TEST(SharedStringIndex, SpillsAndStillFindsEveryString) {
  constexpr int kStrings = 300'000;  // more places and more text than memory holds
  const auto text = [](int i) {
    return "text number " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 40), '.');
  };
  std::string xml = "<sst>";
  for (int i = 0; i < kStrings; ++i) xml += "<si><t>" + text(i) + "</t></si>";
  testing::ZipMaker maker;
  maker.add("s", xml + "</sst>");
  const std::string package = maker.finish();
  const auto zip = ZipReader::open(ByteSource(package.size(), testing::reading(package)));
  ASSERT_TRUE(zip.ok());
  InflateBudget budget{1u << 30, 1u << 30};
  SharedStringIndex strings(1u << 30, ::testing::TempDir());
  ASSERT_TRUE(strings.load(*zip, zip->parts()[0], budget).ok());
  EXPECT_TRUE(strings.spilled());
  ASSERT_EQ(strings.size(), kStrings);
  for (int i = 0; i < kStrings; i += 7) {
    const auto found = strings.text(static_cast<std::uint64_t>(i));
    ASSERT_TRUE(found.ok() && *found == text(i)) << i;
  }
  for (int i = kStrings - 1; i >= 0; i -= 9'973) {
    const auto found = strings.text(static_cast<std::uint64_t>(i));
    ASSERT_TRUE(found.ok() && *found == text(i)) << i;
  }
  SharedStringIndex small(1'000, ::testing::TempDir());
  const auto over = small.load(*zip, zip->parts()[0], budget);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().field, "temp_bytes");
}

}  // namespace
}  // namespace waybill::xlsx
