#include "xlsx/xml_buffer.h"

#include <algorithm>

namespace waybill::xlsx {

void XmlBuffer::begin_rows() {
  if (rows_ == nullptr) return;
  rows_->begin();
  marking_ = true;
}

void XmlBuffer::end_rows() {
  hand_over(true);
  if (rows_ == nullptr) return;
  if (marking_ && status_.ok()) status_ = rows_->end();
  marking_ = false;
  fresh_ = at_ = text_;
}

void XmlBuffer::hand_over(bool last) {
  ++flushes_;
  const bool fresh = at_ > fresh_ && status_.ok();
  if (!marking_) {
    if (fresh) status_ = zip_.write({fresh_, static_cast<std::size_t>(at_ - fresh_)});
    fresh_ = at_ = text_;
    return;
  }
  if (fresh) status_ = rows_->pack(text_, offset(fresh_), offset(at_), last);
  marking_ = rows_->active() && status_.ok();
  const std::size_t kept = marking_ ? std::min(offset(at_), kMaxDistance) : 0;
  const std::size_t gone = offset(at_) - kept;
  if (kept > 0) {
    std::memmove(text_, text_ + gone, kept);
    rows_->cut_front(gone);
  }
  fresh_ = at_ = text_ + kept;
}

}  // namespace waybill::xlsx
