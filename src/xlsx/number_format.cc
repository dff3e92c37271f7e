#include "xlsx/number_format.h"

#include <algorithm>

namespace waybill::xlsx {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool starts_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(),
                                                  [](char a, char b) { return a == lower(b); });
}

// The length in bytes of what stands for itself at the front of `text`; 0 for nothing.
std::size_t literal(std::string_view text) {
  switch (text.front()) {
    case '"': {
      const std::size_t end = text.find('"', 1);
      return end == std::string_view::npos ? text.size() : end + 1;
    }
    case '\\':  // the next character
    case '_':   // a blank as wide as the next character
    case '*':   // the next character repeated
      return std::min<std::size_t>(2, text.size());
    default:
      return 0;
  }
}

// One section of a format.
class Section {
 public:
  // Reads up to the section's end and returns what is behind it.
  std::string_view read(std::string_view text) {
    while (!text.empty() && text.front() != ';') text.remove_prefix(step(text));
    end_month(false);
    text.remove_prefix(text.empty() ? 0 : 1);
    return text;
  }
  [[nodiscard]] NumberClass number_class() const {
    if (elapsed_) return NumberClass::kDuration;
    if (date_ && time_) return NumberClass::kDateTime;
    if (date_) return NumberClass::kDate;
    return time_ ? NumberClass::kTime : NumberClass::kNumber;
  }

 private:
  // Handles what is at the front and returns its length.
  std::size_t step(std::string_view text) {
    if (const std::size_t length = literal(text)) return length;
    const char c = lower(text.front());
    if (c == '[') return bracket(text);
    for (const std::string_view word : {"general", "am/pm", "a/p"}) {
      if (!starts_with(text, word)) continue;
      time_ = time_ || word != "general";
      return word.size();
    }
    if ((c == 'e' && text.size() > 1 && (text[1] == '+' || text[1] == '-'))) return 2;  // 0.00E+00
    switch (c) {
      case 'm':
        end_month(false);
        return month(text);
      case 'h':
        hour_or_second(false);
        break;
      case 's':
        hour_or_second(true);
        break;
      case 'y':
      case 'd':
      case 'e':  // year of an era
      case 'b':  // Buddhist year
        end_month(false);
        date_ = true;
        after_hour_ = false;
        break;
      default:
        break;
    }
    return 1;
  }

  // [h], [mm], [ss] count; [Red], [>100], [$-409] do not matter.
  std::size_t bracket(std::string_view text) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return text.size();
    const std::string_view inside = text.substr(1, end - 1);
    const char first = inside.empty() ? '\0' : lower(inside.front());
    const bool same =
        std::all_of(inside.begin(), inside.end(), [first](char c) { return lower(c) == first; });
    if (same && (first == 'h' || first == 'm' || first == 's')) {
      elapsed_ = true;
      hour_or_second(first == 's');
    }
    return end + 1;
  }

  // m is a minute behind an hour and before a second, otherwise a month: open until that is known.
  std::size_t month(std::string_view text) {
    std::size_t length = 0;
    while (length < text.size() && lower(text[length]) == 'm') ++length;
    if (after_hour_ && length <= 2) {
      time_ = true;
      after_hour_ = false;
    } else if (length <= 2) {
      open_month_ = true;
    } else {
      date_ = true;
    }
    return length;
  }
  void end_month(bool before_second) {
    if (!open_month_) return;
    open_month_ = false;
    (before_second ? time_ : date_) = true;
  }
  void hour_or_second(bool second) {
    end_month(second);
    time_ = true;
    after_hour_ = !second;
  }

  bool date_ = false;
  bool time_ = false;
  bool elapsed_ = false;
  bool after_hour_ = false;
  bool open_month_ = false;
};

}  // namespace

NumberClass classify_format(std::string_view code) {
  while (!code.empty()) {
    Section section;
    code = section.read(code);
    if (section.number_class() != NumberClass::kNumber) return section.number_class();
  }
  return NumberClass::kNumber;
}

NumberClass builtin_format(std::uint32_t id) {
  const auto in = [id](std::uint32_t first, std::uint32_t last) {
    return first <= id && id <= last;
  };
  if (id == 22 || id == 77) return NumberClass::kDateTime;
  if (id == 46 || id == 79) return NumberClass::kDuration;
  if (in(18, 21) || in(32, 35) || id == 45 || id == 47 || in(75, 76) || id == 78 || id == 80)
    return NumberClass::kTime;
  if (in(14, 17) || in(27, 31) || id == 36 || in(50, 54) || in(57, 58) || in(71, 74) || id == 81)
    return NumberClass::kDate;
  // 年月 in some locales, hours and minutes in others: the value says which.
  if (in(55, 56)) return NumberClass::kDateTime;
  return NumberClass::kNumber;
}

}  // namespace waybill::xlsx
