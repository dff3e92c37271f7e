// The few facts of the ZIP format (APPNOTE.TXT 6.3.10) that the writer and the verifier share.

#ifndef WAYBILL_XLSX_ZIP_FORMAT_H_
#define WAYBILL_XLSX_ZIP_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace waybill::xlsx::zip {

inline constexpr std::uint32_t kLocalSignature = 0x04034b50;
inline constexpr std::uint32_t kDescriptorSignature = 0x08074b50;
inline constexpr std::uint32_t kCentralSignature = 0x02014b50;
inline constexpr std::uint32_t kEndSignature = 0x06054b50;
inline constexpr std::uint32_t kEnd64Signature = 0x06064b50;
inline constexpr std::uint32_t kLocator64Signature = 0x07064b50;

inline constexpr std::size_t kLocalBytes = 30;
inline constexpr std::size_t kCentralBytes = 46;
inline constexpr std::size_t kEndBytes = 22;
inline constexpr std::size_t kEnd64Bytes = 56;
inline constexpr std::size_t kLocator64Bytes = 20;

inline constexpr std::uint16_t kVersionDeflate = 20;
inline constexpr std::uint16_t kVersionZip64 = 45;
inline constexpr std::uint16_t kFlagDescriptor = 0x0008;
inline constexpr std::uint16_t kMethodStored = 0;
inline constexpr std::uint16_t kMethodDeflate = 8;
inline constexpr std::uint16_t kExtraZip64 = 0x0001;
inline constexpr std::uint32_t kMax32 = 0xFFFF'FFFF;  // "look into the ZIP64 field"
inline constexpr std::uint16_t kMax16 = 0xFFFF;

inline constexpr std::uint16_t kFixedDate =
    0x0021;  // 1980-01-01: the same input gives the same bytes
inline constexpr std::uint16_t kFixedTime = 0;

// Appends `value` with `bytes` bytes, little-endian.
inline void put(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}
inline void put16(std::string& out, std::uint64_t value) { put(out, value, 2); }
inline void put32(std::string& out, std::uint64_t value) { put(out, value, 4); }
inline void put64(std::string& out, std::uint64_t value) { put(out, value, 8); }

// The `bytes` bytes at `at`, little-endian. REQUIRES: at + bytes <= text.size().
inline std::uint64_t get(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[at + i])) << (8 * i);
  }
  return value;
}
inline std::uint16_t get16(std::string_view text, std::size_t at) {
  return static_cast<std::uint16_t>(get(text, at, 2));
}
inline std::uint32_t get32(std::string_view text, std::size_t at) {
  return static_cast<std::uint32_t>(get(text, at, 4));
}
inline std::uint64_t get64(std::string_view text, std::size_t at) { return get(text, at, 8); }

}  // namespace waybill::xlsx::zip

#endif  // WAYBILL_XLSX_ZIP_FORMAT_H_
