#include "xlsx/cell_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace waybill::xlsx {
namespace {

constexpr int kDoubleDigits = 17;            // enough to tell all doubles apart
constexpr int kMaxExponent = 100'000;        // larger ones are clamped: no double is near
constexpr int kMaxPlainPower = 310;          // longest plain notation: a double's range
constexpr std::size_t kMaxCopiedBytes = 24;  // longer number tokens are rewritten in canonical form
constexpr int kSafePower = 307;              // 10^±307 is surely a normal double

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads [eE][+-]?\d+ at `at`; nothing when it is not one. The value is clamped.
std::optional<int> scan_exponent(std::string_view token, std::size_t at) {
  ++at;
  const bool negative = at < token.size() && token[at] == '-';
  if (at < token.size() && (token[at] == '-' || token[at] == '+')) ++at;
  if (at == token.size()) return std::nullopt;
  int value = 0;
  for (; at < token.size(); ++at) {
    if (!is_digit(token[at])) return std::nullopt;
    value = std::min(value * 10 + (token[at] - '0'), kMaxExponent);
  }
  return negative ? -value : value;
}

// The digits between highest and lowest, without sign and point.
std::string significant_digits(std::string_view token, const NumberScan& scan) {
  std::string digits;
  const auto want = static_cast<std::size_t>(scan.highest - scan.lowest + 1);
  for (const char c : token) {
    if (c == 'e' || c == 'E' || digits.size() == want) break;
    if (is_digit(c) && (c != '0' || !digits.empty())) digits += c;
  }
  return digits;
}

// Plain notation: "1500", "0.00015".
void append_plain(std::string& out, std::string_view digits, const NumberScan& scan) {
  if (scan.highest < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-scan.highest - 1), '0');
    out += digits;
    return;
  }
  const auto whole = static_cast<std::size_t>(scan.highest + 1);
  out += digits.substr(0, whole);
  if (digits.size() < whole) out.append(whole - digits.size(), '0');
  if (digits.size() > whole) {
    out += '.';
    out += digits.substr(whole);
  }
}

std::string_view rewrite(std::string_view token, const NumberScan& scan, bool plain,
                         std::string& scratch) {
  const std::string digits = significant_digits(token, scan);
  scratch.clear();
  if (token.front() == '-') scratch += '-';
  if (plain) {
    append_plain(scratch, digits, scan);
  } else {
    scratch += digits[0];
    if (digits.size() > 1) {
      scratch += '.';
      scratch += std::string_view(digits).substr(1);
    }
    scratch += 'E';
    scratch += std::to_string(scan.highest);
  }
  return scratch;
}

std::optional<double> to_double(std::string_view token) {
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return value;
}

bool in_double_range(std::string_view token, const NumberScan& scan) {
  if (scan.highest <= kSafePower && scan.highest >= -kSafePower) return true;
  const std::optional<double> value = to_double(token);
  return value && std::isnormal(*value);
}

// Are these the digits that the double nearest to them prints?
bool is_shortest_double(std::string_view token, const NumberScan& scan) {
  const std::optional<double> value = to_double(token);
  if (!value || !std::isnormal(*value)) return false;
  char printed[32];
  // Not the general form, which prints every digit of a large whole number.
  const auto end =
      std::to_chars(printed, printed + sizeof printed, *value, std::chars_format::scientific).ptr;
  const std::string_view again(printed, static_cast<std::size_t>(end - printed));
  const NumberScan printed_scan = scan_number(again);
  return printed_scan.highest == scan.highest && printed_scan.lowest == scan.lowest &&
         significant_digits(again, printed_scan) == significant_digits(token, scan);
}

