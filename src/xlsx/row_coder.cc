#include "xlsx/row_coder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/check.h"

namespace waybill::xlsx {
namespace {

// The codes of a block are made from a sample of its text and used for so much of it.
constexpr std::size_t kBlockBytes = 1u << 20;
constexpr std::size_t kSampleMarks = 2'048;
// A shorter match costs more bits than the characters it stands for.
constexpr std::size_t kShortestMatch = 4;
// A value that was seen before must be this much longer a match than the one above it: it is
// farther away.
constexpr std::size_t kWorthLooking = 5;
constexpr std::size_t kHashedBytes = 8;  // at the front of a value

#if defined(__SSE2__)
constexpr std::size_t kStep = 16;
// One bit per byte that agrees.
unsigned agreement(const char* a, const char* b) {
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
  const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, y)));
}
std::size_t first_difference(const char* a, const char* b) {
  return static_cast<std::size_t>(std::countr_one(agreement(a, b)));
}
std::size_t last_difference(const char* a, const char* b) {
  return static_cast<std::size_t>(std::countl_one(agreement(a, b) << kStep));
}
#else
constexpr std::size_t kStep = 8;
std::uint64_t difference(const char* a, const char* b) {
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  return x ^ y;
}
std::size_t first_difference(const char* a, const char* b) {
  return static_cast<std::size_t>(std::countr_zero(difference(a, b))) / 8;
}
std::size_t last_difference(const char* a, const char* b) {
  return static_cast<std::size_t>(std::countl_zero(difference(a, b))) / 8;
}
#endif
static_assert(RowCoder::kPadding >= kStep);

// How many bytes from `a` and `b` on agree, at most `limit`.
std::size_t common_front(const char* a, const char* b, std::size_t limit) {
  std::size_t n = 0;
  while (n < limit) {
    const std::size_t step = first_difference(a + n, b + n);
    n += step;
    if (step < kStep) break;
  }
  return std::min(n, limit);
}

// The same backwards, in front of `a` and `b`.
std::size_t common_back(const char* a, const char* b, std::size_t limit) {
  std::size_t n = 0;
  while (n < limit) {
    const std::size_t step = last_difference(a - n - kStep, b - n - kStep);
    n += step;
    if (step < kStep) break;
  }
  return std::min(n, limit);
}

std::size_t hash_of(const char* value, std::size_t column) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, value, kHashedBytes);
  return static_cast<std::size_t>((bytes ^ column * 0xD6E8'FEB8'6659'FD93) * 0x9E37'79B9'7F4A'7C15 >>
                                  (64 - 12));
}

}  // namespace

// What run() calls: counts symbols, and leaves no trace in the coder.
class RowCoder::Counter {
 public:
  static constexpr bool kRemembers = false;
  void literals(const char* text, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) counts_.literal(text[i]);
  }
  void match(std::size_t length, std::size_t distance) { counts_.match(length, distance); }
  SymbolCounts& counts() { return counts_; }

 private:
  SymbolCounts counts_;
};

class RowCoder::Emitter {
 public:
  static constexpr bool kRemembers = true;
  Emitter(const BlockCode& code, BitWriter bits) : code_(code), bits_(bits) {}
  void literals(const char* text, std::size_t size) { code_.put_literals(bits_, text, size); }
  void match(std::size_t length, std::size_t distance) {
    code_.put_match(bits_, length, distance);
  }
  [[nodiscard]] const BitWriter& bits() const { return bits_; }

 private:
  const BlockCode& code_;
  BitWriter bits_;  // a copy, so that it can live in registers
};

void RowCoder::begin() {
  // Literals of 14 bits are the worst; headers and ends are small against the rest of the bound.
  constexpr std::size_t kOutputBytes = 2 * kMaxTextBytes + (64u << 10);
  if (output_ == nullptr) output_ = std::make_unique_for_overwrite<char[]>(kOutputBytes);
  bits_ = BitWriter(output_.get());
  std::fill(last_.begin(), last_.end(), Last{});
  std::fill(seen_.begin(), seen_.end(), 0);
  open_ = false;
}

