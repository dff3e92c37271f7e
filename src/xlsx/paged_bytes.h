// Bytes that are appended once and then read anywhere, in bounded memory: pages that do not fit are
// kept in an unlinked temporary file, which the system removes whatever happens to the process.

#ifndef WAYBILL_XLSX_PAGED_BYTES_H_
#define WAYBILL_XLSX_PAGED_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace waybill::xlsx {

// Not thread-safe.
class PagedBytes {
 public:
  // Small, since a file that uses its strings in a random order reads a page for each.
  static constexpr std::size_t kPageBytes = 4u << 10;

  // `memory_bytes` is rounded down to whole pages, at least two. The file is made in `folder`
  // (empty: $TMPDIR, else /tmp) when it is first needed, and holds at most `max_bytes`.
  PagedBytes(std::size_t memory_bytes, std::uint64_t max_bytes, std::string folder);
  ~PagedBytes();
  PagedBytes(const PagedBytes&) = delete;
  PagedBytes& operator=(const PagedBytes&) = delete;

  // kLimit (field "temp_bytes"); kUnavailable where the file cannot be written.
  base::Status append(std::string_view bytes);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // A view that is valid until the next call. REQUIRES: offset + bytes <= size().
  base::Result<std::string_view> read(std::uint64_t offset, std::size_t bytes);
  // Whether the file was needed.
  [[nodiscard]] bool spilled() const { return file_ >= 0; }

 private:
  struct Frame {
    std::unique_ptr<char[]> bytes;
    std::size_t page = 0;
    bool used = false;   // since the hand passed by
    bool dirty = false;  // not in the file yet
  };
  static constexpr std::int32_t kNotInMemory = -1;

  // The frame of a page that may have to be read.
  base::Result<char*> page(std::size_t number);
  // An empty frame for a page; puts another one into the file where there is no room.
  base::Result<std::size_t> frame_for(std::size_t number);
  base::Status write_out(Frame& frame);
  base::Status open_file();

  const std::size_t max_frames_;
  const std::uint64_t max_bytes_;
  const std::string folder_;
  std::vector<Frame> frames_;
  std::vector<std::int32_t> frame_of_page_;
  std::size_t hand_ = 0;
  std::uint64_t size_ = 0;
  int file_ = -1;
  std::string joined_;  // a text that lies on two pages
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_PAGED_BYTES_H_
