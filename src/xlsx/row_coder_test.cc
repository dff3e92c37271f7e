#include "xlsx/row_coder.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <isa-l.h>
#include <libdeflate.h>

#include "base/random.h"
#include "xlsx/block_code.h"
#include "xlsx/deflater.h"
#include "xlsx/test_package.h"

namespace waybill::xlsx {
namespace {

using testing::inflate_raw;

std::string inflate_with_isal(std::string_view packed, std::size_t size) {
  std::string out(size + 1, '\0');
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_DEFLATE;
  state.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(packed.data()));
  state.avail_in = static_cast<std::uint32_t>(packed.size());
  state.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  state.avail_out = static_cast<std::uint32_t>(out.size());
  EXPECT_EQ(isal_inflate(&state), ISAL_DECOMP_OK);
  EXPECT_EQ(state.block_state, ISAL_BLOCK_FINISH);
  EXPECT_EQ(state.avail_in, 0u);
  out.resize(state.total_out);
  return out;
}

std::string inflate_with_libdeflate(std::string_view packed, std::size_t size) {
  std::string out(size + 1, '\0');
  libdeflate_decompressor* const inflater = libdeflate_alloc_decompressor();
  std::size_t used = 0;
  std::size_t made = 0;
  EXPECT_EQ(libdeflate_deflate_decompress_ex(inflater, packed.data(), packed.size(), out.data(),
                                             out.size(), &used, &made),
            LIBDEFLATE_SUCCESS);
  EXPECT_EQ(used, packed.size());
  libdeflate_free_decompressor(inflater);
  out.resize(made);
  return out;
}

void expect_inflates(std::string_view packed, const std::string& text) {
  // Not EXPECT_EQ on the texts: a difference would print megabytes.
  EXPECT_TRUE(inflate_raw(packed, text.size()) == text) << "zlib";
  EXPECT_TRUE(inflate_with_isal(packed, text.size()) == text) << "ISA-L";
  EXPECT_TRUE(inflate_with_libdeflate(packed, text.size()) == text) << "libdeflate";
}

// Text with the marks of its values, offsets from the start.
struct Marked {
  std::string text;
  std::vector<ValueMark> marks;
};

// Feeds `sheet` in pieces, cutting the front as the writer does, and returns the stream.
std::string packed(const Marked& sheet, std::size_t columns, RowCoder::Effort effort,
                   base::Random& random, bool aligned_end = false) {
  const std::string room(RowCoder::kPadding, '#');
  const std::string text = room + sheet.text + room;
  RowCoder coder(columns, effort);
  coder.begin();
  std::string out;
  std::size_t front = 0;  // of what the coder sees
  std::size_t done = 0;
  auto mark = sheet.marks.begin();
  while (done < sheet.text.size()) {
    const std::size_t to = std::min(
        sheet.text.size(), done + 1 + random.next() % (random.next() % 4 == 0 ? 400'000 : 3'000));
    std::vector<ValueMark> marks;
    for (; mark != sheet.marks.end() && mark->end <= to; ++mark) {
      if (mark->begin < front) continue;
      marks.push_back(*mark);
      marks.back().begin -= static_cast<std::uint32_t>(front);
      marks.back().end -= static_cast<std::uint32_t>(front);
    }
    coder.code(text.data() + room.size() + front, done - front, to - front, marks);
    out += coder.output();
    coder.clear_output();
    done = to;
    if (random.next() % 2 == 0 && done - front > kMaxDistance) {
      const std::size_t gone = done - front - kMaxDistance;
      coder.cut_front(gone);
      front += gone;
    }
  }
  if (aligned_end) {
    coder.end_aligned();
  } else {
    coder.end();
  }
  return out.append(coder.output());
}

std::string value(base::Random& random, std::size_t row, std::size_t kind) {
  switch (kind) {
    case 0:
      return std::to_string(row * 7 + 100'000);
    case 1:
      return std::to_string(random.next() % 1'000'000) + "." + std::to_string(random.next() % 100);
    case 2:
      return random.next() % 2 == 0 ? "PENDING" : "DELIVERED to the address";
    case 3:
      return "user" + std::to_string(random.next() % 1'000) + "@example.com";
    case 4:
      return std::string(random.next() % 700, random.next() % 2 == 0 ? 'a' : 'b');
    case 5: {
      std::string bytes(random.next() % 40, '\0');
      for (char& c : bytes) c = static_cast<char>(random.next());
      return bytes;
    }
    default:
      return "";
  }
}

// A sheet of one seed: columns with habits, gaps, now and then a value of another kind.
Marked random_sheet(base::Random& random, std::size_t& columns) {
  columns = 1 + random.next() % 30;
  std::vector<std::size_t> kinds(columns);
  for (std::size_t& kind : kinds) kind = random.next() % 7;
  const std::uint64_t gaps = random.next() % 3;
  const std::uint64_t odd = random.next() % 3;
  Marked sheet;
  sheet.text = "<sheetData>";
  const std::size_t rows = 1 + random.next() % 3'000;
  for (std::size_t row = 1; row <= rows && sheet.text.size() < 2'000'000; ++row) {
    sheet.text += "<row r=\"" + std::to_string(row) + "\">";
    for (std::size_t c = 0; c < columns; ++c) {
      if (gaps > 0 && random.next() % 4 < gaps) continue;
      const std::size_t kind = odd > 0 && random.next() % 8 < odd ? random.next() % 7 : kinds[c];
      sheet.text += "<c r=\"" + std::string(1, static_cast<char>('A' + c)) + std::to_string(row) +
                    (kind < 2 ? "\"><v>" : "\" t=\"inlineStr\"><is><t>");
      const std::size_t begin = sheet.text.size();
      sheet.text += value(random, row, kind);
      sheet.marks.push_back({static_cast<std::uint32_t>(begin),
                             static_cast<std::uint32_t>(sheet.text.size()),
                             static_cast<std::uint32_t>(c), kind < 2 ? 0u : 1u});
      sheet.text += kind < 2 ? "</v></c>" : "</t></is></c>";
    }
    sheet.text += "</row>";
  }
  return sheet;
}

// Moves marks to wrong places; their order stays.
void spoil(Marked& sheet, std::size_t columns, base::Random& random) {
  const auto last = static_cast<std::uint32_t>(sheet.text.size());
  for (ValueMark& mark : sheet.marks) {
    if (random.next() % 3 != 0) continue;
    mark.begin =
        std::min<std::uint32_t>(mark.begin + static_cast<std::uint32_t>(random.next() % 9), last);
    mark.end = std::clamp<std::uint32_t>(mark.end + static_cast<std::uint32_t>(random.next() % 60),
                                         mark.begin, last);
    mark.column = static_cast<std::uint32_t>(random.next() % columns);
  }
  std::sort(sheet.marks.begin(), sheet.marks.end(),
            [](const ValueMark& a, const ValueMark& b) { return a.end < b.end; });
}

TEST(RowCoder, RandomSheetsComeBackFromEveryInflater) {
  const bool deep = std::getenv("WAYBILL_TEST_DEEP") != nullptr;
  for (std::uint64_t seed = 1; seed <= (deep ? 2'000 : 40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::SeededRandom random(seed);
    std::size_t columns = 0;
    Marked sheet = random_sheet(random, columns);
    if (seed % 4 == 0) spoil(sheet, columns, random);
    for (const auto effort : {RowCoder::Effort::kOneValue, RowCoder::Effort::kSeveralValues}) {
      expect_inflates(packed(sheet, columns, effort, random), sheet.text);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(RowCoder, AnotherStreamMayFollowAnAlignedEnd) {
  base::SeededRandom random(7);
  std::size_t columns = 0;
  const Marked sheet = random_sheet(random, columns);
  std::string stream = packed(sheet, columns, RowCoder::Effort::kOneValue, random, true);
  const auto deflater = make_deflater(Compression::kFast);
  deflater->begin();
  std::string tail(100'000, '\0');
  std::string_view more = "more of the sheet";
  tail.resize(deflater->run(more, true, tail));
  expect_inflates(stream + tail, sheet.text + "more of the sheet");
}

TEST(RowCoder, NoTextAndNoMarks) {
  for (const std::string& text : {std::string(), std::string("x"), std::string(300'000, 'x')}) {
    base::SeededRandom random(1);
    expect_inflates(packed({text, {}}, 1, RowCoder::Effort::kOneValue, random), text);
  }
}

TEST(RowCoder, BytesWithoutPatternFitTheBound) {
  base::SeededRandom random(3);
  Marked sheet;
  for (std::size_t i = 0; i < 600'000; ++i) sheet.text += static_cast<char>(random.next());
  const std::string stream = packed(sheet, 1, RowCoder::Effort::kOneValue, random);
  EXPECT_LT(stream.size(), sheet.text.size() * 11 / 10);
  expect_inflates(stream, sheet.text);
}

// Matches of every length, at every class of distance, and no farther than the format allows.
TEST(RowCoder, MatchesOfEveryLengthAndDistance) {
  base::SeededRandom random(5);
  Marked sheet;
  const auto put = [&sheet](std::string_view text) {
    const auto begin = static_cast<std::uint32_t>(sheet.text.size());
    sheet.text += text;
    sheet.marks.push_back({begin, static_cast<std::uint32_t>(sheet.text.size()), 0, 0});
  };
  for (std::size_t length = 3; length < 900; length += length < 300 ? 1 : 7) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random.next() % 26);
    put(text);
    put(text);
  }
  for (std::size_t gap = 1; gap < 40'000; gap = gap * 5 / 4 + 1) {
    put("a value that comes twice");
    for (std::size_t i = 0; i < gap; ++i) sheet.text += static_cast<char>('a' + random.next() % 26);
    put("a value that comes twice");
  }
  for (std::size_t gap = 32'742; gap < 32'748; ++gap) {
    put("a value that comes twice");
    for (std::size_t i = 0; i < gap; ++i) sheet.text += static_cast<char>('a' + random.next() % 26);
    put("a value that comes twice");
  }
  expect_inflates(packed(sheet, 1, RowCoder::Effort::kOneValue, random), sheet.text);
}

TEST(RowCoder, RowsThatDifferLittleBecomeSmall) {
  Marked sheet;
  for (int row = 1; row <= 20'000; ++row) {
    sheet.text += "<c r=\"A" + std::to_string(row) + "\"><v>";
    const auto begin = static_cast<std::uint32_t>(sheet.text.size());
    sheet.text += std::to_string(row * 3);
    sheet.marks.push_back({begin, static_cast<std::uint32_t>(sheet.text.size()), 0, 0});
    sheet.text += "</v></c>";
  }
  base::SeededRandom random(1);
  EXPECT_LT(packed(sheet, 1, RowCoder::Effort::kOneValue, random).size() * 4, sheet.text.size());
}

// Counts that would make codes of up to 40 bits: all must fit 14, and every symbol come back.
TEST(BlockCode, LengthsAreLimited) {
  SymbolCounts counts;
  std::uint32_t a = 1;
  std::uint32_t b = 1;
  for (std::size_t i = 0; i < 40; ++i) {
    counts.literals['A' + i] = a;
    if (i < kDistanceSymbols) counts.distances[i] = a;
    b = std::exchange(a, a + b);
  }
  counts.allow_all();
  BlockCode code;
  code.build(counts);
  std::string text;
  for (int c = 0; c < 256; ++c) text += static_cast<char>(c);
  std::string out(100'000, '\0');
  BitWriter bits(out.data());
  code.put_header(bits);
  code.put_literals(bits, text.data(), text.size());
  std::string expected = text;
  for (std::size_t length = kMinMatch; length <= kMaxMatch; ++length) {
    for (const std::size_t distance : {std::size_t{1}, std::size_t{255}, expected.size()}) {
      if (distance > kMaxDistance) continue;
      code.put_match(bits, length, distance);
      for (std::size_t i = 0; i < length; ++i) expected += expected[expected.size() - distance];
    }
  }
  code.put_end(bits);
  bits.put(0b011, 10);
  bits.fill_byte();
  out.resize(static_cast<std::size_t>(bits.end() - out.data()));
  expect_inflates(out, expected);
}

}  // namespace
}  // namespace waybill::xlsx
