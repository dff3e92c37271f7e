#include "base/text.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <limits>

#include "base/errno_text.h"
#include "base/json_writer.h"

namespace waybill::base {
namespace {

using namespace std::string_literals;

TEST(TextTest, Utf8SequencesFollowTheUnicodeTable) {
  EXPECT_EQ(utf8_sequence("a"), 1u);
  EXPECT_EQ(utf8_sequence("é"), 2u);
  EXPECT_EQ(utf8_sequence("图"), 3u);
  EXPECT_EQ(utf8_sequence("😊"), 4u);
  const std::string bad[] = {"",
                             "\x80",
                             "\xC0\xAF",          // overlong
                             "\xE0\x80\x80",      // overlong
                             "\xED\xA0\x80",      // surrogate
                             "\xF0\x80\x80\x80",  // overlong
                             "\xF4\x90\x80\x80",  // above U+10FFFF
                             "\xF5\x80\x80\x80",
                             "\xE5\x9B",  // cut
                             "\xFF"};
  for (const std::string& text : bad) EXPECT_EQ(utf8_sequence(text), 0u) << text;
}

TEST(TextTest, RepairsAndCutsByCharacters) {
  EXPECT_EQ(to_utf8("a\xE9z"), "a\uFFFDz");
  EXPECT_TRUE(is_utf8(to_utf8("\xED\xA0\x80\xC0\xAF")));
  EXPECT_FALSE(is_utf8("\xE9"));
  EXPECT_EQ(utf8_length("a图😊"), 3u);
  EXPECT_EQ(utf8_prefix("a图😊b", 3), "a图😊");
  EXPECT_EQ(utf8_prefix("ab", 5), "ab");
}

TEST(TextTest, PrintableIsOneSafeLine) {
  EXPECT_EQ(printable("a\r\nb\x1b[31m"), "a\\x0d\\x0ab\\x1b[31m");
  EXPECT_EQ(printable("x\u2028y\u0085z"), "x\\u{2028}y\\u{85}z");
  EXPECT_EQ(printable("abcdef", 3), "ab…");
  EXPECT_EQ(printable("abc", 0), "");
  EXPECT_EQ(printable("abc", 1), "…");
  EXPECT_EQ(printable("a\n", 5), "a\\x0a");
  EXPECT_EQ(printable("a\nb", 5), "a…") << "no half of an escape";
  EXPECT_EQ(printable("图图图", 2), "图…");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("\xff"), "\uFFFD");
  EXPECT_EQ(printable("a\0b"s), "a\\x00b");
}

TEST(TextTest, PrintableNamesWhatReordersALine) {
  EXPECT_EQ(printable("a\u202Eb"), "a\\u{202e}b");
  for (const char* text : {"\u061C", "\u200E", "\u200F", "\u202A", "\u202B", "\u202C", "\u202D",
                           "\u202E", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    EXPECT_TRUE(printable(text).starts_with("\\u{")) << text;
  }
  for (const char* text : {"\u200D", "\u2010", "\u202F", "\u2065", "שלום", "👩\u200D🔬"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(TextTest, ErrnoTextsAreSentencesAndNeverEmpty) {
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
  EXPECT_EQ(errno_text(12'345), "error 12345");
}

TEST(TextTest, ParsesWholeNumbersOnly) {
  EXPECT_EQ(parse_int("-42"), -42);
  EXPECT_EQ(parse_int("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "9223372036854775808", "0x1", "1.0"}) {
    EXPECT_EQ(parse_int(text), std::nullopt) << text;
  }
}

TEST(TextTest, SplitsTrimsAndCompares) {
  EXPECT_EQ(split("a,,b", ',').size(), 3u);
  EXPECT_EQ(split("", ',').size(), 1u);
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_TRUE(equal_constant_time("secret", "secret"));
  EXPECT_FALSE(equal_constant_time("secret", "secreT"));
  EXPECT_FALSE(equal_constant_time("secret", "secre"));
}

TEST(JsonWriterTest, WritesNestedValues) {
  JsonWriter w;
  w.begin_object().field("a", 1).key("b").begin_array().value("x").value(true).null();
  w.begin_object().end_object().end_array().key("c").id(9007199254740993).end_object();
  EXPECT_EQ(w.text(), R"({"a":1,"b":["x",true,null,{}],"c":"9007199254740993"})");
}

TEST(JsonWriterTest, EscapesWhatJsonForbids) {
  std::string out;
  append_json_string(out, "q\"b\\n\n\t\r\x01图\xff");
  EXPECT_EQ(out, "\"q\\\"b\\\\n\\n\\t\\r\\u0001图\uFFFD\"");
}

TEST(JsonWriterTest, NumbersRoundTripAndNonFiniteIsNull) {
  JsonWriter w;
  w.begin_array().value(0.1).value(1e300).value(std::nan("")).value(INFINITY);
  w.value(std::numeric_limits<std::int64_t>::min())
      .value(std::numeric_limits<std::uint64_t>::max());
  w.end_array();
  EXPECT_EQ(w.text(), "[0.1,1e+300,null,null,-9223372036854775808,18446744073709551615]");
}

}  // namespace
}  // namespace waybill::base
