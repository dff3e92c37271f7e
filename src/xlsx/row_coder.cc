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
// Once the text needs so many percent more or less than where the block began, its codes are no
// longer the right ones.
constexpr std::uint64_t kDriftPercent = 8;
constexpr std::size_t kSampleMarks = 2'048;
// A shorter match costs more bits than the characters it stands for.
constexpr std::size_t kShortestMatch = 4;
// Values compared with a new one, per effort. Of eight, more match further, at three times the
// time.
constexpr std::size_t kOneValue = 1;
constexpr std::size_t kSeveralValues = 8;
// What a character that need not be sent is worth, in bits.
constexpr int kCharacterBits = 4;
// Distances to the newest value are much alike and so have short codes; those to older ones cost
// this much more.
constexpr int kOlderBits = 2;
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
  return static_cast<std::size_t>(
      (bytes ^ column * 0xD6E8'FEB8'6659'FD93) * 0x9E37'79B9'7F4A'7C15 >> (64 - 12));
}

// Counts symbols.
class Counter {
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

// Writes them.
class Emitter {
 public:
  static constexpr bool kRemembers = true;
  Emitter(const BlockCode& code, BitWriter bits) : code_(code), bits_(bits) {}
  void literals(const char* text, std::size_t size) { code_.put_literals(bits_, text, size); }
  void match(std::size_t length, std::size_t distance) { code_.put_match(bits_, length, distance); }
  [[nodiscard]] const BitWriter& bits() const { return bits_; }

 private:
  const BlockCode& code_;
  BitWriter bits_;  // a copy, so that it can live in registers
};

// A place in the text and an earlier one that it is compared with.
struct Pair {
  std::size_t at = 0;
  std::size_t source = 0;  // 0 = nowhere
  std::size_t front = 0;   // so many bytes from there on agree
};

// From left to right over one piece of text: what lies between two matches goes out as it is.
template <class Out>
class Walk {
 public:
  Walk(Out& out, const char* text, std::size_t from, std::size_t to)
      : out_(out), text_(text), done_(from), to_(to) {}

  // Where coding could go on near `anchor`, compared with the text near `source`.
  [[nodiscard]] Pair look(std::size_t anchor, std::size_t source) const {
    const std::size_t distance = anchor - source;
    if (source == 0 || distance - 1 >= kMaxDistance || anchor > to_) return {};
    const std::size_t at = std::max(anchor, done_);
    return {at, at - distance, common_front(text_ + at, text_ + at - distance, to_ - at)};
  }

  [[nodiscard]] std::size_t back(const Pair& pair) const {
    return common_back(text_ + pair.at, text_ + pair.source,
                       std::min(pair.at - done_, pair.source));
  }

  // What a match through the pair saves, roughly, in bits.
  [[nodiscard]] static int worth(const Pair& pair, std::size_t length) {
    if (pair.source == 0) return -1;
    return static_cast<int>(length) * kCharacterBits -
           static_cast<int>(std::bit_width(pair.at - pair.source));
  }

  // Codes everything up to the end of the match that goes through `pair`, if there is one.
  [[gnu::always_inline]] void copy(const Pair& pair) {
    if (pair.source == 0) return;
    const std::size_t before = back(pair);
    std::size_t length = before + pair.front;
    if (length < kShortestMatch) return;
    out_.literals(text_ + done_, pair.at - before - done_);
    done_ = pair.at + pair.front;
    const std::size_t distance = pair.at - pair.source;
    while (length > kMaxMatch) {
      // What is left must not be too short for a match.
      const std::size_t piece = length < kMaxMatch + kMinMatch ? length - kMinMatch : kMaxMatch;
      out_.match(piece, distance);
      length -= piece;
    }
    out_.match(length, distance);
  }

  void finish() { out_.literals(text_ + done_, to_ - done_); }

 private:
  Out& out_;
  const char* const text_;
  std::size_t done_;  // everything before it is coded
  const std::size_t to_;
};

}  // namespace

RowCoder::RowCoder(std::size_t columns, Effort effort)
    : depth_(effort == Effort::kOneValue ? kOneValue : kSeveralValues),
      last_(columns * depth_),
      seen_(kSeen) {}

