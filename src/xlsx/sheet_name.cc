#include "xlsx/sheet_name.h"

#include <string>

#include "base/text.h"
#include "xlsx/cell_text.h"
#include "xlsx/writer.h"

namespace waybill::xlsx {
namespace {

constexpr std::string_view kDefaultName = "Sheet1";
constexpr std::string_view kReserved = "history";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Characters that leave no mark: blanks of several widths and joiners.
bool is_invisible(std::string_view character) {
  for (const std::string_view blank :
       {" ", "\xC2\xA0", "\xC2\xAD", "\xE2\x80\x8B", "\xE2\x80\x8C", "\xE2\x80\x8D", "\xE2\x80\x8E",
        "\xE2\x80\x8F", "\xE2\x81\xA0", "\xE3\x80\x80", "\xEF\xBB\xBF"}) {
    if (character == blank) return true;
  }
  return false;
}

bool has_visible(std::string_view name) {
  while (!name.empty()) {
    const std::size_t n = base::utf8_sequence(name);
    if (!is_invisible(name.substr(0, n))) return true;
    name.remove_prefix(n);
  }
  return false;
}

std::string_view trim_ends(std::string_view name) {
  const auto bad = [](char c) { return c == '\'' || c == ' '; };
  while (!name.empty() && bad(name.front())) name.remove_prefix(1);
  while (!name.empty() && bad(name.back())) name.remove_suffix(1);
  return name;
}

std::string_view cut(std::string_view name, std::size_t units) {
  return trim_ends(name.substr(0, bytes_of_units(name, units)));
}

}  // namespace

std::string legal_sheet_name(std::string_view name) {
  std::string out;
  const std::string safe = base::to_utf8(name);
  for (const char c : safe) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) continue;
    out += std::string_view("[]:*?/\\").find(c) == std::string_view::npos ? c : '_';
  }
  // U+FFFE and U+FFFF exist in UTF-8 but not in XML.
  for (const std::string_view banned : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (std::size_t at = out.find(banned); at != std::string::npos; at = out.find(banned))
      out.erase(at, 3);
  }
  out = cut(trim_ends(out), kMaxSheetNameUnits);
  if (!has_visible(out)) return std::string(kDefaultName);
  if (lower(out) == kReserved) out += '_';
  return out;
}

std::string SheetNames::next(std::string_view wanted) {
  const std::string legal = legal_sheet_name(wanted);
  std::string name = legal;
  for (int number = 2; !used_.insert(lower(name)).second; ++number) {
    const std::string suffix = " (" + std::to_string(number) + ")";
    name = std::string(cut(legal, kMaxSheetNameUnits - suffix.size())) + suffix;
  }
  return name;
}

}  // namespace waybill::xlsx
