#include "dispatch/settings.h"

#include <cstdio>
#include <set>

#include "core/timing.h"
#include "store/types.h"

namespace waybill::dispatch {
namespace {

base::Status check_lanes(const std::vector<LaneSettings>& lanes) {
  std::set<std::string_view> names;
  for (const auto& lane : lanes) {
    const std::string field = "lanes." + lane.name;
    if (lane.name.empty()) return base::invalid("lanes", "a lane needs a name");
    if (!names.insert(lane.name).second) return base::invalid(field, "the lane is named twice");
    if (lane.workers < 1 || lane.workers > kMaxWorkersPerLane) {
      return base::invalid(field + ".workers",
                           "must be 1 to " + std::to_string(kMaxWorkersPerLane));
    }
  }
  return {};
}

}  // namespace

base::Status check_settings(const Settings& s) {
  if (s.owner.empty() || s.owner.size() > kMaxOwnerCharacters) {
    return base::invalid("owner", "must have 1 to 64 characters");
  }
  WAYBILL_TRY(check_lanes(s.lanes));
  WAYBILL_TRY(
      core::check_timings({.lease_ms = s.lease_ms,
                           .heartbeat_ms = s.heartbeat_ms,
                           // Those of the HTTP client and the broker are checked by who has them.
                           .connect_timeout_ms = 1,
                           .read_timeout_ms = 1,
                           .publisher_lease_ms = s.command_lease_ms,
                           .send_timeout_ms = 1,
                           .publisher_poll_ms = s.publisher_poll_ms,
                           .reconciler_period_ms = s.reconciler_period_ms,
                           .reconciler_grace_ms = s.reconciler_due_for_ms,
                           .stale_ms = s.stale_ms,
                           .recovery_spread_ms = s.recovery_spread_ms,
                           .shutdown_grace_ms = s.shutdown_grace_ms}));
  const struct {
    const char* field;
    bool broken;
    const char* rule;
  } rules[] = {
      {"dispatch.sweep_after_seconds", s.sweep_after_ms < 0, "must be 0 (off) or more"},
      {"dispatch.poll", s.poll_min_ms <= 0 || s.poll_max_ms < s.poll_min_ms,
       "must be above 0, the shortest not above the longest"},
      {"publisher.batch",
       s.publisher_batch < 1 || s.publisher_batch > static_cast<std::int64_t>(store::kMaxBatch),
       "must be 1 to 500"},
      {"publisher.lease_seconds", s.send_deadline_ms * 4 > s.command_lease_ms,
       "the send deadline must be at most a quarter of it"},
      {"outbox.send_backoff_seconds", s.send_backoff_ms.empty(), "needs at least one value"},
      {"reconciler.batch",
       s.reconciler_batch < 1 || s.reconciler_batch > static_cast<std::int64_t>(store::kMaxBatch),
       "must be 1 to 500"},
  };
  for (const auto& rule : rules) {
    if (rule.broken) return base::invalid(rule.field, rule.rule);
  }
  return {};
}

std::string make_owner(std::string_view instance, base::Random& random) {
  char suffix[10];
  std::snprintf(suffix, sizeof suffix, "-%08x", static_cast<unsigned>(random.next() >> 32));
  std::string owner(instance.substr(0, kMaxOwnerCharacters - 9));
  return owner + suffix;
}

}  // namespace waybill::dispatch
