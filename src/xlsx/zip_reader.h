// ZIP archives (APPNOTE.TXT 6.3.10) for reading, with no trust in them: the central directory
// rules, every local header must agree with it, parts must not overlap, no name may occur twice or
// leave the package, and what a part inflates to is counted and checked against its CRC.
//
// Accepted because real producers do it: an archive comment, data descriptors of any shape, ZIP64
// fields without need, backslashes instead of slashes, gaps between parts.

#ifndef WAYBILL_XLSX_ZIP_READER_H_
#define WAYBILL_XLSX_ZIP_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "xlsx/inflater.h"
#include "xlsx/random_read.h"

namespace waybill::xlsx {

inline constexpr std::uint64_t kMaxDirectoryBytes = 4u << 20;
inline constexpr std::uint64_t kMaxZipParts = 10'000;
inline constexpr std::size_t kMaxPartNameBytes = 256;

// One part as the central directory describes it.
struct ZipPart {
  std::string name;           // slashes only
  std::uint16_t version = 0;  // that a reader needs
  std::uint16_t local_version = 0;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0;             // bytes in the archive
  std::uint64_t size = 0;               // bytes that it promises to inflate to
  std::uint64_t offset = 0;             // of the local header
  std::uint64_t content = 0;            // of the first packed byte
  bool local_zip64 = false;             // the local header has a ZIP64 field
  [[nodiscard]] bool streamed() const;  // sizes follow in a data descriptor
  [[nodiscard]] std::uint64_t end() const { return content + packed; }
};

// Not thread-safe to open; const afterwards.
class ZipReader {
 public:
  // Reads the directory and every local header; inflates nothing. kInvalid (field "file") with the
  // reason for an archive that is damaged or plays tricks; kLimit above the limits of this header;
  // an error of the source as it is.
  static base::Result<ZipReader> open(ByteSource source);

  // In the order in which they lie in the archive.
  [[nodiscard]] const std::vector<ZipPart>& parts() const { return parts_; }
  // ASCII letters of either case are the same (OPC 6.2.2); nullptr where there is none.
  [[nodiscard]] const ZipPart* find(std::string_view name) const;
  [[nodiscard]] const ByteSource& source() const { return source_; }
  [[nodiscard]] std::uint64_t directory_offset() const { return directory_offset_; }
  [[nodiscard]] std::size_t comment_bytes() const { return comment_bytes_; }

 private:
  struct Directory;
  explicit ZipReader(ByteSource source) : source_(std::move(source)) {}
  base::Result<Directory> find_directory();
  base::Status read_end64(Directory& directory, std::uint64_t end_offset) const;
  base::Status read_directory(const Directory& directory);
  base::Status read_local_header(ZipPart& part) const;
  base::Status check_places() const;
  base::Status index_names();

  ByteSource source_;
  std::vector<ZipPart> parts_;
  std::vector<std::pair<std::string, std::size_t>> by_name_;  // lower case, sorted
  std::uint64_t directory_offset_ = 0;
  std::size_t comment_bytes_ = 0;
};

// How much may be inflated, by one part and by all that share it.
struct InflateBudget {
  std::uint64_t part_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t used = 0;  // by all so far
};

// The content of one part as a stream. Not thread-safe; archive, part and budget must outlive it.
class PartReader {
 public:
  PartReader(const ZipReader& zip, const ZipPart& part, InflateBudget& budget);

  // Fills the front of `out` and returns how many bytes; 0 at the end, once size and CRC were found
  // right. kInvalid for a damaged part, kLimit (field "part_bytes" or "total_bytes") where the
  // budget ends. REQUIRES: out is not empty.
  base::Result<std::size_t> read(std::span<char> out);
  [[nodiscard]] const ZipPart& part() const { return part_; }

 private:
  base::Result<std::size_t> produce(std::span<char> out);
  base::Status fill();
  base::Status take(std::string_view piece);

  const ByteSource& source_;
  const ZipPart& part_;
  InflateBudget& budget_;
  std::uint64_t at_;
  std::uint64_t left_;  // packed bytes not yet read
  std::uint64_t inflated_ = 0;
  std::uint32_t crc_ = 0;
  std::unique_ptr<Inflater> inflater_;  // none for stored parts
  std::vector<char> input_;
};

// A-Z as a-z: names of parts, and of sheets, that differ in nothing else are the same.
std::string lower_ascii(std::string_view text);

// "part NAME: why", kInvalid.
base::Error damaged_part(std::string_view name, std::string_view why);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_ZIP_READER_H_
