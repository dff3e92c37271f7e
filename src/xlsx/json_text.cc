#include "xlsx/json_text.h"

#include <algorithm>
#include <bitset>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "xlsx/cell_number.h"

namespace waybill::xlsx {
namespace {

constexpr unsigned kReplacement = 0xFFFD;

std::optional<unsigned> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  unsigned code = 0;
  for (const char c : text.substr(0, 4)) {
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<unsigned>(c - 'A' + 10);
    } else {
      return std::nullopt;
    }
    code = code << 4 | digit;
  }
  return code;
}

char* put_utf8(char* p, unsigned code) {
  const auto byte = [&p](unsigned value) { *p++ = static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
  return p;
}

bool is_high(unsigned code) { return code >= 0xD800 && code <= 0xDBFF; }
bool is_low(unsigned code) { return code >= 0xDC00 && code <= 0xDFFF; }

// `raw` starts behind "\u" and is advanced past what was read. Nothing where four hex digits are
// missing.
std::optional<unsigned> take_unicode_escape(std::string_view& raw, std::int64_t& replaced) {
  const std::optional<unsigned> first = hex4(raw);
  if (!first) return std::nullopt;
  raw.remove_prefix(4);
  if (is_high(*first) && raw.starts_with("\\u")) {
    const std::optional<unsigned> second = hex4(raw.substr(2));
    if (second && is_low(*second)) {
      raw.remove_prefix(6);
      return 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00);
    }
  }
  if (is_high(*first) || is_low(*first)) {
    ++replaced;
    return kReplacement;
  }
  return first;
}

std::optional<char> simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return std::nullopt;
  }
}

// Where to cut a run of plain text so that a character stays whole.
std::size_t whole_characters(std::string_view text, std::size_t bytes) {
  if (bytes >= text.size()) return text.size();
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) ++bytes;
  return bytes;
}

// The grammar of RFC 8259 over tokens, with one bit per open bracket instead of recursion.
class CompactJson {
 public:
  CompactJson(std::string& out, std::size_t max_bytes) : out_(out), max_bytes_(max_bytes) {}

  bool run(std::string_view json) {
    while (!json.empty()) {
      const char c = json.front();
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        json.remove_prefix(1);
        continue;
      }
      const std::size_t size = token_size(json);
      if (size == 0 || !accept(json.substr(0, size))) return false;
      if (out_.size() < max_bytes_) {
        out_ += json.substr(0, whole_characters(json.substr(0, size), max_bytes_));
      }
      json.remove_prefix(size);
    }
    return state_ == State::kDone;
  }

 private:
  enum class State : std::uint8_t {
    kValue,
    kValueOrEnd,
    kKey,
    kKeyOrEnd,
    kColon,
    kCommaOrEnd,
    kDone
  };

  static std::size_t token_size(std::string_view json) {
    const char c = json.front();
    if (c == '"') {
      for (std::size_t i = 1; i < json.size(); ++i) {
        if (json[i] == '\\') {
          ++i;
        } else if (json[i] == '"') {
          return i + 1;
        }
      }
      return 0;
    }
    if (std::strchr("[]{}:,", c) != nullptr && c != '\0') return 1;
    return std::min(json.find_first_of("[]{}:,\" \t\r\n"), json.size());
  }

  static bool is_scalar(std::string_view token) {
    return token.front() == '"' || token == "true" || token == "false" || token == "null" ||
           scan_number(token).valid;
  }

  bool accept(std::string_view token) {
    const char c = token.front();
    switch (state_) {
      case State::kValueOrEnd:
        if (c == ']') return close();
        return value(token);
      case State::kValue:
        return value(token);
      case State::kKeyOrEnd:
        if (c == '}') return close();
        [[fallthrough]];
      case State::kKey:
        state_ = State::kColon;
        return c == '"';
      case State::kColon:
        state_ = State::kValue;
        return c == ':';
      case State::kCommaOrEnd:
        if (c == ',') {
          state_ = object_[depth_ - 1] ? State::kKey : State::kValue;
          return true;
        }
        return c == (object_[depth_ - 1] ? '}' : ']') && close();
      case State::kDone:
        return false;
    }
    return false;
  }

  bool value(std::string_view token) {
    const char c = token.front();
    if (c == '{' || c == '[') {
      if (depth_ == kMaxJsonNesting) return false;
      object_[depth_++] = c == '{';
      state_ = c == '{' ? State::kKeyOrEnd : State::kValueOrEnd;
      return true;
    }
    after_value();
    return is_scalar(token);
  }

  bool close() {
    --depth_;
    after_value();
    return true;
  }

  void after_value() { state_ = depth_ == 0 ? State::kDone : State::kCommaOrEnd; }

  std::string& out_;
  const std::size_t max_bytes_;
  State state_ = State::kValue;
  std::size_t depth_ = 0;
  std::bitset<kMaxJsonNesting> object_;
};

}  // namespace

DecodedString decode_json_string(std::string_view raw, std::size_t max_bytes,
                                 TextScratch& scratch) {
  // No escape is shorter than what it stands for, and a cut run ends at most three bytes late.
  char* const begin = scratch.room(std::min(raw.size(), max_bytes + 8));
  char* p = begin;
  DecodedString result;
  while (!raw.empty() && static_cast<std::size_t>(p - begin) < max_bytes) {
    const std::size_t left = max_bytes - static_cast<std::size_t>(p - begin);
    const std::size_t run = std::min(raw.substr(0, left).find('\\'), whole_characters(raw, left));
    std::memcpy(p, raw.data(), run);
    p += run;
    raw.remove_prefix(run);
    if (raw.empty() || run > 0) continue;
    const char kind = raw.size() < 2 ? '\0' : raw[1];
    if (kind == 'u') {
      raw.remove_prefix(2);
      const std::optional<unsigned> code = take_unicode_escape(raw, result.replaced);
      if (!code) return {{}, result.replaced, false};
      p = put_utf8(p, *code);
    } else {
      const std::optional<char> c = simple_escape(kind);
      if (!c) return {{}, result.replaced, false};
      *p++ = *c;
      raw.remove_prefix(2);
    }
  }
  result.text = scratch.end(p);
  return result;
}

std::int64_t append_repaired(std::string& out, std::string_view text) {
  std::int64_t replaced = 0;
  std::size_t plain = 0;  // bytes of well-formed text not yet copied
  while (plain < text.size()) {
    const std::size_t n = base::utf8_sequence(text.substr(plain));
    plain += n;
    if (n != 0) continue;
    out += text.substr(0, plain);
    out += "\xEF\xBF\xBD";
    text.remove_prefix(plain + 1);
    plain = 0;
    ++replaced;
  }
  out += text;
  return replaced;
}

bool append_compact_json(std::string_view json, std::size_t max_bytes, std::string& out) {
  return CompactJson(out, max_bytes).run(json);
}

}  // namespace waybill::xlsx
