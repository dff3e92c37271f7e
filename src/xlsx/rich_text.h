// The text of an <si> or <is> (ECMA-376 CT_Rst): runs joined, phonetic hints left out.

#ifndef WAYBILL_XLSX_RICH_TEXT_H_
#define WAYBILL_XLSX_RICH_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace waybill::xlsx {

// Of one text in a file. Excel's own limit is 32,767 UTF-16 units, 98,301 bytes.
inline constexpr std::size_t kMaxTextBytes = 1u << 20;

// kLimit, field "text_bytes".
base::Error text_too_long();

// Gets the events inside the element. Not thread-safe.
class RichText {
 public:
  void begin();
  void start(std::string_view name);
  void end();
  base::Status text(std::string_view piece);
  // No element inside is open.
  [[nodiscard]] bool at_top() const { return depth_ == 0; }
  [[nodiscard]] const std::string& value() const { return value_; }

 private:
  void close_text();
  std::string value_;
  std::size_t from_ = 0;  // where the open <t> began
  int depth_ = 0;
  bool in_run_ = false;
  bool in_text_ = false;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_RICH_TEXT_H_
