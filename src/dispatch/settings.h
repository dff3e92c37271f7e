// What can be set about dispatch, with the documented defaults (docs/OPERATIONS.md). Values; the
// app fills them from the configuration. Times are milliseconds.

#ifndef WAYBILL_DISPATCH_SETTINGS_H_
#define WAYBILL_DISPATCH_SETTINGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "core/order.h"

namespace waybill::dispatch {

using base::Millis;

// Reserved P0 slots come on top of `workers` (core::reserved_p0_slots).
struct LaneSettings {
  std::string name;
  int workers = 4;
};

inline constexpr int kMaxWorkersPerLane = 10'000;       // slots
inline constexpr std::size_t kMaxOwnerCharacters = 64;  // column task.lease_owner

struct Settings {
  std::string owner;  // unique per process start: make_owner()
  std::vector<LaneSettings> lanes;

  // Execution leases.
  Millis lease_ms = 300'000;
  Millis heartbeat_ms = 60'000;
  Millis renewal_retry_ms = 5'000;  // after a renewal that the database did not answer

  // Workers.
  Millis poll_min_ms = 50;     // after something was found
  Millis poll_max_ms = 1'000;  // while idle; also the longest a cancel flag stays unseen
  Millis idle_before_sweep_ms = 1'000;
  Millis sweep_after_ms = 5'000;  // 0 = no sweep; the publisher's window is then unlimited
  Millis finish_retry_min_ms = 50;
  Millis finish_retry_max_ms = 5'000;

  // Publisher.
  Millis publisher_poll_ms = 5'000;
  std::int64_t publisher_batch = 500;  // commands
  Millis command_lease_ms = 60'000;
  Millis send_deadline_ms = 15'000;    // for a whole batch; at most command_lease_ms / 4
  std::int64_t window_per_worker = 4;  // commands in the broker per worker of live instances
  std::int64_t window_min = 64;        // and at least this many
  std::vector<Millis> send_backoff_ms{5'000, 15'000, 60'000, 300'000, 900'000};  // the last repeats
  Millis instances_refresh_ms = 10'000;

  // Dead letters.
  std::size_t dead_letter_credit = 100;  // held at a time

  // Reconciler.
  Millis reconciler_period_ms = 30'000;
  Millis reconciler_due_for_ms = 60'000;  // branches 1a and 1b: due for this long
  Millis stale_ms = 600'000;              // 1b
  std::int64_t reconciler_batch = 500;
  Millis clock_grace_ms = 60'000;  // a last pass older than this makes branch 2 wait two heartbeats
  std::int64_t recover_limit = 200;  // leases per pass
  Millis recovery_spread_ms = 30'000;

  // Retention.
  Millis retention_period_ms = 600'000;
  std::int64_t retention_batch = 500;  // rows per statement
  Millis sent_keep_ms = 7 * 86'400'000LL;
  Millis history_keep_ms = 90 * 86'400'000LL;

  // Shutdown.
  Millis shutdown_grace_ms = 60'000;    // running executions may end by themselves
  Millis shutdown_release_ms = 10'000;  // then they are told to stop and handed back
};

// Refuses what cannot work (heartbeat * 3 > lease, send deadline > lease / 4, no owner, ...).
// kInvalid naming the field as it is called in the configuration.
base::Status check_settings(const Settings& settings);

// "{instance}-{8 hexadecimal digits}", cut to kMaxOwnerCharacters: leases name a process start, not
// a host.
std::string make_owner(std::string_view instance, base::Random& random);

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_SETTINGS_H_
