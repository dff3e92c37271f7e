#include "xlsx/cell_text.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/text.h"
#include "xlsx/xml_buffer.h"

namespace waybill::xlsx {
namespace {

enum class Source : std::uint8_t { kText, kRawJson };

constexpr std::size_t kStep = 16;             // bytes looked at together
constexpr std::size_t kBlock = kMaxRawBytes;  // bytes escaped into one reserve()
static_assert(kBlock * kRawGrowth + 2 * kStep <= XmlBuffer::kMaxReserve);
static_assert(kTextPadding >= 2 * kStep);

char* put(char* p, std::string_view text) {
  std::memcpy(p, text.data(), text.size());
  return p + text.size();
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// U+FFFE or U+FFFF at `s` (three readable bytes).
bool is_noncharacter(const char* s) {
  return s[0] == '\xEF' && s[1] == '\xBF' && (s[2] == '\xBE' || s[2] == '\xBF');
}

bool becomes_escape(const char* s) {
  const auto c = static_cast<unsigned char>(*s);
  return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || is_noncharacter(s);
}

// At an underscore: would a reader take what will be written here for an escape? The closing
// underscore may also be the first byte of the escape that the next character turns into.
bool starts_literal_escape(const char* s, const char* end) {
  if (end - s < 7 || s[1] != 'x') return false;
  for (int i = 2; i < 6; ++i) {
    if (!is_hex(s[i])) return false;
  }
  return s[6] == '_' || becomes_escape(s + 6);
}

// One bit per byte of s[0..15] that cannot be copied as it is.
template <Source kSource>
std::uint32_t special_bytes(const char* s) {
#if defined(__SSE2__)
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(s));
  const __m128i next = _mm_loadu_si128(reinterpret_cast<const __m128i*>(s + 1));
  const auto is = [](__m128i v, int c) {
    return _mm_cmpeq_epi8(v, _mm_set1_epi8(static_cast<char>(c)));
  };
  // '<' and '>' differ in one bit.
  __m128i bad = is(_mm_or_si128(x, _mm_set1_epi8(2)), '>');
  bad = _mm_or_si128(bad, is(x, '&'));
  bad = _mm_or_si128(bad, _mm_and_si128(is(x, '_'), is(next, 'x')));
  bad = _mm_or_si128(bad, _mm_and_si128(is(x, 0xEF), is(next, 0xBF)));
  if constexpr (kSource == Source::kRawJson) {
    bad = _mm_or_si128(bad, is(x, '\\'));
  } else {
    const __m128i last_control = _mm_set1_epi8(0x1F);
    bad = _mm_or_si128(bad, _mm_cmpeq_epi8(_mm_min_epu8(x, last_control), x));
  }
  return static_cast<std::uint32_t>(_mm_movemask_epi8(bad));
#else
  std::uint32_t bits = 0;
  for (std::uint32_t i = 0; i < kStep; ++i) {
    const char c = s[i];
    const bool bad =
        c == '<' || c == '>' || c == '&' || (c == '_' && s[i + 1] == 'x') ||
        (c == '\xEF' && s[i + 1] == '\xBF') ||
        (kSource == Source::kRawJson ? c == '\\' : static_cast<unsigned char>(c) < 0x20);
    bits |= static_cast<std::uint32_t>(bad) << i;
  }
  return bits;
#endif
}

char* put_hex_escape(char* p, unsigned code) {
  constexpr char kHex[] = "0123456789ABCDEF";
  p = put(p, "_x");
  for (int shift = 12; shift >= 0; shift -= 4) *p++ = kHex[code >> shift & 0xF];
  *p++ = '_';
  return p;
}

// One special character at `s`, which is advanced past it.
char* put_special(char* p, const char*& s, const char* text_end) {
  const char c = *s++;
  switch (c) {
    case '<':
      return put(p, "&lt;");
    case '>':
      return put(p, "&gt;");
    case '&':
      return put(p, "&amp;");
    case '\t':
    case '\n':
      *p = c;
      return p + 1;
    case '\r':
      if (s < text_end && *s == '\n') ++s;
      *p = '\n';
      return p + 1;
    case '_':
      if (starts_literal_escape(s - 1, text_end)) return put_hex_escape(p, '_');
      *p = c;
      return p + 1;
    case '\xEF':
      if (text_end - s >= 2 && is_noncharacter(s - 1)) {
        s += 2;
        return put_hex_escape(p, s[-1] == '\xBE' ? 0xFFFE : 0xFFFF);
      }
      *p = c;
      return p + 1;
    default:
      return put_hex_escape(p, static_cast<unsigned char>(c));
  }
}

// Escapes from `s` up to about `block_end`; a special character at the border may take `s` past it.
// Stops at a backslash of raw JSON.
template <Source kSource>
char* escape_block(char* p, const char*& s, const char* block_end, const char* text_end) {
  while (s < block_end) {
    const auto left = static_cast<std::size_t>(block_end - s);
    std::uint32_t special = special_bytes<kSource>(s);
    if (left < kStep) special &= (1u << left) - 1;
    std::memcpy(p, s, kStep);
    const std::size_t plain =
        special == 0 ? std::min(left, kStep) : static_cast<std::size_t>(std::countr_zero(special));
    p += plain;
    s += plain;
    if (special == 0) continue;
    if (kSource == Source::kRawJson && *s == '\\') return p;
    p = put_special(p, s, text_end);
  }
  return p;
}

}  // namespace

PaddedText TextScratch::assign(std::string_view text) {
  char* p = room(text.size());
  if (!text.empty()) std::memcpy(p, text.data(), text.size());
  return end(p + text.size());
}

char* TextScratch::room(std::size_t bytes) {
  if (bytes_.size() < bytes + kTextPadding) bytes_.resize(bytes + kTextPadding);
  return bytes_.data();
}

void put_escaped(XmlBuffer& out, PaddedText text) {
  const char* s = text.data;
  const char* const end = text.data + text.size;
  while (s < end) {
    char* p = out.reserve(XmlBuffer::kMaxReserve);
    const char* block_end = std::min<std::ptrdiff_t>(end - s, kBlock) + s;
    out.advance(escape_block<Source::kText>(p, s, block_end, end));
  }
}

char* escape_json(char* p, PaddedText text) {
  const char* s = text.data;
  const char* const end = text.data + text.size;
  p = escape_block<Source::kRawJson>(p, s, end, end);
  return s == end ? p : nullptr;
}

bool has_backslash(PaddedText text) {
#if defined(__SSE2__)
  if (text.size <= 2 * kStep) {
    const __m128i wanted = _mm_set1_epi8('\\');
    const auto bits = [&](std::size_t at) {
      const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data + at));
      return static_cast<std::uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, wanted)));
    };
    return ((bits(0) | bits(kStep) << kStep) & ((std::uint64_t{1} << text.size) - 1)) != 0;
  }
