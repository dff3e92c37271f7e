#include "xlsx/row_packer.h"

#include <string_view>

namespace waybill::xlsx {
namespace {

// The general coder is tried on the first piece of text, on the 17th and on every 64th, which costs
// little.
constexpr std::uint64_t kSecondTrial = 16;
constexpr std::uint64_t kTrialEvery = 64;
// How much more the row coder may make than the general one, in percent: it takes half the time at
// level `fast` and a third of it at `small`. On the first piece of a longer sheet more is allowed:
// the beginning flatters the general coder, as columns that repeat have not repeated yet.
constexpr std::uint64_t kMoreWhenFast = 12;
constexpr std::uint64_t kMoreWhenSmall = 2;
constexpr std::uint64_t kMoreAtFirst = 25;

}  // namespace

RowPacker::RowPacker(ZipWriter& zip, std::size_t columns, Compression compression)
    : zip_(zip),
      compression_(compression),
      coder_(columns, compression == Compression::kFast ? RowCoder::Effort::kOneValue
                                                        : RowCoder::Effort::kSeveralValues) {
  marks_.reserve(kMaxMarks);
}

void RowPacker::begin() {
  active_ = true;
  packs_ = 0;
  marks_.clear();
  coder_.begin();
}

bool RowPacker::is_worth_it(std::string_view text, bool last) {
  const bool beginning = packs_ == 0 && !last;
  const std::uint64_t more = beginning                            ? kMoreAtFirst
                             : compression_ == Compression::kFast ? kMoreWhenFast
                                                                  : kMoreWhenSmall;
  return coder_.output().size() * 100 <= zip_.deflated_bytes(text) * (100 + more);
}

base::Status RowPacker::pack(const char* text, std::size_t from, std::size_t to, bool last) {
  const std::string_view raw(text + from, to - from);
  if (!active_) return zip_.write(raw);
  coder_.code(text, from, to, marks_);
  marks_.clear();
  const bool trial = packs_ == kSecondTrial || packs_ % kTrialEvery == 0;
  if (trial && !is_worth_it(raw, last)) {
    active_ = false;
    if (packs_ == 0) return zip_.write(raw);  // nothing left the coder yet
    coder_.end_aligned();
  }
  ++packs_;
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
