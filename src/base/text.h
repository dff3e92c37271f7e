// Text from outside, made safe: UTF-8 checks, cutting by characters, escaping for one log line.

#ifndef WAYBILL_BASE_TEXT_H_
#define WAYBILL_BASE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waybill::base {

// Length in bytes of the well-formed UTF-8 sequence at the start of `text` (1..4), or 0 where there
// is none (Unicode Table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF). An empty
// text gives 0.
std::size_t utf8_sequence(std::string_view text);

bool is_utf8(std::string_view text);

// The same text with every ill-formed part replaced by U+FFFD.
std::string to_utf8(std::string_view text);

// Number of Unicode characters. REQUIRES: is_utf8(text).
std::size_t utf8_length(std::string_view text);

// The first `characters` Unicode characters, never half of one. Ill-formed bytes count as one
// character each.
std::string_view utf8_prefix(std::string_view text, std::size_t characters);

// One printable line of at most `characters` characters: control characters, line separators and
// bidirectional controls become \xNN or \u{NNNN}, ill-formed bytes U+FFFD, and a cut text ends with
// an ellipsis, which counts. No escape is cut in two.
std::string printable(std::string_view text, std::size_t characters = 1000);

// Without ASCII blanks and line ends at both sides.
std::string_view trim(std::string_view text);

// A whole decimal number and nothing else: no sign but '-', no blanks, no overflow.
std::optional<std::int64_t> parse_int(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);

// Equal without telling by its duration where the first difference is. Lengths are not hidden.
bool equal_constant_time(std::string_view a, std::string_view b);

}  // namespace waybill::base

#endif  // WAYBILL_BASE_TEXT_H_
