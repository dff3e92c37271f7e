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
#include "xlsx/zip_writer.h"

namespace waybill::xlsx {

// Not thread-safe. An error of the ZIP writer is kept; what is written after it goes nowhere. Ask
// status() once per row or part.
class XmlBuffer {
 public:
  static constexpr std::size_t kBytes =
      96u << 10;  // with its reader it stays inside a core's own cache
  static constexpr std::size_t kMaxReserve = 32u << 10;  // of one reserve()

  explicit XmlBuffer(ZipWriter& zip)
      : zip_(zip), buffer_(kBytes + kMaxReserve), at_(buffer_.data()) {}
  XmlBuffer(const XmlBuffer&) = delete;
  XmlBuffer& operator=(const XmlBuffer&) = delete;

  // A place for `bytes` bytes. REQUIRES: bytes <= kMaxReserve. Follow with advance().
  char* reserve(std::size_t bytes) {
    WAYBILL_CHECK(bytes <= kMaxReserve, "reserve() over its bound");
    if (at_ >= buffer_.data() + kBytes) flush();
    return at_;
  }
  void advance(char* end) { at_ = end; }

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

  // Hands everything to the ZIP writer.
  void flush() {
    const std::string_view ready(buffer_.data(), static_cast<std::size_t>(at_ - buffer_.data()));
    at_ = buffer_.data();
    if (status_.ok() && !ready.empty()) status_ = zip_.write(ready);
  }
  [[nodiscard]] const base::Status& status() const { return status_; }
  // Uncompressed bytes of the open part, those in the buffer included.
  [[nodiscard]] std::uint64_t part_bytes() const {
    return zip_.part_bytes() + static_cast<std::uint64_t>(at_ - buffer_.data());
  }

 private:
  ZipWriter& zip_;
  std::vector<char> buffer_;
  char* at_;
  base::Status status_;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_XML_BUFFER_H_