void RowCoder::code(const char* text, std::size_t from, std::size_t to,
                    std::span<const ValueMark> marks) {
  WAYBILL_CHECK(to - from <= kMaxTextBytes, "too much text for one call");
  if (open_ && block_bytes_ >= kBlockBytes) close_block();
  if (!open_) open_block(text, from, to, marks);
  Emitter out(code_, bits_);
  run(out, text, from, to, marks);
  bits_ = out.bits();
  block_bytes_ += to - from;
}

void RowCoder::open_block(const char* text, std::size_t from, std::size_t to,
                          std::span<const ValueMark> marks) {
  Counter sample;
  if (marks.size() > kSampleMarks) {
    marks = marks.first(kSampleMarks);
    to = std::clamp<std::size_t>(marks.back().end, from, to);
  }
  const std::vector<Last> last = last_;
  run(sample, text, from, to, marks);
  last_ = last;
  sample.counts().allow_all();
  code_.build(sample.counts());
  code_.put_header(bits_);
  open_ = true;
  block_bytes_ = 0;
}

void RowCoder::close_block() {
  if (open_) code_.put_end(bits_);
  open_ = false;
}

void RowCoder::end_aligned() {
  close_block();
  bits_.align();
}

// The last block has fixed codes and only its end, seven zeros.
void RowCoder::end() {
  close_block();
  bits_.put(0b011, 10);
  bits_.fill_byte();
}

void RowCoder::cut_front(std::size_t bytes) {
  const auto moved = [bytes](std::uint32_t at) {
    return at > bytes ? static_cast<std::uint32_t>(at - bytes) : 0u;
  };
  for (Last& last : last_) last = {moved(last.begin), moved(last.end)};
  for (std::uint32_t& at : seen_) at = moved(at);
}

// Two anchors per mark: where the value begins and where it ends. Around an anchor everything is
// matched, backwards and forwards, that agrees with the text around the same place of the column's
// last value; what lies between two matches goes out as it is.
template <class Out>
void RowCoder::run(Out& out, const char* text, std::size_t from, std::size_t to,
                   std::span<const ValueMark> marks) {
  std::size_t done = from;  // everything before it is coded
  // Codes the text around `at` as a copy of that around `source`, `front` bytes of which are known
  // to agree.
  const auto copy = [&](std::size_t at, std::size_t source, std::size_t front) {
    const std::size_t back =
        common_back(text + at, text + source, std::min(at - done, source));
    std::size_t length = back + front;
    if (length < kShortestMatch) return;
    const std::size_t distance = at - source;
    out.literals(text + done, at - back - done);
    done = at + front;
    while (length > kMaxMatch) {
      // What is left must not be too short for a match.
      const std::size_t piece = length < kMaxMatch + kMinMatch ? length - kMinMatch : kMaxMatch;
      out.match(piece, distance);
      length -= piece;
    }
    out.match(length, distance);
  };
  // Where coding may go on near an anchor, and what it is compared with.
  struct Pair {
    std::size_t at;
    std::size_t source;
    std::size_t front;
  };
  const auto look = [&](std::size_t anchor, std::size_t source) {
    const std::size_t distance = anchor - source;
    if (source == 0 || distance - 1 >= kMaxDistance || anchor > to) return Pair{anchor, 0, 0};
    const std::size_t at = std::max(anchor, done);
    return Pair{at, at - distance, common_front(text + at, text + at - distance, to - at)};
  };
  for (const ValueMark& mark : marks) {
    Last& last = last_[mark.column];
    Pair start = look(mark.begin, last.begin);
    if (mark.repeats != 0 && mark.end - mark.begin >= kHashedBytes) {
      std::uint32_t& seen = seen_[hash_of(text + mark.begin, mark.column)];
      const Pair other = look(mark.begin, seen);
      if (other.front >= start.front + kWorthLooking) start = other;
      if (Out::kRemembers) seen = mark.begin;
    }
    if (start.source != 0) copy(start.at, start.source, start.front);
    const Pair finish = look(mark.end, last.end);
    if (finish.source != 0) copy(finish.at, finish.source, finish.front);
    last = {mark.begin, mark.end};
  }
  out.literals(text + done, to - done);
}

}  // namespace waybill::xlsx
