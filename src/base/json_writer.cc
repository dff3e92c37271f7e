#include "base/json_writer.h"

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace waybill::base {

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  while (!text.empty()) {
    // The plain run first: nearly all text needs no escape.
    std::size_t plain = 0;
    while (plain < text.size()) {
      const auto c = static_cast<unsigned char>(text[plain]);
      if (c < 0x20 || c == '"' || c == '\\' || c >= 0x80) break;
      ++plain;
    }
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto c = static_cast<unsigned char>(text[0]);
    if (c >= 0x80) {
      const std::size_t n = utf8_sequence(text);
      out += n == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, n);
      text.remove_prefix(n == 0 ? 1 : n);
      continue;
    }
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out += kHex[c >> 4];
        out += kHex[c & 0xf];
    }
    text.remove_prefix(1);
  }
  out += '"';
}

JsonWriter& JsonWriter::key(std::string_view name) {
  comma();
  append_json_string(out_, name);
  out_ += ':';
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  comma();
  append_json_string(out_, text);
  return *this;
}

namespace {
template <class Number>
void append_number(std::string& out, Number number) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, number);
  out.append(buffer, result.ptr);
}
}  // namespace

JsonWriter& JsonWriter::value(std::int64_t number) {
  comma();
  append_number(out_, number);
  return *this;
}
JsonWriter& JsonWriter::value(std::uint64_t number) {
  comma();
  append_number(out_, number);
  return *this;
}
JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  comma();
  append_number(out_, number);
  return *this;
}
JsonWriter& JsonWriter::value(bool truth) {
  comma();
  out_ += truth ? "true" : "false";
  return *this;
}
JsonWriter& JsonWriter::null() {
  comma();
  out_ += "null";
  return *this;
}
JsonWriter& JsonWriter::raw(std::string_view json) {
  comma();
  out_ += json;
  return *this;
}

}  // namespace waybill::base