// The usual number: no exponent, at most 15 digits in all, not zero. False says nothing.
bool is_ordinary(std::string_view token, bool point_allowed) {
  const std::size_t sign = !token.empty() && token[0] == '-' ? 1 : 0;
  if (token.size() - sign > kSignificantDigits || token.size() == sign) return false;
  const char* p = token.data() + sign;
  const char* const end = token.data() + token.size();
  if (*p < '1' || *p > '9') return false;
  while (p < end && is_digit(*p)) ++p;
  if (p == end) return true;
  if (!point_allowed || *p != '.' || ++p == end) return false;
  while (p < end && is_digit(*p)) ++p;
  return p == end;
}

NumberCell as_text(std::string_view token, const NumberScan& scan, std::string& scratch) {
  if (!scan.exponent) return {NumberKind::kTooLong, token};
  if (scan.highest > kMaxPlainPower || scan.lowest < -2 * kMaxPlainPower)
    return {NumberKind::kInvalid, token};
  return {NumberKind::kTooLong, rewrite(token, scan, true, scratch)};
}

}  // namespace

NumberScan scan_number(std::string_view token) {
  NumberScan scan;
  std::size_t at = !token.empty() && token[0] == '-' ? 1 : 0;
  const std::size_t first_digit = at;
  int position = 0;  // digits read
  int first = -1;    // position of the first and last digit that is not 0
  int last = -1;
  constexpr std::size_t kMaxToken = std::numeric_limits<int>::max() / 4;
  if (token.size() > kMaxToken) return scan;
  const auto digits = [&] {
    const int before = position;
    for (; at < token.size() && is_digit(token[at]); ++at, ++position) {
      if (token[at] == '0') continue;
      if (first < 0) first = position;
      last = position;
    }
    return position > before;
  };
  if (!digits()) return scan;
  if (token[first_digit] == '0' && position > 1) return scan;
  const int whole = position;
  scan.plain = true;
  if (at < token.size() && token[at] == '.') {
    ++at;
    scan.plain = false;
    if (!digits()) return scan;
  }
  int power = 0;
  if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
    const std::optional<int> exponent = scan_exponent(token, at);
    if (!exponent) return scan;
    power = *exponent;
    scan.plain = false;
    scan.exponent = true;
  } else if (at != token.size()) {
    return scan;
  }
  scan.valid = true;
  scan.zero = first < 0;
  if (!scan.zero) {
    scan.highest = whole - 1 - first + power;
    scan.lowest = whole - 1 - last + power;
  }
  return scan;
}

NumberCell integer_cell(std::string_view token, std::string& scratch) {
  if (is_ordinary(token, false)) return {NumberKind::kNumber, token};
  const NumberScan scan = scan_number(token);
  if (!scan.valid || scan.lowest < 0) return {NumberKind::kInvalid, token};
  if (scan.zero) return {NumberKind::kNumber, "0"};
  const bool fits = scan.highest < kSignificantDigits;
  if (!fits && scan.highest > kMaxPlainPower && !scan.plain) return {NumberKind::kInvalid, token};
  return {fits ? NumberKind::kNumber : NumberKind::kTooLong,
          scan.plain ? token : rewrite(token, scan, true, scratch)};
}

NumberCell decimal_cell(std::string_view token, bool from_number, std::string& scratch) {
  if (is_ordinary(token, true)) return {NumberKind::kNumber, token};
  const NumberScan scan = scan_number(token);
  if (!scan.valid) return {NumberKind::kInvalid, token};
  if (scan.zero) return {NumberKind::kNumber, "0"};
  if (!in_double_range(token, scan)) return {NumberKind::kInvalid, token};
  const int digits = scan.highest - scan.lowest + 1;
  if (digits > kSignificantDigits) {
    if (!from_number || digits > kDoubleDigits || !is_shortest_double(token, scan)) {
      return as_text(token, scan, scratch);
    }
  }
  if (token.size() <= kMaxCopiedBytes) return {NumberKind::kNumber, token};
  const bool plain = scan.highest < kSignificantDigits && scan.lowest > -kSignificantDigits;
  return {NumberKind::kNumber, rewrite(token, scan, plain, scratch)};
}

}  // namespace waybill::xlsx
