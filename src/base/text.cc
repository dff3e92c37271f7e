#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace waybill::base {
namespace {
bool continues(std::string_view text, std::size_t at, unsigned char low = 0x80,
               unsigned char high = 0xBF) {
  if (at >= text.size()) return false;
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte >= low && byte <= high;
}
}  // namespace

std::size_t utf8_sequence(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(text, 1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned char low = lead == 0xE0 ? 0xA0 : 0x80;   // no overlong forms
    const unsigned char high = lead == 0xED ? 0x9F : 0xBF;  // no surrogates
    return continues(text, 1, low, high) && continues(text, 2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned char low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xF4 ? 0x8F : 0xBF;  // nothing above U+10FFFF
    return continues(text, 1, low, high) && continues(text, 2) && continues(text, 3) ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = utf8_sequence(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = utf8_sequence(text);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      out += text.substr(0, n);
      text.remove_prefix(n);
    }
  }
  return out;
}

std::size_t utf8_length(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

std::string_view utf8_prefix(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  while (at < text.size() && characters > 0) {
    const std::size_t n = utf8_sequence(text.substr(at));
    at += n == 0 ? 1 : n;
    --characters;
  }
  return text.substr(0, at);
}

namespace {

// Characters that would start a line, or change the order in which a line is shown, so that a text
// could look like another one (bidirectional controls).
bool must_be_named(std::uint32_t code) {
  return code == 0x85 || code == 0x2028 || code == 0x2029 || code == 0x61C || code == 0x200E ||
         code == 0x200F || (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

// REQUIRES: `character` is one well-formed sequence.
std::uint32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  std::uint32_t code = character.size() == 1 ? lead : lead & (0xFFu >> (character.size() + 1));
  for (const char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  return code;
}

// How the one character, or the one ill-formed byte (`well_formed` false), is shown.
std::string shown(std::string_view character, bool well_formed) {
  if (!well_formed) return "\xEF\xBF\xBD";
  const std::uint32_t code = code_point(character);
  if (code < 0x20 || code == 0x7F) return fmt::format("\\x{:02x}", code);
  return must_be_named(code) ? fmt::format("\\u{{{:x}}}", code) : std::string(character);
}

}  // namespace

std::string printable(std::string_view text, std::size_t characters) {
  constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
  std::string out;
  std::size_t count = 0, cut_at = 0;  // cut_at: bytes of `out` that leave room for the ellipsis
  while (!text.empty()) {
    const std::size_t n = utf8_sequence(text);
    const std::string one = shown(text.substr(0, std::max<std::size_t>(n, 1)), n > 0);
    count += utf8_length(one);
    if (count > characters) {
      out.resize(cut_at);
      return characters == 0 ? out : out.append(kEllipsis);
    }
    out += one;
    if (count < characters) cut_at = out.size();
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool equal_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

}  // namespace waybill::base
