#include "exporting/file_name.h"

#include "base/text.h"

namespace waybill::exporting {
namespace {

// Bidirectional and zero-width controls can make a name look like another one.
bool misleading(std::string_view sequence) {
  return sequence == "\xE2\x80\xAE" || sequence == "\xE2\x80\xAD" || sequence == "\xE2\x80\xAA" ||
         sequence == "\xE2\x80\xAB" || sequence == "\xE2\x80\xAC" || sequence == "\xE2\x80\x8B" ||
         sequence == "\xE2\x80\x8E" || sequence == "\xE2\x80\x8F" || sequence == "\xEF\xBB\xBF" ||
         sequence == "\xE2\x80\xA8" || sequence == "\xE2\x80\xA9" ||
         (sequence.substr(0, 3) >= "\xE2\x81\xA6" && sequence.substr(0, 3) <= "\xE2\x81\xA9") ||
         (sequence.size() == 2 && sequence >= "\xC2\x80" && sequence <= "\xC2\x9F");
}

std::string safe_title(std::string_view title) {
  const std::string text = base::to_utf8(base::utf8_prefix(title, kMaxTitleInFileName));
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = base::utf8_sequence(std::string_view(text).substr(at));
    const std::string_view sequence = std::string_view(text).substr(at, size);
    const auto first = static_cast<unsigned char>(sequence.front());
    const bool refused = first < 0x20 || first == 0x7F ||
                         std::string_view("\\/:*?\"<>|%;").find(sequence) != std::string_view::npos;
    if (refused || misleading(sequence)) {
      out += '_';
    } else {
      out += sequence;
    }
    at += size;
  }
  // A leading dot hides a file, trailing ones and blanks disappear on Windows.
  const std::size_t begin = out.find_first_not_of(" .");
  if (begin == std::string::npos) return "export";
  return out.substr(begin, out.find_last_not_of(" .") - begin + 1);
}

}  // namespace

std::string export_file_name(std::string_view title, base::Millis wall_ms,
                             const base::TimeZone& zone) {
  std::string stamp;
  for (const char c : zone.iso(wall_ms).substr(0, 19)) {  // "2026-11-30T14:23:59"
    if (c == 'T') stamp += '-';
    if (c >= '0' && c <= '9') stamp += c;
  }
  return safe_title(title) + "-" + stamp + ".xlsx";
}

}  // namespace waybill::exporting
