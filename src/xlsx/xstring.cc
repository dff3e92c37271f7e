#include "xlsx/xstring.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace waybill::xlsx {
namespace {

constexpr std::size_t kEscapeBytes = 7;  // _xHHHH_
constexpr std::uint32_t kReplacement = 0xFFFD;

// The unit of an escape at the front of `text`.
std::optional<std::uint32_t> escaped_unit(std::string_view text) {
  if (text.size() < kEscapeBytes || text[0] != '_' || text[1] != 'x' || text[6] != '_')
    return std::nullopt;
  std::uint32_t unit = 0;
  for (const char c : text.substr(2, 4)) {
    const char low = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      unit = unit << 4 | static_cast<std::uint32_t>(c - '0');
    } else if (low >= 'a' && low <= 'f') {
      unit = unit << 4 | static_cast<std::uint32_t>(low - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return unit;
}

bool is_high(std::uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(std::uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

// Writes UTF-8 to `p`; at most four bytes.
char* put_character(char* p, std::uint32_t c) {
  if (c < 0x80) {
    *p++ = static_cast<char>(c);
    return p;
  }
  if (c < 0x800) {
    *p++ = static_cast<char>(0xC0 | c >> 6);
  } else {
    if (c < 0x1'0000) {
      *p++ = static_cast<char>(0xE0 | c >> 12);
    } else {
      *p++ = static_cast<char>(0xF0 | c >> 18);
      *p++ = static_cast<char>(0x80 | (c >> 12 & 0x3F));
    }
    *p++ = static_cast<char>(0x80 | (c >> 6 & 0x3F));
  }
  *p++ = static_cast<char>(0x80 | (c & 0x3F));
  return p;
}

void decode_escapes(std::string& text, std::size_t from) {
  const std::string_view in = text;
  std::size_t at = in.find("_x", from);
  if (at == std::string_view::npos) return;
  char* to = text.data() + at;
  while (at < in.size()) {
    const std::optional<std::uint32_t> unit = escaped_unit(in.substr(at));
    if (!unit) {
      *to++ = in[at++];
      continue;
    }
    at += kEscapeBytes;
    std::uint32_t character = *unit;
    if (is_high(*unit)) {
      const std::optional<std::uint32_t> next = escaped_unit(in.substr(at));
      if (next && is_low(*next)) {
        character = 0x1'0000 + ((*unit - 0xD800) << 10) + (*next - 0xDC00);
        at += kEscapeBytes;
      } else {
        character = kReplacement;
      }
    } else if (is_low(*unit)) {
      character = kReplacement;
    }
    to = put_character(to, character);
  }
  text.resize(static_cast<std::size_t>(to - text.data()));
}

}  // namespace

void decode_xstring(std::string& text, std::size_t from) {
  decode_escapes(text, from);
  std::size_t at = text.find('\r', from);
  if (at == std::string::npos) return;
  char* to = text.data() + at;
  for (; at < text.size(); ++at) {
    if (text[at] != '\r') {
      *to++ = text[at];
    } else if (at + 1 == text.size() || text[at + 1] != '\n') {
      *to++ = '\n';
    }
  }
  text.resize(static_cast<std::size_t>(to - text.data()));
}

}  // namespace waybill::xlsx
