// Arbitrary bytes as a finished package: the verifier must answer, whatever they are.

#include <cstdint>
#include <cstring>
#include <string_view>

#include "xlsx/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view package(reinterpret_cast<const char*>(data), size);
  const auto verified = waybill::xlsx::verify_package(
      size,
      [package](std::uint64_t offset,
                std::span<char> buffer) -> waybill::base::Result<std::size_t> {
        const std::string_view from = package.substr(offset, buffer.size());
        std::memcpy(buffer.data(), from.data(), from.size());
        return from.size();
      });
  static_cast<void>(verified.ok());
  return 0;
}
