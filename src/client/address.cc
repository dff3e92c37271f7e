#include "client/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>
#include <cstring>

namespace waybill::client {
namespace {

bool forbidden_v4(std::uint32_t address) {
  return (address >> 16) == 0xA9FE   // 169.254.0.0/16
         || address == 0x646464C8U;  // 100.100.100.200
}

bool forbidden_v6(const in6_addr& address) {
  const std::uint8_t* bytes = address.s6_addr;
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return true;
  static constexpr std::uint8_t kMetadata[16] = {0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0,    0,
                                                 0,    0,    0,    0,    0, 0, 0x02, 0x54};
  if (std::memcmp(bytes, kMetadata, sizeof kMetadata) == 0) return true;
  static constexpr std::uint8_t kNat64[12] = {0, 0x64, 0xff, 0x9b};  // RFC 6052
  const bool holds_v4 = IN6_IS_ADDR_V4MAPPED(&address) || IN6_IS_ADDR_V4COMPAT(&address) ||
                        std::memcmp(bytes, kNat64, sizeof kNat64) == 0;
  if (!holds_v4) return false;
  std::uint32_t v4 = 0;
  std::memcpy(&v4, bytes + 12, sizeof v4);
  return forbidden_v4(ntohl(v4));
}

}  // namespace

bool forbidden_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return forbidden_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    return forbidden_v6(v6.sin6_addr);
  }
  return true;  // nothing else is spoken
}

bool forbidden_host(const std::string& host) {
  if (host.starts_with('[')) {
    in6_addr v6{};
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6) == 1 &&
           forbidden_v6(v6);
  }
  in_addr v4{};
  return ::inet_pton(AF_INET, host.c_str(), &v4) == 1 && forbidden_v4(ntohl(v4.s_addr));
}

}  // namespace waybill::client
