// Raw deflate (RFC 1951) in pieces, behind one interface: ISA-L for speed, zlib for size.

#ifndef WAYBILL_XLSX_DEFLATER_H_
#define WAYBILL_XLSX_DEFLATER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "xlsx/writer.h"

namespace waybill::xlsx {

// Not thread-safe. The same calls give the same bytes on every machine with the same library
// version.
class Deflater {
 public:
  virtual ~Deflater() = default;
  // A new, empty stream.
  virtual void begin() = 0;
  // Takes bytes from the front of `in` (which is advanced), writes into `out` and returns how many
  // bytes it wrote. A full `out` means: call again with what is left. Otherwise all of `in` was
  // taken, and with `last` the stream is complete. REQUIRES: out is not empty.
  virtual std::size_t run(std::string_view& in, bool last, std::span<char> out) = 0;
};

std::unique_ptr<Deflater> make_deflater(Compression compression);

// CRC-32 as ZIP wants it, continued from `crc` (0 at the start).
std::uint32_t crc32(std::uint32_t crc, std::string_view bytes);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_DEFLATER_H_
