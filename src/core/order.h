// In which order waiting commands are taken: one pure function used by the publisher and by
// embedded claiming, so that priority, aging, tenant fairness and pause mean the same on every
// transport.
//
// P0 first. Of every 8 picks one goes to the most overdue of P1..P3 (largest wait / target, if
// above 1); a level that had such a pick stands back until every other overdue level had one, so an
// overloaded P0 and P1 cannot starve P3. The rest stride 4:2:1 over P1..P3. Inside a level
// round-robin over tenants; inside a tenant by due time, then id (done by the store).

#ifndef WAYBILL_CORE_ORDER_H_
#define WAYBILL_CORE_ORDER_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/task.h"

namespace waybill::core {

// The oldest waiting command of one (level, tenant) of one lane.
struct Head {
  Level level = 2;
  std::string tenant_id;
  base::Millis wait_ms = 0;  // now - due_at, both the database's; >= 0
  std::int64_t waiting =
      -1;  // how many wait there, or -1 when unknown (then as many as asked for may exist)
};

// "Take up to n of this (level, tenant)".
struct Pick {
  Level level = 2;
  std::string tenant_id;
  std::int64_t n = 0;
};

// Target waits per level: 30 s, 5 min, 30 min, 2 h.
inline constexpr std::array<base::Millis, kLevels> kTargetWaitMs{30'000, 300'000, 1'800'000,
                                                                 7'200'000};
inline constexpr std::array<int, kLevels> kStrideWeight{0, 4, 2,
                                                        1};  // P0 is served before the stride
inline constexpr int kAgingPeriod = 8;  // of every 8 picks one may go to the most overdue level
inline constexpr std::int64_t kMaxPlannedPicks = 4'096;  // places per call; a larger n is cut to it

// What one lane's order remembers between calls. A value; one per lane and process.
struct OrderState {
  std::array<double, kLevels> pass{};  // stride passes
  std::uint64_t picks = 0;
  std::map<Level, std::string> last_tenant;  // round-robin position
  std::array<bool, kLevels> aged{};          // had its pick in the running round of overdue levels
};

// Distributes `n` places over the heads. Deterministic; the order of the heads does not matter. All
// places of one (level, tenant) are merged into one pick, so there are at most as many picks as
// heads; they stand in the order of their first place, which is the order to claim in. Never more
// than `waiting` of a head where it is known. Work: O(n + heads log heads).
std::vector<Pick> plan_picks(std::span<const Head> heads, OrderState& state, std::int64_t n);

// P0 slots kept free for P0 alone, on top of a lane's workers.
constexpr int reserved_p0_slots(int workers) {
  return workers >= 4 ? (workers / 8 > 1 ? workers / 8 : 1) : 0;
}

}  // namespace waybill::core

#endif  // WAYBILL_CORE_ORDER_H_
