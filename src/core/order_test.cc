#include "core/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"

namespace waybill::core {
namespace {

std::int64_t total(const std::vector<Pick>& picks) {
  std::int64_t sum = 0;
  for (const Pick& pick : picks) sum += pick.n;
  return sum;
}

std::map<Level, std::int64_t> by_level(const std::vector<Pick>& picks) {
  std::map<Level, std::int64_t> sums;
  for (const Pick& pick : picks) sums[pick.level] += pick.n;
  return sums;
}

TEST(Order, GivesP0TheFirstPlace) {
  OrderState state;
  const std::vector<Head> heads{{3, "a", 0, 10}, {1, "a", 0, 10}, {0, "a", 0, 3}};
  const auto picks = plan_picks(heads, state, 5);
  ASSERT_FALSE(picks.empty());
  EXPECT_EQ(picks[0].level, 0);
  EXPECT_EQ(picks[0].n, 3);
  EXPECT_EQ(total(picks), 5);
}

TEST(Order, StridesFourTwoOne) {
  OrderState state;
  const std::vector<Head> heads{{1, "a", 0, -1}, {2, "a", 0, -1}, {3, "a", 0, -1}};
  auto sums = by_level(plan_picks(heads, state, 700));
  EXPECT_EQ(sums[1], 400);
  EXPECT_EQ(sums[2], 200);
  EXPECT_EQ(sums[3], 100);
  // The same shares when every call asks for one place.
  OrderState one;
  std::map<Level, std::int64_t> singles;
  for (int i = 0; i < 700; ++i) ++singles[plan_picks(heads, one, 1).at(0).level];
  EXPECT_EQ(singles, sums);
}

TEST(Order, IdleLevelsCollectNoClaimToABurst) {
  OrderState state;
  const std::vector<Head> alone{{1, "a", 0, -1}};
  (void)plan_picks(alone, state, 4000);
  const std::vector<Head> both{{1, "a", 0, -1}, {3, "a", 0, -1}};
  auto sums = by_level(plan_picks(both, state, 100));
  EXPECT_NEAR(static_cast<double>(sums[3]), 20.0, 1.0);
}

TEST(Order, AgesOnlyOneOfEightPicks) {
  OrderState state;
  const std::vector<Head> heads{{0, "a", 0, -1}, {3, "a", 8'000'000, -1}};
  auto sums = by_level(plan_picks(heads, state, 800));
  EXPECT_EQ(sums[3], 100);
  EXPECT_EQ(sums[0], 700);
  const std::vector<Head> in_time{{0, "a", 0, -1}, {3, "a", 7'200'000, -1}};
  sums = by_level(plan_picks(in_time, state, 800));
  EXPECT_EQ(sums[3], 0) << "a wait equal to the target is not overdue";
}

TEST(Order, AgesTheMostOverdueLevelFirst) {
  OrderState state;
  state.picks = 7;
  const std::vector<Head> heads{{0, "a", 0, -1}, {1, "a", 301'000, -1}, {2, "a", 5'400'000, -1}};
  EXPECT_EQ(plan_picks(heads, state, 1).at(0).level, 2);
  state.picks = 7;
  EXPECT_EQ(plan_picks(heads, state, 1).at(0).level, 1) << "then the other overdue one";
  state.picks = 7;
  EXPECT_EQ(plan_picks(heads, state, 1).at(0).level, 2) << "then a new round";
}

TEST(Order, SharesALevelBetweenTenantsAcrossCalls) {
  OrderState state;
  const std::vector<Head> heads{{2, "a", 9, 100'000}, {2, "b", 1, 50}, {2, "c", 5, 50}};
  std::map<std::string, std::int64_t> sums;
  std::string previous;
  for (int i = 0; i < 90; ++i) {
    const auto picks = plan_picks(heads, state, 1);
    ASSERT_EQ(picks.size(), 1u);
    EXPECT_NE(picks[0].tenant_id, previous);
    previous = picks[0].tenant_id;
    ++sums[previous];
  }
  EXPECT_EQ(sums["a"], 30);
  EXPECT_EQ(sums["b"], 30);
  EXPECT_EQ(sums["c"], 30);
}

TEST(Order, GoesOnBehindATenantThatIsGone) {
  OrderState state;
  state.last_tenant[2] = "b";
  const std::vector<Head> heads{{2, "a", 0, 5}, {2, "c", 0, 5}};
  EXPECT_EQ(plan_picks(heads, state, 1).at(0).tenant_id, "c");
  EXPECT_EQ(plan_picks(heads, state, 1).at(0).tenant_id, "a");
}

TEST(Order, MergesThePlacesOfOneTenant) {
  OrderState state;
  const std::vector<Head> heads{{1, "a", 0, -1}, {1, "b", 0, -1}, {2, "a", 0, -1}};
  const auto picks = plan_picks(heads, state, 500);
  EXPECT_EQ(picks.size(), 3u);
  EXPECT_EQ(total(picks), 500);
}

TEST(Order, BadInputIsHarmless) {
  OrderState state;
  const std::vector<Head> heads{
      {-1, "a", 0, 5}, {4, "a", 0, 5}, {2, "a", -50, 0}, {2, "b", -50, 2}, {2, "b", 0, 1}};
  const auto picks = plan_picks(heads, state, 10);
  ASSERT_EQ(picks.size(), 1u);
  EXPECT_EQ(picks[0].n, 2);
  EXPECT_TRUE(plan_picks(heads, state, 0).empty());
  EXPECT_TRUE(plan_picks(heads, state, -3).empty());
  EXPECT_TRUE(plan_picks({}, state, 10).empty());
  const std::vector<Head> endless{{2, "a", 0, -1}};
  EXPECT_EQ(total(plan_picks(endless, state, INT64_MAX)), kMaxPlannedPicks);
}

// Any heads: never more than n, never more than what waits, as much as possible, the same answer
// for the same question in whatever order the heads come.
TEST(Order, PropertiesOfAnyPlan) {
  base::SeededRandom random(7);
  OrderState state, twin;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Head> heads;
    std::map<std::pair<Level, std::string>, std::int64_t> waiting;
    const auto count = random.next() % 12;
    for (std::uint64_t i = 0; i < count; ++i) {
      Head head;
      head.level = static_cast<Level>(random.next() % kLevels);
      head.tenant_id = std::string(1, static_cast<char>('a' + random.next() % 5));
      head.wait_ms = static_cast<base::Millis>(random.next() % 20'000'000);
      head.waiting = static_cast<std::int64_t>(random.next() % 30);
      if (waiting.emplace(std::pair(head.level, head.tenant_id), head.waiting).second) {
        heads.push_back(head);
      }
    }
    std::int64_t sum = 0;
    for (const auto& [key, n] : waiting) sum += n;
    const auto n = static_cast<std::int64_t>(random.next() % 40);
    const auto picks = plan_picks(heads, state, n);
    std::reverse(heads.begin(), heads.end());
    const auto again = plan_picks(heads, twin, n);
    ASSERT_EQ(picks.size(), again.size());
    std::set<std::pair<Level, std::string>> seen;
    for (std::size_t i = 0; i < picks.size(); ++i) {
      EXPECT_EQ(picks[i].level, again[i].level);
      EXPECT_EQ(picks[i].tenant_id, again[i].tenant_id);
      EXPECT_EQ(picks[i].n, again[i].n);
      EXPECT_GT(picks[i].n, 0);
      EXPECT_LE(picks[i].n, waiting[std::pair(picks[i].level, picks[i].tenant_id)]);
      EXPECT_TRUE(seen.emplace(picks[i].level, picks[i].tenant_id).second);
    }
    EXPECT_EQ(total(picks), std::min(n, sum));
  }
}

// A lane that serves one command per tick; arrivals come by a fixed pattern. Returns the waits per
// level.
struct Lane {
  std::array<std::deque<base::Millis>, kLevels> queues;
  std::array<std::vector<base::Millis>, kLevels> waits;
  OrderState state;

  void serve(base::Millis now) {
    std::vector<Head> heads;
    for (Level level = 0; level < kLevels; ++level) {
      const auto& queue = queues[static_cast<std::size_t>(level)];
      if (!queue.empty()) {
        heads.push_back({level, "t", now - queue.front(), static_cast<std::int64_t>(queue.size())});
      }
    }
    for (const Pick& pick : plan_picks(heads, state, 1)) {
      const auto level = static_cast<std::size_t>(pick.level);
      waits[level].push_back(now - queues[level].front());
      queues[level].pop_front();
    }
  }
};

base::Millis largest(const std::vector<base::Millis>& waits) {
  return waits.empty() ? -1 : *std::max_element(waits.begin(), waits.end());
}

constexpr base::Millis kTick = 1'000;

// D77: P0 and P1 arrive at 110 % of what the lane can do; P2 and P3 still move.
TEST(Order, OverloadedP0AndP1StarveNobody) {
  for (const auto& [p0, p1] :
       {std::pair{55, 55}, std::pair{90, 20}, std::pair{110, 0}, std::pair{10, 100}}) {
    Lane lane;
    int due0 = 0, due1 = 0;
    for (int i = 0; i < 40; ++i) {
      lane.queues[2].push_back(0);
      lane.queues[3].push_back(0);
    }
    for (base::Millis now = 0; now < 4 * 7'200'000; now += kTick) {
      for (due0 += p0; due0 >= 100; due0 -= 100) lane.queues[0].push_back(now);
      for (due1 += p1; due1 >= 100; due1 -= 100) lane.queues[1].push_back(now);
      lane.serve(now);
    }
    SCOPED_TRACE(std::to_string(p0) + "+" + std::to_string(p1));
    EXPECT_TRUE(lane.queues[3].empty());
    EXPECT_TRUE(lane.queues[2].empty());
    // Overdue after its target; then every third aging pick at least, 40 commands: 24 picks each.
    EXPECT_LE(largest(lane.waits[3]), kTargetWaitMs[3] + 40 * 3 * kAgingPeriod * kTick);
    EXPECT_LE(largest(lane.waits[2]), kTargetWaitMs[2] + 40 * 3 * kAgingPeriod * kTick);
  }
}

// However much waits below, P0 within its capacity is delayed by aging picks only.
TEST(Order, ABacklogDoesNotDelayP0) {
  Lane lane;
  for (int i = 0; i < 100'000; ++i) lane.queues[3].push_back(-100'000'000);
  for (base::Millis now = 0; now < 3'600'000; now += kTick) {
    if (now % (2 * kTick) == 0) lane.queues[0].push_back(now);
    lane.serve(now);
  }
  EXPECT_LE(largest(lane.waits[0]), kTick);
}

TEST(Order, ReservesPlacesForP0) {
  EXPECT_EQ(reserved_p0_slots(1), 0);
  EXPECT_EQ(reserved_p0_slots(3), 0);
  EXPECT_EQ(reserved_p0_slots(4), 1);
  EXPECT_EQ(reserved_p0_slots(15), 1);
  EXPECT_EQ(reserved_p0_slots(16), 2);
}

}  // namespace
}  // namespace waybill::core
