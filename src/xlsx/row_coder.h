// Deflate for text that is made of rows, without a search for matches: whoever wrote the text marks
// where each column's value stands, and the coder looks at one place for it, the value that the
// same column had last. Around such a pair of places the markup agrees, and often the first and
// last characters of the values.
//
// Marks are hints. Every match is compared byte by byte before it is used, so a wrong mark costs
// size and nothing else. The output is a function of text, marks and the calls alone: no
// instruction set changes it. docs/decisions/0005 has the reasons.

#ifndef WAYBILL_XLSX_ROW_CODER_H_
#define WAYBILL_XLSX_ROW_CODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "xlsx/block_code.h"

namespace waybill::xlsx {

// A value in the text: offsets from where the text starts.
struct ValueMark {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t column = 0;
  std::uint32_t repeats = 0;  // 1: worth remembering beyond the next row
};

// Not thread-safe.
class RowCoder {
 public:
  // The text that the coder sees grows at its end and is cut at its front. Compares whole blocks,
  // so kPadding bytes must be readable before and behind it.
  static constexpr std::size_t kPadding = 32;
  static constexpr std::size_t kMaxTextBytes = 1u << 20;  // of one code()

  // How many earlier values of a column are compared with a new one.
  enum class Effort : std::uint8_t { kOneValue, kSeveralValues };

  RowCoder(std::size_t columns, Effort effort);

  // A new stream.
  void begin();
  // Codes text[from, to); the bytes in front of it were coded before and are what matches may refer
  // to. `marks` are in the order of the text. REQUIRES: to - from <= kMaxTextBytes, every mark's
  // column < columns.
  void code(const char* text, std::size_t from, std::size_t to, std::span<const ValueMark> marks);
  // `bytes` bytes went away at the front of the text.
  void cut_front(std::size_t bytes);
  // Ends the open block on a byte's border, so that another raw stream may follow.
  void end_aligned();
  // Ends the stream.
  void end();

  // What was made since clear_output(), whole bytes.
  [[nodiscard]] std::string_view output() const {
    return {output_.get(), static_cast<std::size_t>(bits_.end() - output_.get())};
  }
  // The output was taken; the bits of an unfinished byte stay.
  void clear_output() { bits_.move_to(output_.get()); }

 private:
  // Where a value stands; 0 = nowhere.
  struct Value {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  static constexpr std::size_t kSeen = 4'096;  // remembered values of all columns, a power of two

  // Hands literals and matches to `out`.
  template <class Out>
  void run(Out& out, const char* text, std::size_t from, std::size_t to,
           std::span<const ValueMark> marks);
  template <std::size_t kDepth, class Out>
  void run_with(Out& out, const char* text, std::size_t from, std::size_t to,
                std::span<const ValueMark> marks);
  void open_block(const char* text, std::size_t from, std::size_t to,
                  std::span<const ValueMark> marks);
  void close_block();

  const std::size_t depth_;          // values remembered of each column
  std::vector<Value> last_;          // a column's newest value first
  std::vector<std::uint32_t> seen_;  // by hash of column and first bytes: where such a value began
  BlockCode code_;
  bool open_ = false;                // a block
  std::size_t block_bytes_ = 0;      // of text that the open block has
  std::uint64_t first_density_ = 0;  // output per MiB of text where the block began, and whether
  bool drifted_ = false;             // it has changed since
  BitWriter bits_;
  std::unique_ptr<char[]> output_;  // pages that were never written cost nothing
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_ROW_CODER_H_
