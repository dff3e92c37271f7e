// The Huffman codes of one dynamic block of deflate (RFC 1951, 3.2.2 and 3.2.7), and the bits that
// carry them.

#ifndef WAYBILL_XLSX_BLOCK_CODE_H_
#define WAYBILL_XLSX_BLOCK_CODE_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace waybill::xlsx {

static_assert(std::endian::native == std::endian::little, "bits leave in little-endian words");

// Appends bits to memory that the caller has measured. Writes whole words: kSlackBytes behind the
// last full byte are overwritten.
class BitWriter {
 public:
  static constexpr std::size_t kSlackBytes = 8;

  explicit BitWriter(char* out = nullptr) : out_(out) {}
  // REQUIRES: count <= 56, no bit of `bits` above `count`.
  void put(std::uint64_t bits, unsigned count) {
    bits_ |= bits << used_;
    used_ += count;
    std::memcpy(out_, &bits_, sizeof bits_);
    out_ += used_ >> 3;
    bits_ >>= used_ & ~7u;
    used_ &= 7;
  }
  // An empty stored block: the next bit is the first of a byte, and any raw stream may follow.
  void align() {
    put(0, 3);
    if (used_ > 0) put(0, 8 - used_);
    put(0xFFFF'0000, 32);
  }
  void fill_byte() {
    if (used_ > 0) put(0, 8 - used_);
  }
  // Goes on at `out` with the bits of the unfinished byte.
  void move_to(char* out) { out_ = out; }
  // Behind the last full byte.
  [[nodiscard]] char* end() const { return out_; }

 private:
  char* out_;
  std::uint64_t bits_ = 0;
  unsigned used_ = 0;  // 0..7 between calls
};

inline constexpr std::size_t kLiteralSymbols = 286;  // bytes, end of block, 29 classes of lengths
inline constexpr std::size_t kDistanceSymbols = 30;
inline constexpr unsigned kEndOfBlock = 256;
inline constexpr std::size_t kFirstLengthSymbol = 257;
inline constexpr std::size_t kMinMatch = 3;
inline constexpr std::size_t kMaxMatch = 258;
inline constexpr std::size_t kMaxDistance = 32'768;

// What the format fixes about lengths and distances (RFC 1951, 3.2.5), by length and by distance.
class DeflateTables {
 public:
  static constexpr std::size_t kLengthClasses = 29;

  constexpr DeflateTables() {
    std::size_t length = kMinMatch;
    for (std::size_t c = 0; c < kLengthClasses; ++c) {
      length_extra[c] = static_cast<std::uint8_t>(c < 8 || c == 28 ? 0 : (c - 4) / 4);
      if (c == 28) length = kMaxMatch;  // it has a class of its own
      length_base[c] = static_cast<std::uint16_t>(length);
      for (std::size_t i = 0; i < (std::size_t{1} << length_extra[c]); ++i, ++length) {
        if (length <= kMaxMatch) length_class[length] = static_cast<std::uint8_t>(c);
      }
    }
    std::size_t distance = 1;
    for (std::size_t c = 0; c < kDistanceSymbols; ++c) {
      distance_extra[c] = static_cast<std::uint8_t>(c < 2 ? 0 : c / 2 - 1);
      distance_base[c] = static_cast<std::uint16_t>(distance);
      for (std::size_t i = 0; i < (std::size_t{1} << distance_extra[c]); ++i, ++distance) {
        if (distance <= near_.size()) near_[distance - 1] = static_cast<std::uint8_t>(c);
        far_[(distance - 1) >> 7] = static_cast<std::uint8_t>(c);
      }
    }
  }
  [[nodiscard]] constexpr std::size_t distance_class(std::size_t distance) const {
    return distance <= near_.size() ? near_[distance - 1] : far_[(distance - 1) >> 7];
  }

