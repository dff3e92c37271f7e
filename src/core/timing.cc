#include "core/timing.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace waybill::core {

namespace {
constexpr std::array<base::Millis, 5> kSendBackoffMs{5'000, 15'000, 60'000, 300'000, 900'000};

template <class Steps>
base::Millis step(const Steps& steps, std::int32_t number) {
  const auto index = static_cast<std::size_t>(std::max(number, 1) - 1);
  return steps[std::min(index, steps.size() - 1)];
}

std::string seconds(base::Millis ms) {
  std::string text = std::to_string(ms / 1000);
  if (ms % 1000 != 0) {
    std::string fraction = std::to_string(1000 + std::abs(ms % 1000)).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction;
  }
  return text + " s";
}

struct Duration {
  std::string_view key;
  base::Millis Timings::* member;
  bool may_be_zero = false;
};
constexpr std::array<Duration, 13> kDurations{{
    {"dispatch.lease_seconds", &Timings::lease_ms},
    {"dispatch.heartbeat_seconds", &Timings::heartbeat_ms},
    {"dispatch.max_duration_minutes", &Timings::max_duration_ms},
    {"export.connect_timeout_seconds", &Timings::connect_timeout_ms},
    {"export.read_timeout_seconds", &Timings::read_timeout_ms},
    {"publisher.lease_seconds", &Timings::publisher_lease_ms},
    {"publisher.send_timeout_seconds", &Timings::send_timeout_ms},
    {"publisher.poll_seconds", &Timings::publisher_poll_ms},
    {"reconciler.period_seconds", &Timings::reconciler_period_ms},
    {"reconciler.grace_seconds", &Timings::reconciler_grace_ms},
    {"reconciler.stale_seconds", &Timings::stale_ms},
    {"dispatch.recovery_spread_seconds", &Timings::recovery_spread_ms, true},
    {"shutdown.grace_seconds", &Timings::shutdown_grace_ms, true},
}};

base::Status check_range(const Duration& duration, base::Millis value) {
  const std::string key(duration.key);
  if (value < (duration.may_be_zero ? 0 : 1)) {
    return base::invalid(
        key, key + (duration.may_be_zero ? " must not be negative" : " must be above 0"));
  }
  if (value > kMaxTimingMs) return base::invalid(key, key + " must be at most 30 days");
  return {};
}

}  // namespace

base::Millis send_backoff_ms(std::int32_t fail_count, const std::vector<base::Millis>& steps) {
  return steps.empty() ? step(kSendBackoffMs, fail_count) : step(steps, fail_count);
}

base::Millis resend_after_ms(base::Millis base_ms, std::int32_t sends) {
  return base_ms << std::clamp(sends - 1, 0, kMaxResendDoublings);
}

base::Millis lease_margin_ms(base::Millis lease_ms) {
  return std::min(kMaxLeaseMarginMs, lease_ms / 10);
}

base::Millis local_stop_at_ms(base::Millis request_started_ms, base::Millis lease_ms) {
  return request_started_ms + lease_ms - lease_margin_ms(lease_ms);
}

base::Status check_timings(const Timings& t) {
  for (const Duration& duration : kDurations)
    WAYBILL_TRY(check_range(duration, t.*duration.member));
  if (t.heartbeat_ms * 3 > t.lease_ms) {
    return base::invalid("dispatch.heartbeat_seconds",
                         "three heartbeats (dispatch.heartbeat_seconds, " +
                             seconds(t.heartbeat_ms) + ") must fit into dispatch.lease_seconds (" +
                             seconds(t.lease_ms) + ")");
  }
  if (t.connect_timeout_ms + t.read_timeout_ms >= t.lease_ms) {
    return base::invalid("export.read_timeout_seconds",
                         "export.connect_timeout_seconds + export.read_timeout_seconds (" +
                             seconds(t.connect_timeout_ms + t.read_timeout_ms) +
                             ") must be below dispatch.lease_seconds (" + seconds(t.lease_ms) +
                             ")");
  }
  if (t.send_timeout_ms > send_deadline_ms(t.publisher_lease_ms)) {
    return base::invalid("publisher.send_timeout_seconds",
                         "publisher.send_timeout_seconds (" + seconds(t.send_timeout_ms) +
                             ") must be at most a quarter of publisher.lease_seconds (" +
                             seconds(t.publisher_lease_ms) + ")");
  }
  if (t.publisher_lease_ms >= t.stale_ms) {
    return base::invalid("reconciler.stale_seconds",
                         "reconciler.stale_seconds (" + seconds(t.stale_ms) +
                             ") must be above publisher.lease_seconds (" +
                             seconds(t.publisher_lease_ms) + ")");
  }
  return {};
}

}  // namespace waybill::core
