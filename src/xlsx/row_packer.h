// How a sheet is compressed: by the coder that follows the rows while that is worth it, by the
// general one otherwise. Decided on the first text of every sheet, and looked at again
// from time to time; a sheet that has left the row coder does not go back.

#ifndef WAYBILL_XLSX_ROW_PACKER_H_
#define WAYBILL_XLSX_ROW_PACKER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "xlsx/row_coder.h"
#include "xlsx/zip_writer.h"

namespace waybill::xlsx {

// Not thread-safe. Serves the part that is open in `zip`.
class RowPacker {
 public:
  // At most this much text reaches one pack().
  static constexpr std::size_t kMaxTextBytes = RowCoder::kMaxTextBytes;

  RowPacker(ZipWriter& zip, std::size_t columns, Compression compression);

  // A part was begun that has rows.
  void begin();
  // Whether marks and history are of use.
  [[nodiscard]] bool active() const { return active_; }

  // Marks a value of the text that the next pack() gets. Marks beyond a bound are dropped.
  void mark(std::size_t begin, std::size_t end, std::size_t column, bool repeats) {
    if (marks_.size() == kMaxMarks) return;
    marks_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end),
                      static_cast<std::uint32_t>(column), repeats ? 1u : 0u});
  }

  // Packs text[from, to); what lies in front of it was packed before. `last`: no more will come.
  base::Status pack(const char* text, std::size_t from, std::size_t to, bool last);
  // `bytes` bytes went away at the front of the text.
  void cut_front(std::size_t bytes) { coder_.cut_front(bytes); }
  // The part has no more text.
  base::Status end();

 private:
  static constexpr std::size_t kMaxMarks = 16'384;

  [[nodiscard]] bool is_worth_it(std::string_view text, bool last);

  ZipWriter& zip_;
  const Compression compression_;
  RowCoder coder_;
  std::vector<ValueMark> marks_;
  bool active_ = false;
  std::uint64_t packs_ = 0;  // of this part
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_ROW_PACKER_H_