  std::array<std::uint8_t, kMaxMatch + 1> length_class{};
  std::array<std::uint16_t, kLengthClasses> length_base{};
  std::array<std::uint8_t, kLengthClasses> length_extra{};
  std::array<std::uint16_t, kDistanceSymbols> distance_base{};
  std::array<std::uint8_t, kDistanceSymbols> distance_extra{};

 private:
  std::array<std::uint8_t, 256> near_{};  // by distance - 1
  std::array<std::uint8_t, 256> far_{};   // by (distance - 1) / 128
};
inline constexpr DeflateTables kDeflateTables;

// How often each symbol is expected.
struct SymbolCounts {
  std::array<std::uint32_t, kLiteralSymbols> literals{};
  std::array<std::uint32_t, kDistanceSymbols> distances{};

  void literal(char c) { ++literals[static_cast<unsigned char>(c)]; }
  // One match. REQUIRES: kMinMatch <= length <= kMaxMatch, 1 <= distance <= kMaxDistance.
  void match(std::size_t length, std::size_t distance) {
    ++literals[kFirstLengthSymbol + kDeflateTables.length_class[length]];
    ++distances[kDeflateTables.distance_class(distance)];
  }
  // Symbols that were not seen may still come.
  void allow_all();
};

class BlockCode {
 public:
  // Code lengths from counts; a symbol that was counted 0 times has no code.
  void build(const SymbolCounts& counts);
  // The header of a block that is not the last one.
  void put_header(BitWriter& out) const;
  void put_end(BitWriter& out) const { put(out, end_); }
  void put_literals(BitWriter& out, const char* text, std::size_t size) const {
    const auto code = [this, text](std::size_t i) {
      return literals_[static_cast<unsigned char>(text[i])];
    };
    std::size_t i = 0;
    for (; i + 4 <= size; i += 4) {
      const Code a = code(i);
      const Code b = code(i + 1);
      const Code c = code(i + 2);
      const Code d = code(i + 3);
      const std::uint64_t low = a.bits() | b.bits() << a.size();
      const std::uint64_t high = c.bits() | d.bits() << c.size();
      const unsigned first = a.size() + b.size();
      out.put(low | high << first, first + c.size() + d.size());
    }
    for (; i < size; ++i) put(out, code(i));
  }
  // One match as above.
  void put_match(BitWriter& out, std::size_t length, std::size_t distance) const {
    const std::size_t c = kDeflateTables.distance_class(distance);
    const Code head = lengths_[length];
    const Code tail = distances_[c];
    std::uint64_t bits = distance - kDeflateTables.distance_base[c];
    bits = bits << tail.size() | tail.bits();
    bits = bits << head.size() | head.bits();
    out.put(bits, head.size() + tail.size() + kDeflateTables.distance_extra[c]);
  }

 private:
  // Four of these fit one put(): what a literal costs at most is bounded for that.
  static constexpr unsigned kMaxCodeBits = 14;
  static constexpr std::size_t kLengthCodes = 19;

  // A code in the order in which its bits leave, with the extra bits where they are known.
  struct Code {
    std::uint32_t packed = 0;  // bits above their number
    Code() = default;
    Code(std::uint32_t bits, unsigned size) : packed(bits << 8 | size) {}
    [[nodiscard]] std::uint64_t bits() const { return packed >> 8; }
    [[nodiscard]] unsigned size() const { return packed & 0xFF; }
  };
  static void put(BitWriter& out, Code code) { out.put(code.bits(), code.size()); }
  // Lengths into sizes; canonical codes from sizes.
  static void measure(std::span<const std::uint32_t> counts, unsigned max_bits,
                      std::span<std::uint8_t> sizes);
  static void number(std::span<const std::uint8_t> sizes, std::span<Code> codes);

  std::array<std::uint8_t, kLiteralSymbols + kDistanceSymbols> sizes_{};
  std::array<Code, 256> literals_{};
  std::array<Code, kMaxMatch + 1> lengths_{};  // by length, extra bits included
  std::array<Code, kDistanceSymbols> distances_{};
  Code end_;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_BLOCK_CODE_H_
