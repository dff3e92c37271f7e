// SHA-256 (FIPS 180-4), over a stream or over one piece of text.

#ifndef WAYBILL_BASE_SHA256_H_
#define WAYBILL_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace waybill::base {

using Sha256Digest = std::array<std::uint8_t, 32>;

// Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(const void* data, std::size_t size);
  // Ends the stream. Call once.
  Sha256Digest finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Sha256Digest sha256(std::string_view text);
// Lower-case hexadecimal.
std::string to_hex(const Sha256Digest& digest);
std::string sha256_hex(std::string_view text);

}  // namespace waybill::base

#endif  // WAYBILL_BASE_SHA256_H_
