#include "xlsx/rich_text.h"

#include "xlsx/xstring.h"

namespace waybill::xlsx {

base::Error text_too_long() {
  return base::over_limit("text_bytes", kMaxTextBytes, "bytes", kMaxTextBytes + 1,
                          "a text of more than " + std::to_string(kMaxTextBytes) + " bytes");
}

void RichText::begin() {
  value_.clear();
  depth_ = 0;
  in_run_ = false;
  in_text_ = false;
}

void RichText::start(std::string_view name) {
  close_text();
  ++depth_;
  if (depth_ == 1) in_run_ = name == "r";  // the other parent of a <t> is rPh
  if (name == "t" && (depth_ == 1 || (depth_ == 2 && in_run_))) {
    in_text_ = true;
    from_ = value_.size();
  }
}

void RichText::end() {
  close_text();
  --depth_;
}

base::Status RichText::text(std::string_view piece) {
  if (!in_text_) return {};
  if (piece.size() > kMaxTextBytes - value_.size()) return text_too_long();
  value_ += piece;
  return {};
}

void RichText::close_text() {
  if (in_text_) decode_xstring(value_, from_);
  in_text_ = false;
}

}  // namespace waybill::xlsx
