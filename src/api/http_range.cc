#include "api/http_range.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/text.h"

namespace waybill::api {
namespace {

// A number too large for 64 bits counts as the largest: it lies behind the end of every file.
std::optional<std::uint64_t> number(std::string_view digits) {
  if (digits.empty() || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 0;
  for (const char c : digits) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (kMax - digit) / 10) return kMax;
    value = value * 10 + digit;
  }
  return value;
}

}  // namespace

ByteRange parse_range(std::string_view header, std::uint64_t file_size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit)) return {};
  const std::string_view range = base::trim(header.substr(kUnit.size()));
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos || range.find(',') != std::string_view::npos) return {};
  const auto first = number(range.substr(0, dash));
  const auto last = number(range.substr(dash + 1));
  const bool open_end = dash + 1 == range.size();
  if (dash == 0) {
    if (!last) return {};
    const std::uint64_t size = std::min(*last, file_size);
    if (size == 0) return {ByteRange::Kind::kUnsatisfiable, 0, 0};
    return {ByteRange::Kind::kPart, file_size - size, size};
  }
  if (!first || (!last && !open_end) || (last && *last < *first)) return {};
  if (*first >= file_size) return {ByteRange::Kind::kUnsatisfiable, 0, 0};
  const std::uint64_t end = open_end ? file_size - 1 : std::min(*last, file_size - 1);
  return {ByteRange::Kind::kPart, *first, end - *first + 1};
}

bool matches_etag(std::string_view header, std::string_view etag) {
  for (std::string_view one : base::split(header, ',')) {
    one = base::trim(one);
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag || one == "*") return true;
  }
  return false;
}

}  // namespace waybill::api
