#include "core/validate.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace waybill::core {

namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The code point of a well-formed sequence.
char32_t decode(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  switch (sequence.size()) {
    case 1:
      return byte(0);
    case 2:
      return ((byte(0) & 0x1Fu) << 6) | (byte(1) & 0x3Fu);
    case 3:
      return ((byte(0) & 0x0Fu) << 12) | ((byte(1) & 0x3Fu) << 6) | (byte(2) & 0x3Fu);
    default:
      return ((byte(0) & 0x07u) << 18) | ((byte(1) & 0x3Fu) << 12) | ((byte(2) & 0x3Fu) << 6) |
             (byte(3) & 0x3Fu);
  }
}

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

bool is_plain_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = base::utf8_sequence(text);
    if (size == 0 || is_control(decode(text.substr(0, size)))) return false;
    text.remove_prefix(size);
  }
  return true;
}

base::Status check_text(std::string_view field, std::string_view text, std::size_t max_length) {
  if (text.empty()) return base::invalid(std::string(field), std::string(field) + " is empty");
  // Before anything looks at the characters, so that a huge text costs nothing.
  if (text.size() > max_length * 4 ||
      (base::is_utf8(text) && base::utf8_length(text) > max_length)) {
    const auto length = base::is_utf8(text) ? base::utf8_length(text) : text.size();
    return base::over_limit(
        std::string(field), static_cast<std::int64_t>(max_length), "characters",
        static_cast<std::int64_t>(length),
        std::string(field) + " has more than " + std::to_string(max_length) + " characters");
  }
  if (!is_plain_text(text)) {
    return base::invalid(std::string(field),
                         std::string(field) + " contains control characters or is not UTF-8");
  }
  return {};
}

bool valid_type(std::string_view type) {
  return !type.empty() && type.size() <= kMaxTypeLength && is_upper(type[0]) &&
         std::all_of(type.begin(), type.end(),
                     [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
}

bool valid_lane(std::string_view lane) {
  return !lane.empty() && lane.size() <= kMaxLaneLength && is_lower(lane[0]) &&
         std::all_of(lane.begin(), lane.end(),
                     [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

base::Status check_task_name(std::string_view name) {
  WAYBILL_TRY(check_text("taskName", name, kMaxTaskNameLength));
  if (base::trim(name).empty()) return base::invalid("taskName", "taskName is blank");
  return {};
}

base::Status check_idempotency_key(std::string_view key) {
  constexpr std::string_view kField = "Idempotency-Key";
  WAYBILL_TRY(check_text(kField, key, kMaxIdempotencyKeyLength));
  if (!std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7F; })) {
    return base::invalid(std::string(kField),
                         "Idempotency-Key may only contain printable ASCII without blanks");
  }
  return {};
}

}  // namespace waybill::core
