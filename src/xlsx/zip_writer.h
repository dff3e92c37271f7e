// A ZIP container written front to back: nothing is ever read again or seeked to.
//
// Parts whose content is known are stored with real sizes in front. Streamed parts are deflated and
// carry a data descriptor (some readers refuse a stored entry with one). ZIP64 records appear
// exactly where a value needs them, and a part announced as `large` says version 4.5 in its local
// header as well, which Excel insists on.

#ifndef WAYBILL_XLSX_ZIP_WRITER_H_
#define WAYBILL_XLSX_ZIP_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "xlsx/deflater.h"
#include "xlsx/writer.h"

namespace waybill::xlsx {

// Not thread-safe. The first error is kept: every later call returns it.
class ZipWriter {
 public:
  ZipWriter(ByteSink sink, Compression compression, std::uint64_t max_file_bytes);

  // One whole part.
  base::Status add(std::string_view name, std::string_view content);

  // A streamed part: begin, write..., end. A part that is not `large` must stay under 4 GiB
  // (kInternal otherwise).
  base::Status begin(std::string_view name, bool large);
  base::Status write(std::string_view bytes);
  // The same for bytes that the caller has deflated himself: `deflated` is the next piece of a raw
  // stream. write() may follow once such a stream has come to a byte's border between two blocks;
  // it never goes the other way.
  base::Status write_deflated(std::string_view bytes, std::string_view deflated);
  // How many bytes write() would make of `bytes` alone. REQUIRES: no write() in this part yet.
  std::uint64_t deflated_bytes(std::string_view bytes);
  base::Status end();

  // The central directory; everything reaches the sink.
  base::Status finish();

  // Of the file so far, those that still wait in the buffer included.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Uncompressed bytes of the part begun last.
  [[nodiscard]] std::uint64_t part_bytes() const { return open_.size; }

 private:
  struct Entry {
    std::string name;
    std::uint16_t version = 0;
    std::uint16_t flags = 0;
    std::uint16_t method = 0;
    std::uint32_t crc = 0;
    std::uint64_t size = 0;
    std::uint64_t packed = 0;
    std::uint64_t offset = 0;
  };

  base::Status put_local_header(const Entry& entry);
  base::Status emit(std::string_view bytes);
  base::Status account(std::uint64_t bytes);
  base::Status deflate(std::string_view bytes, bool last);
  base::Status flush();
  base::Status fail(base::Error error);
  static std::string central_record(const Entry& entry);
  [[nodiscard]] std::string end_records(std::uint64_t offset, std::uint64_t size) const;

  ByteSink sink_;
  std::unique_ptr<Deflater> deflater_;
  const std::uint64_t max_file_bytes_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<Entry> entries_;
  Entry open_;
  bool deflated_by_caller_ = false;  // so far all of the open part
  base::Status status_;
};

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_ZIP_WRITER_H_
