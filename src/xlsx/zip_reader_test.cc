// Archives that play tricks are refused with the reason; odd but legal ones are read.

#include "xlsx/zip_reader.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "xlsx/test_zip.h"

namespace waybill::xlsx {
namespace {

using testing::ZipMaker;

constexpr InflateBudget kBudget{1u << 20, 2u << 20};

// What is wrong with an archive of two parts, everything inflated; empty for nothing.
std::string why(std::string_view package, InflateBudget budget = kBudget) {
  const auto zip = ZipReader::open(ByteSource(package.size(), testing::reading(package)));
  if (!zip.ok()) return zip.error().message;
  std::string buffer(1'000, '\0');
  for (const ZipPart& part : zip->parts()) {
    PartReader reader(*zip, part, budget);
    for (;;) {
      const auto got = reader.read(buffer);
      if (!got.ok()) return got.error().message;
      if (*got == 0) break;
    }
  }
  return "";
}

const std::string kText(5'000, 'x');

// An archive of the parts a and b, with lies about b.
std::string lying(const std::function<void(ZipMaker::Part&)>& lie) {
  ZipMaker zip;
  zip.add("a", kText);
  lie(zip.add("b", kText));
  return why(zip.finish());
}

TEST(ZipReader, ReadsPlainArchives) {
  EXPECT_EQ(lying([](ZipMaker::Part&) {}), "");
  ZipMaker stored;
  stored.add("a", kText, false);
  stored.add("folder/", "", false);
  stored.add("folder/B.XML", kText);
  const std::string package = stored.finish("a comment PK\x05\x06");
  EXPECT_EQ(why(package), "");
  const auto zip = ZipReader::open(ByteSource(package.size(), testing::reading(package)));
  ASSERT_TRUE(zip.ok());
  EXPECT_NE(zip->find("Folder/b.xml"), nullptr);
  EXPECT_EQ(zip->find("b.xml"), nullptr);
  EXPECT_EQ(why(ZipMaker().finish()), "");
}

TEST(ZipReader, AcceptsEveryLegalDescriptor) {  // X152
  const auto streamed = [](ZipMaker::Part& part) {
    part.local.flags = part.central.flags = zip::kFlagDescriptor;
  };
  EXPECT_EQ(lying([&](ZipMaker::Part& part) { streamed(part); }), "");
  EXPECT_EQ(lying([&](ZipMaker::Part& part) {
              streamed(part);
              part.local.crc = 0;
              part.local.packed = part.local.size = 0;
              part.descriptor = std::string(16, 'd');
            }),
            "");
  EXPECT_EQ(lying([](ZipMaker::Part& part) {  // ZIP64 fields without need
              zip::put16(part.local.extra, zip::kExtraZip64);
              zip::put16(part.local.extra, 16);
              zip::put64(part.local.extra, part.local.size);
              zip::put64(part.local.extra, part.local.packed);
              part.local.size = part.local.packed = zip::kMax32;
              part.central.extra = part.local.extra;
              part.central.size = part.central.packed = zip::kMax32;
            }),
            "");
}

TEST(ZipReader, RefusesLies) {
  const struct {
    const char* what;
    std::function<void(ZipMaker::Part&)> lie;
    const char* why;
  } cases[] = {
      {"local name", [](auto& p) { p.local.name = "c"; },
       "part b: local header and directory disagree"},
      {"longer local name", [](auto& p) { p.local.name = "bb"; },
       "part b: local header and directory disagree"},
      {"local method", [](auto& p) { p.local.method = 0; },
       "part b: local header and directory disagree"},
      {"local size", [](auto& p) { ++p.local.size; },
       "part b: local header and directory disagree"},
      {"local crc", [](auto& p) { ++p.local.crc; }, "part b: local header and directory disagree"},
      {"streamed, local size",
       [](auto& p) {
         p.local.flags = p.central.flags = zip::kFlagDescriptor;
         ++p.local.size;
       },
       "part b: local header and directory disagree"},
      {"local flags", [](auto& p) { p.local.flags = zip::kFlagDescriptor; },
       "part b: local header and directory disagree"},
      {"crc", [](auto& p) { p.local.crc = ++p.central.crc; }, "part b: size or checksum differ"},
      {"larger", [](auto& p) { p.local.size = p.central.size = 9'999; },
       "part b: size or checksum differ"},
      {"smaller", [](auto& p) { p.local.size = p.central.size = 100; },
       "part b: it is larger than its records say"},
      {"4 GiB", [](auto& p) { p.local.size = p.central.size = 0xFFFF'FFFE; },  // X129
       "part b: size or checksum differ"},
      {"packed size",
       [](auto& p) {
         p.bytes += "xx";
         p.local.packed = p.central.packed += 2;
       },
       "part b: bytes after its end"},
      {"cut", [](auto& p) { p.local.packed = p.central.packed -= 2; }, "part b: it ends too early"},
      {"runs out", [](auto& p) { p.local.packed = p.central.packed += 1'000; },
       "part b: it runs past the end"},
      {"zip64 short", [](auto& p) { p.local.size = p.central.size = zip::kMax32; },
       "part b: no ZIP64 sizes"},
      {"zip64 lie",
       [](auto& p) {
         p.local.extra = std::string("\x01\0\x08\0", 4) + std::string(8, 'z');
         p.local.size = zip::kMax32;
       },
       "part b: local header and directory disagree"},
      {"zip64 twice", [](auto& p) { p.central.extra = std::string("\x01\0\0\0\x01\0\0\0", 8); },
       "part b: no ZIP64 sizes"},
      {"extra runs out", [](auto& p) { p.central.extra = std::string("\x09\0\x08\0", 4); },
       "part b: no ZIP64 sizes"},
      {"not deflate", [](auto& p) { p.bytes[0] = '\xFF'; }, "part b: damaged compressed data"},
      {"method", [](auto& p) { p.local.method = p.central.method = 12; },
       "part b: unknown compression method"},
      {"stored", [](auto& p) { p.local.method = p.central.method = 0; },
       "part b: a stored part without its real sizes"},
      {"encrypted", [](auto& p) { p.local.flags = p.central.flags = 1; },
       "part b: it is encrypted"},
      {"twice", [](auto& p) { p.local.name = p.central.name = "a"; }, "part a: it exists twice"},
      {"twice in another case", [](auto& p) { p.local.name = p.central.name = "A"; },
       "part a: it exists twice"},
      {"overlap", [](auto& p) { p.offset = 10; }, "part b: local header and directory disagree"},
      {"offset", [](auto& p) { p.offset = 1u << 30; }, "part b: it runs past the end"},
      {"nul", [](auto& p) { p.local.name = p.central.name = std::string("b\0.xml", 6); },
       "part b\\x00.xml: a name that leaves the package"},
  };
  for (const auto& c : cases) EXPECT_EQ(lying(c.lie), c.why) << c.what;
}

TEST(ZipReader, RefusesNamesThatLeaveThePackage) {  // X138
  for (const char* name : {"../../evil.txt", "/abs.txt", "C:\\x", "a/../../x", "a\\..\\x", "..",
                           "./x", "a//x", "\\\\host\\x"}) {
    const std::string out =
        lying([name](ZipMaker::Part& part) { part.local.name = part.central.name = name; });
    EXPECT_NE(out.find("a name that leaves the package"), std::string::npos) << name << ": " << out;
  }
}

TEST(ZipReader, RefusesOverlaps) {
  // Two directory entries for one local header, as bombs have that unpack without end.
  ZipMaker same;
  same.add("a", kText);
  ZipMaker::Part& second = same.add("a", kText);
  second.offset = 0;
  EXPECT_EQ(why(same.finish()), "part a: it overlaps another part");
  // A part inside another one's data.
  ZipMaker inner;
  inner.add("b", "x", false);
  const std::string nested = inner.finish();
  ZipMaker outer;
  outer.add("a", nested, false);
  outer.add("b", "x", false).offset = 31;
  EXPECT_EQ(why(outer.finish()), "part b: it overlaps another part");
}

TEST(ZipReader, RefusesBrokenEnds) {
  ZipMaker maker;
  maker.add("a", kText);
  const std::string whole = maker.finish();
  EXPECT_EQ(why(""), "it is too short");
  EXPECT_EQ(why(whole + "x"), "no end record");
  EXPECT_EQ(why("x" + whole), "the directory does not end at the end record");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(why(whole.substr(0, size)), "");
  const auto end_with = [&whole](std::size_t at, std::uint64_t value, std::size_t bytes) {
    std::string package = whole;
    std::string field;
    zip::put(field, value, bytes);
    return package.replace(package.size() - zip::kEndBytes + at, bytes, field);
  };
  EXPECT_EQ(why(end_with(4, 1, 2)), "a split archive");
  EXPECT_EQ(why(end_with(8, 2, 2)), "a split archive");
  EXPECT_EQ(why(end_with(8, 0x0002'0002, 4)),
            "the directory does not hold as many parts as it says");
  EXPECT_EQ(why(end_with(8, 0, 4)), "the directory is damaged");
  EXPECT_EQ(why(end_with(8, 0x3FFF'3FFF, 4)), "too many parts");
  EXPECT_EQ(why(end_with(12, 5u << 20, 4)), "too many parts");
  EXPECT_EQ(why(end_with(8, 0xFFFF'FFFF, 4)), "no ZIP64 end record");
}

TEST(ZipReader, ReadsZip64EndsAndRefusesThoseThatDisagree) {
  ZipMaker maker;
  maker.add("a", kText);
  const std::string whole = maker.finish();
  const std::size_t at = whole.size() - zip::kEndBytes;
  const auto with = [&whole, at](std::uint64_t parts, std::uint64_t offset) {
    std::string package = whole.substr(0, at);
    const std::uint64_t size = at - zip::get32(whole, at + 16);
    zip::put32(package, zip::kEnd64Signature);
    zip::put64(package, zip::kEnd64Bytes - 12);
    zip::put32(package, 0x002D'002D);
    zip::put64(package, 0);
    zip::put64(package, parts);
    zip::put64(package, parts);
    zip::put64(package, size);
    zip::put64(package, offset);
    zip::put32(package, zip::kLocator64Signature);
    zip::put32(package, 0);
    zip::put64(package, at);
    zip::put32(package, 1);
    std::string end = whole.substr(at);
    end.replace(8, 4, "\xFF\xFF\xFF\xFF");
    return package + end;
  };
  const std::uint64_t offset = zip::get32(whole, at + 16);
  EXPECT_EQ(why(with(1, offset)), "");
  EXPECT_EQ(why(with(2, offset)), "the directory does not hold as many parts as it says");
  EXPECT_EQ(why(with(1, offset - 1)), "the two end records disagree");
  EXPECT_EQ(why(with(1ull << 60, offset)), "too many parts");
}

TEST(PartReader, StopsAtTheBudget) {
  ZipMaker maker;
  maker.add("a", std::string(600'000, 'x'));
  maker.add("b", std::string(600'000, 'x'));
  const std::string package = maker.finish();
  EXPECT_EQ(why(package), "");
  EXPECT_EQ(why(package, {599'999, 2u << 20}), "part a: it unpacks to more than 599999 bytes");
  EXPECT_EQ(why(package, {600'000, 1'199'999}),
            "part b: it unpacks to more than 1199999 bytes together with the parts before");
  EXPECT_EQ(why(package, {600'000, 1'200'000}), "");
}

TEST(PartReader, FitsBuffersOfAnySize) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += std::to_string(i * 7'919);
  ZipMaker maker;
  maker.add("a", text);
  maker.add("b", text, false);
  const std::string package = maker.finish();
  const auto zip = ZipReader::open(ByteSource(package.size(), testing::reading(package)));
  ASSERT_TRUE(zip.ok());
  for (const std::size_t size : {1u, 7u, 4'096u, 1u << 20}) {
    for (const ZipPart& part : zip->parts()) {
      InflateBudget budget = kBudget;
      PartReader reader(*zip, part, budget);
      std::string buffer(size, '\0');
      std::string out;
      for (;;) {
        const auto got = reader.read(buffer);
        ASSERT_TRUE(got.ok()) << got.error().message;
        if (*got == 0) break;
        out.append(buffer, 0, *got);
      }
      EXPECT_TRUE(out == text) << size << part.name;
    }
  }
}

}  // namespace
}  // namespace waybill::xlsx
