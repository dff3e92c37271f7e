#include "api/rate_limiter.h"

#include <algorithm>

namespace waybill::api {

double RateLimiter::filled(const Bucket& bucket, base::Millis now_ms) const {
  const double gained =
      static_cast<double>(now_ms - bucket.at_ms) * static_cast<double>(per_second_) / 1000.0;
  return std::min(static_cast<double>(burst_), bucket.left + gained);
}

bool RateLimiter::take(std::string_view user, base::Millis now_ms) {
  if (per_second_ <= 0) return true;
  const std::lock_guard lock(mutex_);
  auto at = buckets_.find(user);
  if (at == buckets_.end()) {
    if (buckets_.size() >= kMaxRememberedUsers) forget_idle(now_ms);
    if (buckets_.size() >= kMaxRememberedUsers) return false;
    at = buckets_.emplace(user, Bucket{static_cast<double>(burst_), now_ms}).first;
  }
  Bucket& bucket = at->second;
  bucket = {filled(bucket, now_ms), now_ms};
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

void RateLimiter::forget_idle(base::Millis now_ms) {
  std::erase_if(buckets_, [&](const auto& entry) {
    return filled(entry.second, now_ms) >= static_cast<double>(burst_);
  });
}

}  // namespace waybill::api
