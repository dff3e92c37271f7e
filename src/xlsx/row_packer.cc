#include "xlsx/row_packer.h"

#include <string_view>

namespace waybill::xlsx {
namespace {

// The general coder is tried on every so many pieces of text.
constexpr std::uint64_t kTrialEvery = 64;
// The row coder takes half the time of the general one; it may make this much more for it.
constexpr std::size_t kWorthNumerator = 9;
constexpr std::size_t kWorthDenominator = 8;

}  // namespace

void RowPacker::begin() {
  active_ = true;
  packs_ = 0;
  marks_.clear();
  coder_.begin();
}

bool RowPacker::is_worth_it(std::string_view text) {
  return coder_.output().size() * kWorthDenominator <=
         zip_.deflated_bytes(text) * kWorthNumerator;
}

base::Status RowPacker::pack(const char* text, std::size_t from, std::size_t to) {
  const std::string_view raw(text + from, to - from);
  if (!active_) return zip_.write(raw);
  coder_.code(text, from, to, marks_);
  marks_.clear();
  const bool first = packs_ == 0;
  const bool trial = packs_++ % kTrialEvery == 0;
  if (trial && !is_worth_it(raw)) {
    active_ = false;
    if (first) return zip_.write(raw);  // nothing left the coder yet
    coder_.end_aligned();
  }
  const base::Status status = zip_.write_deflated(raw, coder_.output());
  coder_.clear_output();
  return status;
}

base::Status RowPacker::end() {
  if (!active_) return {};
  active_ = false;
  coder_.end();
  return zip_.write_deflated({}, coder_.output());
}

}  // namespace waybill::xlsx
