// Where the bytes of a package come from: any place that can be read at any offset.

#ifndef WAYBILL_XLSX_RANDOM_READ_H_
#define WAYBILL_XLSX_RANDOM_READ_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace waybill::xlsx {

// Fills `buffer` from `offset`; returns how many bytes exist there.
using RandomRead =
    std::function<base::Result<std::size_t>(std::uint64_t offset, std::span<char> buffer)>;

// A package that never returns fewer bytes than asked for. A value; as thread-safe as the function
// it was made from.
class ByteSource {
 public:
  ByteSource(std::uint64_t size, RandomRead read) : size_(size), read_(std::move(read)) {}
  [[nodiscard]] std::uint64_t size() const { return size_; }

  // Fills all of `buffer`. kInvalid where the package is too short; an error of the RandomRead as
  // it is.
  base::Status read(std::uint64_t offset, std::span<char> buffer) const;
  [[nodiscard]] base::Result<std::string> text(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::uint64_t size_;
  RandomRead read_;
};

// A local file that is read with pread(). Safe from several threads.
struct LocalFile {
  std::uint64_t size = 0;
  RandomRead read;
};
// kNotFound where there is no such file, kInvalid for a folder or a device, kUnavailable otherwise.
base::Result<LocalFile> open_local_file(const std::string& path);

}  // namespace waybill::xlsx

#endif  // WAYBILL_XLSX_RANDOM_READ_H_