void RowCoder::begin() {
  // Literals of 14 bits are the worst; headers and ends are small against the rest of the bound.
  constexpr std::size_t kOutputBytes = 2 * kMaxTextBytes + (64u << 10);
  if (output_ == nullptr) output_ = std::make_unique_for_overwrite<char[]>(kOutputBytes);
  bits_ = BitWriter(output_.get());
  std::fill(last_.begin(), last_.end(), Value{});
  std::fill(seen_.begin(), seen_.end(), 0);
  open_ = false;
}

void RowCoder::code(const char* text, std::size_t from, std::size_t to,
                    std::span<const ValueMark> marks) {
  WAYBILL_CHECK(to - from <= kMaxTextBytes && output().empty(), "too much text, or output left");
  if (open_ && (block_bytes_ >= kBlockBytes || drifted_)) close_block();
  if (!open_) open_block(text, from, to, marks);
  Emitter out(code_, bits_);
  run(out, text, from, to, marks);
  bits_ = out.bits();
  const std::uint64_t density = (output().size() << 20) / std::max<std::size_t>(to - from, 1);
  if (block_bytes_ == 0) first_density_ = density;
  const std::uint64_t change =
      std::max(density, first_density_) - std::min(density, first_density_);
  drifted_ = change * 100 > first_density_ * kDriftPercent;
  block_bytes_ += to - from;
}

void RowCoder::open_block(const char* text, std::size_t from, std::size_t to,
                          std::span<const ValueMark> marks) {
  Counter sample;
  if (marks.size() > kSampleMarks) {
    marks = marks.first(kSampleMarks);
    to = std::clamp<std::size_t>(marks.back().end, from, to);
  }
  const std::vector<Value> last = last_;
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
  for (Value& value : last_) value = {moved(value.begin), moved(value.end)};
  for (std::uint32_t& at : seen_) at = moved(at);
}

template <class Out>
void RowCoder::run(Out& out, const char* text, std::size_t from, std::size_t to,
                   std::span<const ValueMark> marks) {
  if (depth_ == kOneValue) {
    run_with<kOneValue>(out, text, from, to, marks);
  } else {
    run_with<kSeveralValues>(out, text, from, to, marks);
  }
}

// Two anchors per mark: where the value begins and where it ends. Around an anchor everything is
// matched, backwards and forwards, that agrees with the text around the same place of an earlier
// value of the column.
template <std::size_t kDepth, class Out>
void RowCoder::run_with(Out& out, const char* text, std::size_t from, std::size_t to,
                        std::span<const ValueMark> marks) {
  Walk<Out> walk(out, text, from, to);
  for (const ValueMark& mark : marks) {
    Value* const last = &last_[mark.column * kDepth];
    Pair start = walk.look(mark.begin, last->begin);
    int best = walk.worth(start, start.front);
    for (std::size_t i = 1; i < kDepth; ++i) {
      const Pair other = walk.look(mark.begin, last[i].begin);
      const int worth = walk.worth(other, other.front) - kOlderBits;
      if (worth <= best) continue;
      best = worth;
      start = other;
    }
    if (mark.repeats != 0 && mark.end - mark.begin >= kHashedBytes) {
      std::uint32_t& seen = seen_[hash_of(text + mark.begin, mark.column)];
      const Pair other = walk.look(mark.begin, seen);
      if (other.front >= start.front + kWorthLooking) start = other;
      if (Out::kRemembers) seen = mark.begin;
    }
    walk.copy(start);
    Pair finish = walk.look(mark.end, last->end);
    if constexpr (kDepth > 1) {
      best = walk.worth(finish, walk.back(finish) + finish.front);
      for (std::size_t i = 1; i < kDepth; ++i) {
        const Pair other = walk.look(mark.end, last[i].end);
        const int worth = walk.worth(other, walk.back(other) + other.front) - kOlderBits;
        if (worth <= best) continue;
        best = worth;
        finish = other;
      }
      std::copy_backward(last, last + kDepth - 1, last + kDepth);
    }
    walk.copy(finish);
    *last = {mark.begin, mark.end};
  }
  walk.finish();
}

}  // namespace waybill::xlsx
