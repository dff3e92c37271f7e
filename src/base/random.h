// Random numbers as a seam: event ids and jitter come from a seed in tests and in the simulator.

#ifndef WAYBILL_BASE_RANDOM_H_
#define WAYBILL_BASE_RANDOM_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace waybill::base {

// Thread-safe.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
  // In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
};

// The operating system's generator.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;
};

// The same numbers for the same seed on every machine (SplitMix64).
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;

 private:
  std::atomic<std::uint64_t> state_;
};

// A version-4 UUID in lower case with dashes (RFC 9562 §5.4).
std::string make_uuid(Random& random);

// True for 8-4-4-4-12 hexadecimal digits, any version, either case.
bool is_uuid(std::string_view text);

}  // namespace waybill::base

#endif  // WAYBILL_BASE_RANDOM_H_
