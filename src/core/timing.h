// Arithmetic of leases and of repeated sends, and which settings go together.

#ifndef WAYBILL_CORE_TIMING_H_
#define WAYBILL_CORE_TIMING_H_

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace waybill::core {

// ---- sending commands (publisher, reconciler) ----

// Wait after the nth failed send in a row: 5 s, 15 s, 1 min, 5 min, then 15 min for ever. REQUIRES:
// fail_count >= 1. An own table (outbox.send_backoff_seconds) repeats its last step likewise; an
// empty one means the default.
base::Millis send_backoff_ms(std::int32_t fail_count, const std::vector<base::Millis>& steps = {});

inline constexpr std::int32_t kMaxResendDoublings = 5;
// How long a SENT command is given before it is sent again: base x 2^min(sends-1, 5).
base::Millis resend_after_ms(base::Millis base_ms, std::int32_t sends);

// ---- leases (watchdog) ----

inline constexpr base::Millis kMaxLeaseMarginMs = 30'000;
// The part of a lease that its owner does not trust: min(30 s, lease/10).
base::Millis lease_margin_ms(base::Millis lease_ms);
// The local stop rule: from this moment of the boot clock on, an execution whose last successful
// renewal *request* began at `request_started_ms` must not write any more. (The database granted
// the lease after the request began, so the stop comes before the lease's end, whatever the answer
// took.)
base::Millis local_stop_at_ms(base::Millis request_started_ms, base::Millis lease_ms);

// ---- which settings go together ----

struct Timings {
  base::Millis lease_ms = 300'000;             // dispatch.lease_seconds
  base::Millis heartbeat_ms = 60'000;          // dispatch.heartbeat_seconds
  base::Millis max_duration_ms = 1'800'000;    // dispatch.max_duration_minutes
  base::Millis connect_timeout_ms = 3'000;     // export.connect_timeout_seconds
  base::Millis read_timeout_ms = 15'000;       // export.read_timeout_seconds
  base::Millis publisher_lease_ms = 60'000;    // publisher.lease_seconds
  base::Millis send_timeout_ms = 3'000;        // publisher.send_timeout_seconds
  base::Millis publisher_poll_ms = 5'000;      // publisher.poll_seconds
  base::Millis reconciler_period_ms = 30'000;  // reconciler.period_seconds
  base::Millis reconciler_grace_ms = 60'000;   // reconciler.grace_seconds
  base::Millis stale_ms = 600'000;             // reconciler.stale_seconds
  base::Millis recovery_spread_ms = 30'000;    // dispatch.recovery_spread_seconds; may be 0
  base::Millis shutdown_grace_ms = 60'000;     // shutdown.grace_seconds; may be 0
};

// A batch of sends has one deadline: a quarter of the publisher's lease.
constexpr base::Millis send_deadline_ms(base::Millis publisher_lease_ms) {
  return publisher_lease_ms / 4;
}

inline constexpr base::Millis kMaxTimingMs = 30ll * 86'400'000;  // 30 days, for any of them

// kInvalid naming the configuration key and the relation it breaks. Checked: every duration is
// positive and at most 30 days; heartbeat x 3 <= lease; connect + read time-out < lease; send
// time-out <= a quarter of the publisher's lease; the publisher's lease < the time after which a
// sent command counts as lost.
base::Status check_timings(const Timings& timings);

}  // namespace waybill::core

#endif  // WAYBILL_CORE_TIMING_H_
