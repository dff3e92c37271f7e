#include "base/random.h"

#include <sys/random.h>
#include <unistd.h>

#include "base/check.h"

namespace waybill::base {

std::uint64_t SystemRandom::next() {
  // A block at a time: one system call for 64 numbers.
  thread_local std::uint64_t block[64];
  thread_local std::size_t used = 64;
  // A forked child has a copy of the block and must not repeat it.
  thread_local pid_t owner = 0;
  if (used == 64 || owner != getpid()) {
    owner = getpid();
    // Up to 256 bytes getrandom() neither blocks (after boot) nor returns short.
    for (std::size_t done = 0; done < sizeof block;) {
      const ssize_t n = getrandom(reinterpret_cast<char*>(block) + done,
                                  sizeof block - done > 256 ? 256 : sizeof block - done, 0);
      WAYBILL_CHECK(n > 0, "the operating system gives no random numbers");
      done += static_cast<std::size_t>(n);
    }
    used = 0;
  }
  return block[used++];
}

std::uint64_t SeededRandom::next() {
  std::uint64_t z = state_.fetch_add(0x9e3779b97f4a7c15ULL) + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::string make_uuid(Random& random) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::uint64_t high = random.next();
  std::uint64_t low = random.next();
  high = (high & ~0xf000ULL) | 0x4000ULL;                       // version 4
  low = (low & 0x3fffffffffffffffULL) | 0x8000000000000000ULL;  // variant 10
  std::string text(36, '-');
  std::size_t at = 0;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) ++at;
    const std::uint64_t half = digit < 16 ? high : low;
    text[at++] = kHex[(half >> (60 - 4 * (digit % 16))) & 0xf];
  }
  return text;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (dash ? c != '-' : !hex) return false;
  }
  return true;
}

}  // namespace waybill::base
