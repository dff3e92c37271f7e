#include "files/files.h"

#include "base/text.h"

namespace waybill::files {
namespace {
bool key_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}
}  // namespace

bool valid_key(std::string_view key) {
  if (key.empty() || key.size() > kMaxKeyBytes) return false;
  for (const std::string_view segment : base::split(key, '/')) {
    if (segment.empty() || segment.size() > kMaxKeySegmentBytes || segment.front() == '.') {
      return false;
    }
    for (const char c : segment) {
      if (!key_character(c)) return false;
    }
  }
  return true;
}

}  // namespace waybill::files
