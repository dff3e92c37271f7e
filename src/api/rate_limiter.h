// Requests per user and second: one token bucket per user, in bounded memory.

#ifndef WAYBILL_API_RATE_LIMITER_H_
#define WAYBILL_API_RATE_LIMITER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace waybill::api {

// Users remembered at one time. Beyond it, the ones that have been silent long enough to be at
// their burst again are forgotten, which changes nothing for them.
inline constexpr std::size_t kMaxRememberedUsers = 10'000;

// Thread-safe.
class RateLimiter {
 public:
  // `per_second` 0 = unlimited.
  RateLimiter(std::int64_t per_second, std::int64_t burst)
      : per_second_(per_second), burst_(burst) {}
  // True when `user` may make one request now. `now_ms` is monotonic.
  bool take(std::string_view user, base::Millis now_ms);

 private:
  struct Bucket {
    double left = 0;
    base::Millis at_ms = 0;
  };
  void forget_idle(base::Millis now_ms);
  [[nodiscard]] double filled(const Bucket& bucket, base::Millis now_ms) const;

  const std::int64_t per_second_;
  const std::int64_t burst_;
  std::mutex mutex_;
  std::map<std::string, Bucket, std::less<>> buckets_;
};

}  // namespace waybill::api

#endif  // WAYBILL_API_RATE_LIMITER_H_