#endif
  return std::memchr(text.data, '\\', text.size) != nullptr;
}

std::string xml_attribute(std::string_view text) {
  std::string out;
  const std::string safe = base::to_utf8(text);
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const char c = safe[i];
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (safe.size() - i >= 3 && is_noncharacter(&safe[i])) {
      i += 2;
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out;
}

std::size_t bytes_of_units(std::string_view text, std::size_t units) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<unsigned char>(text[at]);
    std::size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead == '\r' && at + 1 < text.size() && text[at + 1] == '\n') bytes = 2;
    const std::size_t cost = bytes == 4 ? 2 : 1;
    if (cost > units) break;
    units -= cost;
    at += bytes;
  }
  return std::min(at, text.size());
}

bool needs_preserve(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  return !text.empty() && (blank(text.front()) || blank(text.back()));
}

bool looks_like_formula(std::string_view text) {
  if (text.empty()) return false;
  switch (text[0]) {
    case '=':
    case '+':
    case '-':
    case '@':
    case '\t':
    case '\r':
    case '\n':
      return true;
    case '\xEF': {
      const std::string_view first = text.substr(0, 3);
      return first == "\xEF\xBC\x9D" || first == "\xEF\xBC\x8B" || first == "\xEF\xBC\x8D" ||
             first == "\xEF\xBC\xA0";
    }
    default:
      return false;
  }
}

bool only_digits(std::string_view text) {
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return !text.empty();
}

}  // namespace waybill::xlsx
