#include "xlsx/block_code.h"

#include <algorithm>

namespace waybill::xlsx {
namespace {

constexpr unsigned kMaxSymbolBits = 15;  // of any code in deflate
constexpr unsigned kMaxLengthCodeBits = 7;

std::uint32_t reversed(std::uint32_t code, unsigned size) {
  std::uint32_t out = 0;
  for (unsigned i = 0; i < size; ++i) out |= (code >> i & 1) << (size - 1 - i);
  return out;
}

// One entry of the header: a code length, or a run with its extra bits.
struct Run {
  std::uint8_t symbol = 0;  // 0..15 a length, 16 repeats the last one, 17 and 18 are zeros
  std::uint8_t extra = 0;
  std::uint8_t extra_bits = 0;
};

// Calls use(Run) for every entry.
template <class Use>
void for_runs(std::span<const std::uint8_t> sizes, Use use) {
  for (std::size_t at = 0; at < sizes.size();) {
    const std::uint8_t size = sizes[at];
    std::size_t left = 1;
    while (at + left < sizes.size() && sizes[at + left] == size) ++left;
    at += left;
    if (size != 0) {
      use(Run{size, 0, 0});
      --left;
    }
    while (left >= 3) {
      const std::size_t most = size != 0 ? 6 : left >= 11 ? 138 : 10;
      const std::size_t run = std::min(left, most);
      if (size != 0) {
        use(Run{16, static_cast<std::uint8_t>(run - 3), 2});
      } else if (run >= 11) {
        use(Run{18, static_cast<std::uint8_t>(run - 11), 7});
      } else {
        use(Run{17, static_cast<std::uint8_t>(run - 3), 3});
      }
      left -= run;
    }
    for (; left > 0; --left) use(Run{size, 0, 0});
  }
}

}  // namespace

void SymbolCounts::allow_all() {
  for (std::uint32_t& count : literals) ++count;
  for (std::uint32_t& count : distances) ++count;
}

// Huffman's lengths by the two-queue method, then shortened to `max_bits`: codes over the limit are
// cut to it, and the shortest change that makes room for them follows.
void BlockCode::measure(std::span<const std::uint32_t> counts, unsigned max_bits,
                        std::span<std::uint8_t> sizes) {
  struct Node {
    std::uint64_t weight = 0;
    std::size_t parent = 0;
  };
  std::array<std::uint16_t, kLiteralSymbols> order;
  std::size_t n = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sizes[i] = 0;
    if (counts[i] > 0) order[n++] = static_cast<std::uint16_t>(i);
  }
  if (n == 0) return;
  if (n == 1) {
    sizes[order[0]] = 1;
    return;
  }
  // Equal counts in the order of their symbols: the same code on every machine.
  std::sort(order.begin(), order.begin() + n, [&counts](std::uint16_t a, std::uint16_t b) {
    return counts[a] != counts[b] ? counts[a] < counts[b] : a < b;
  });
  std::array<Node, 2 * kLiteralSymbols> nodes;
  for (std::size_t i = 0; i < n; ++i) nodes[i] = {counts[order[i]], 0};
  const std::size_t root = 2 * n - 2;
  for (std::size_t made = n, leaf = 0, inner = n; made <= root; ++made) {
    std::uint64_t weight = 0;
    for (int child = 0; child < 2; ++child) {
      const bool take_leaf =
          leaf < n && (inner == made || nodes[leaf].weight <= nodes[inner].weight);
      Node& node = nodes[take_leaf ? leaf++ : inner++];
      node.parent = made;
      weight += node.weight;
    }
    nodes[made] = {weight, 0};
  }
  // Depths from the root down take the place of weights.
  std::array<std::size_t, kMaxSymbolBits + 1> of_size{};
  nodes[root].weight = 0;
  for (std::size_t i = root; i-- > 0;) {
    nodes[i].weight = nodes[nodes[i].parent].weight + 1;
    if (i < n) ++of_size[std::min<std::uint64_t>(nodes[i].weight, max_bits)];
  }
  std::size_t total = 0;  // of 1 << max_bits
  for (unsigned bits = 1; bits <= max_bits; ++bits) total += of_size[bits] << (max_bits - bits);
  for (; total > std::size_t{1} << max_bits; --total) {
    unsigned bits = max_bits - 1;
    while (of_size[bits] == 0) --bits;
    --of_size[max_bits];
    --of_size[bits];
    of_size[bits + 1] += 2;
  }
  std::size_t next = 0;  // rarest first
  for (unsigned bits = max_bits; bits >= 1; --bits) {
    for (std::size_t i = 0; i < of_size[bits]; ++i) {
      sizes[order[next++]] = static_cast<std::uint8_t>(bits);
    }
  }
}

