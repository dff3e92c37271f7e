#include "core/order.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace waybill::core {

namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

struct Queue {
  std::string_view tenant;
  std::int64_t left = 0;
  std::size_t next = 0;             // ring of the tenants that still have something
  std::optional<std::size_t> pick;  // its entry in the plan
};

// The waiting tenants of one level as a ring: a place and its removal cost O(1).
struct Ring {
  std::vector<Queue> queues;  // by tenant
  std::size_t before = 0;     // the one before the next to serve
  std::size_t alive = 0;
  base::Millis wait_ms = 0;  // of the oldest command

  [[nodiscard]] bool empty() const { return alive == 0; }

  void close(const std::string* last_tenant) {
    alive = queues.size();
    if (alive == 0) return;
    for (std::size_t i = 0; i < alive; ++i) queues[i].next = (i + 1) % alive;
    std::size_t first = 0;  // the first tenant behind the one served last
    if (last_tenant != nullptr) {
      const auto behind =
          std::upper_bound(queues.begin(), queues.end(), *last_tenant,
                           [](const auto& name, const Queue& q) { return name < q.tenant; });
      first = behind == queues.end() ? 0 : static_cast<std::size_t>(behind - queues.begin());
    }
    before = (first + alive - 1) % alive;
  }

  // One place of the tenant whose turn it is. REQUIRES: !empty().
  Queue& take() {
    const std::size_t current = queues[before].next;
    Queue& queue = queues[current];
    if (queue.left != kUnknown) --queue.left;
    if (queue.left == 0) {
      queues[before].next = queue.next;
      --alive;
    } else {
      before = current;
    }
    return queue;
  }
};

using Rings = std::array<Ring, kLevels>;

Rings make_rings(std::span<const Head> heads, const OrderState& state) {
  Rings rings;
  for (const Head& head : heads) {
    if (head.level < 0 || head.level >= kLevels || head.waiting == 0) continue;
    Ring& ring = rings[static_cast<std::size_t>(head.level)];
    ring.queues.push_back(
        {head.tenant_id, head.waiting < 0 ? kUnknown : head.waiting, 0, std::nullopt});
    ring.wait_ms = std::max(ring.wait_ms, head.wait_ms);
  }
  for (std::size_t level = 0; level < rings.size(); ++level) {
    auto& queues = rings[level].queues;
    std::sort(queues.begin(), queues.end(), [](const Queue& a, const Queue& b) {
      return a.tenant != b.tenant ? a.tenant < b.tenant : a.left > b.left;
    });
    // A tenant named twice counts once, with the larger figure.
    queues.erase(std::unique(queues.begin(), queues.end(),
                             [](const Queue& a, const Queue& b) { return a.tenant == b.tenant; }),
                 queues.end());
    const auto last = state.last_tenant.find(static_cast<Level>(level));
    rings[level].close(last == state.last_tenant.end() ? nullptr : &last->second);
  }
  return rings;
}

double overdue(const Ring& ring, std::size_t level) {
  return static_cast<double>(ring.wait_ms) / static_cast<double>(kTargetWaitMs[level]);
}

// The most overdue of P1..P3 that had no such pick in the running round. P0 has the first place
// anyway.
std::optional<std::size_t> most_overdue(const Rings& rings, OrderState& state) {
  for (int round = 0; round < 2; ++round) {
    std::optional<std::size_t> best;
    for (std::size_t level = 1; level < rings.size(); ++level) {
      if (rings[level].empty() || overdue(rings[level], level) <= 1.0 || state.aged[level])
        continue;
      if (!best || overdue(rings[level], level) > overdue(rings[*best], *best)) best = level;
    }
    if (best) {
      state.aged[*best] = true;
      return best;
    }
    state.aged.fill(false);
  }
  return std::nullopt;
}

// Stride scheduling: the level that is furthest behind its share. Levels without work keep up with
// it, so that they collect no claim to a burst.
std::optional<std::size_t> next_stride(const Rings& rings, OrderState& state) {
  std::optional<std::size_t> best;
  for (std::size_t level = 1; level < rings.size(); ++level) {
    if (rings[level].empty()) continue;
    if (!best || state.pass[level] < state.pass[*best]) best = level;
  }
  if (!best) return std::nullopt;
  for (std::size_t level = 1; level < rings.size(); ++level) {
    if (rings[level].empty()) state.pass[level] = std::max(state.pass[level], state.pass[*best]);
  }
  state.pass[*best] += 1.0 / kStrideWeight[*best];
  return best;
}

std::optional<std::size_t> next_level(const Rings& rings, OrderState& state) {
  if (state.picks % kAgingPeriod == kAgingPeriod - 1) {
    if (const auto level = most_overdue(rings, state)) return level;
  }
  if (!rings[0].empty()) return 0;
  return next_stride(rings, state);
}

}  // namespace

std::vector<Pick> plan_picks(std::span<const Head> heads, OrderState& state, std::int64_t n) {
  Rings rings = make_rings(heads, state);
  std::vector<Pick> picks;
  for (std::int64_t place = 0; place < std::min(n, kMaxPlannedPicks); ++place) {
    const auto level = next_level(rings, state);
    if (!level) break;
    ++state.picks;
    Queue& queue = rings[*level].take();
    if (!queue.pick) {
      queue.pick = picks.size();
      picks.push_back({static_cast<Level>(*level), std::string(queue.tenant), 0});
    }
    ++picks[*queue.pick].n;
    state.last_tenant[static_cast<Level>(*level)] = queue.tenant;
  }
  // Only differences of the passes count: small numbers stay exact for ever.
  const double least = *std::min_element(state.pass.begin() + 1, state.pass.end());
  for (std::size_t level = 1; level < state.pass.size(); ++level) state.pass[level] -= least;
  return picks;
}

}  // namespace waybill::core
