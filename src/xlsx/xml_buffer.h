// The XML text of the part being written: a fixed buffer in front of the ZIP writer. Hot code takes
// a raw pointer, writes behind a known bound and gives the pointer back; there is no allocation per
// cell.

#ifndef WAYBILL_XLSX_XML_BUFFER_H_
#define WAYBILL_XLSX_XML_BUFFER_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "xlsx/row_packer.h"
#include "xlsx/zip_writer.h"

namespace waybill::xlsx {

// Not thread-safe. An error of the ZIP writer is kept; what is written after it goes nowhere. Ask
// status() once per row or part.
class XmlBuffer {
 public:
  static constexpr std::size_t kBytes =
      128u << 10;  // with its reader it stays inside a core's own cache
  static constexpr std::size_t kMaxReserve = 32u << 10;  // of one reserve()

  XmlBuffer(ZipWriter& zip, RowPacker* rows)
      : zip_(zip),
        rows_(rows),
        buffer_(RowCoder::kPadding + kMaxDistance + kBytes + kMaxReserve + RowCoder::kPadding),
        text_(buffer_.data() + RowCoder::kPadding),
        fresh_(text_),
        at_(text_) {}
  XmlBuffer(const XmlBuffer&) = delete;
  XmlBuffer& operator=(const XmlBuffer&) = delete;

  // A place for `bytes` bytes. REQUIRES: bytes <= kMaxReserve. Follow with advance().
  char* reserve(std::size_t bytes) {
    WAYBILL_CHECK(bytes <= kMaxReserve, "reserve() over its bound");
    if (at_ >= text_ + kMaxDistance + kBytes) flush();
    return at_;
  }
  void advance(char* end) { at_ = end; }
  [[nodiscard]] char* at() const { return at_; }

  // Any length.
  void put(std::string_view text) {
    while (text.size() > kMaxReserve) {
      put(text.substr(0, kMaxReserve));
      text.remove_prefix(kMaxReserve);
    }
    if (text.empty()) return;
    char* p = reserve(text.size());
    std::memcpy(p, text.data(), text.size());
    advance(p + text.size());
  }
  void put_number(std::uint64_t number) {
    char* p = reserve(24);
    advance(std::to_chars(p, p + 24, number).ptr);
  }

  // Between these two the text is a sheet, and values may be marked.
  void begin_rows();
  void end_rows();
  // [begin, end) is the value of a column. REQUIRES: no flush() since `begin` was given out.
  void mark(const char* begin, const char* end, std::size_t column, bool repeats = false) {
    if (marking_) rows_->mark(offset(begin), offset(end), column, repeats);
  }

  // Hands everything to the ZIP writer. Places given out before are void after it.
  void flush() { hand_over(false); }
  [[nodiscard]] std::uint64_t flushes() const { return flushes_; }
  [[nodiscard]] const base::Status& status() const { return status_; }
  // Uncompressed bytes of the open part, those in the buffer included.
  [[nodiscard]] std::uint64_t part_bytes() const {
    return zip_.part_bytes() + static_cast<std::uint64_t>(at_ - fresh_);
  }

 private:
  void hand_over(bool last);
  [[nodiscard]] std::size_t offset(const char* p) const {
    return static_cast<std::size_t>(p - text_);
  }

  ZipWriter& zip_;
  RowPacker* const rows_;  // null: rows are text like any other
  std::vector<char> buffer_;
  char* const text_;
  char* fresh_;  // what lies in front of it was handed over and is kept for the row coder
  char* at_;
  bool marking_ = false;
  std::uint64_t flushes_ = 0;
  base::Status status_;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_XML_BUFFER_H_