void BlockCode::number(std::span<const std::uint8_t> sizes, std::span<Code> codes) {
  std::array<std::uint32_t, kMaxSymbolBits + 1> of_size{};
  std::array<std::uint32_t, kMaxSymbolBits + 2> next{};
  for (const std::uint8_t size : sizes) ++of_size[size];
  of_size[0] = 0;
  for (unsigned bits = 1; bits <= kMaxSymbolBits; ++bits) {
    next[bits + 1] = (next[bits] + of_size[bits]) << 1;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    codes[i] = {};
    if (sizes[i] != 0) codes[i] = {reversed(next[sizes[i]]++, sizes[i]), sizes[i]};
  }
}

void BlockCode::build(const SymbolCounts& counts) {
  std::array<std::uint32_t, kLiteralSymbols> literal_counts = counts.literals;
  literal_counts[kEndOfBlock] = std::max(literal_counts[kEndOfBlock], 1u);
  const std::span<std::uint8_t> sizes(sizes_);
  measure(literal_counts, kMaxCodeBits, sizes.first(kLiteralSymbols));
  measure(counts.distances, kMaxCodeBits, sizes.last(kDistanceSymbols));
  std::array<Code, kLiteralSymbols> codes;
  number(sizes.first(kLiteralSymbols), codes);
  number(sizes.last(kDistanceSymbols), distances_);
  std::copy_n(codes.begin(), literals_.size(), literals_.begin());
  end_ = codes[kEndOfBlock];
  for (std::size_t length = kMinMatch; length <= kMaxMatch; ++length) {
    const std::size_t c = kDeflateTables.length_class[length];
    const Code code = codes[kFirstLengthSymbol + c];
    const auto extra = static_cast<std::uint32_t>(length - kDeflateTables.length_base[c]);
    const auto bits = static_cast<std::uint32_t>(code.bits());
    lengths_[length] = {bits | extra << code.size(), code.size() + kDeflateTables.length_extra[c]};
  }
}

void BlockCode::put_header(BitWriter& out) const {
  constexpr std::array<std::uint8_t, kLengthCodes> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                             11, 4,  12, 3, 13, 2, 14, 1, 15};
  std::array<std::uint32_t, kLengthCodes> counts{};
  for_runs(sizes_, [&counts](Run run) { ++counts[run.symbol]; });
  std::array<std::uint8_t, kLengthCodes> sizes{};
  measure(counts, kMaxLengthCodeBits, sizes);
  std::array<Code, kLengthCodes> codes;
  number(sizes, codes);
  std::size_t sent = kLengthCodes;
  while (sent > 4 && sizes[kOrder[sent - 1]] == 0) --sent;
  out.put(0b100, 3);  // not the last block; dynamic codes
  out.put(kLiteralSymbols - 257, 5);
  out.put(kDistanceSymbols - 1, 5);
  out.put(sent - 4, 4);
  for (std::size_t i = 0; i < sent; ++i) out.put(sizes[kOrder[i]], 3);
  for_runs(sizes_, [&out, &codes](Run run) {
    put(out, codes[run.symbol]);
    out.put(run.extra, run.extra_bits);
  });
}

}  // namespace waybill::xlsx
