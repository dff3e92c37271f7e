// Settings, slots, the map of executions, the workbench, workers as JSON.

#include <gtest/gtest.h>

#include "dispatch/execution_map.h"
#include "dispatch/settings.h"
#include "dispatch/slots.h"
#include "dispatch/workbench.h"
#include "dispatch/workers_json.h"

namespace waybill::dispatch {
namespace {

Settings good() {
  Settings settings;
  settings.owner = "host-1-00000001";
  settings.lanes = {{.name = "export", .workers = 4}};
  return settings;
}

TEST(Settings, DefaultsWork) { EXPECT_TRUE(check_settings(good()).ok()); }

TEST(Settings, RefusesWhatCannotWorkByItsName) {
  const struct {
    std::function<void(Settings&)> spoil;
    std::string field;
  } cases[] = {
      {[](Settings& s) { s.owner.clear(); }, "owner"},
      {[](Settings& s) { s.owner.assign(65, 'x'); }, "owner"},
      {[](Settings& s) { s.lanes.push_back({.name = "export", .workers = 1}); }, "lanes.export"},
      {[](Settings& s) { s.lanes[0].workers = 0; }, "lanes.export.workers"},
      {[](Settings& s) { s.lanes[0].workers = 10'001; }, "lanes.export.workers"},
      {[](Settings& s) { s.heartbeat_ms = 100'001; }, "dispatch.heartbeat_seconds"},
      {[](Settings& s) { s.publisher_batch = 501; }, "publisher.batch"},
      {[](Settings& s) { s.send_deadline_ms = 15'001; }, "publisher.lease_seconds"},
      {[](Settings& s) { s.send_backoff_ms.clear(); }, "outbox.send_backoff_seconds"},
      {[](Settings& s) { s.sweep_after_ms = -1; }, "dispatch.sweep_after_seconds"},
  };
  for (const auto& c : cases) {
    Settings settings = good();
    c.spoil(settings);
    const base::Status status = check_settings(settings);
    ASSERT_FALSE(status.ok()) << c.field;
    EXPECT_EQ(status.error().field, c.field) << status.error().message;
  }
}

TEST(Settings, AnOwnerNamesAProcessStart) {
  base::SeededRandom random(1);
  const std::string first = make_owner("host", random);
  EXPECT_NE(first, make_owner("host", random));
  EXPECT_EQ(first.size(), 13u);
  EXPECT_EQ(make_owner(std::string(200, 'h'), random).size(), kMaxOwnerCharacters);
}

TEST(Slots, ReservedOnesServeP0Alone) {
  const std::vector<LaneSettings> lanes{{.name = "export", .workers = 4},
                                        {.name = "account", .workers = 1}};
  Slots slots(lanes);
  EXPECT_EQ(slots.free(0).reserved, 1);
  EXPECT_EQ(slots.free(1).reserved, 0);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(slots.take(0, 2).has_value());
  EXPECT_FALSE(slots.take(0, 1).has_value());
  const auto urgent = slots.take(0, 0);
  ASSERT_TRUE(urgent.has_value());
  EXPECT_TRUE(urgent->reserved);
  EXPECT_FALSE(slots.take(0, 0).has_value());
  EXPECT_EQ(slots.used(0), 5);
  slots.give_back(*urgent);
  EXPECT_FALSE(slots.take(0, 3).has_value());
  EXPECT_TRUE(slots.take(0, 0).has_value());
  EXPECT_TRUE(slots.take(1, 0).has_value()) << "P0 may use a shared slot too";
}

TEST(Slots, WhatWasTakenAtOnceComesBack) {
  const std::vector<LaneSettings> lanes{{.name = "export", .workers = 8}};
  Slots slots(lanes);
  const FreeSlots all = slots.take_all(0);
  EXPECT_EQ(all.total(), 9);
  EXPECT_EQ(slots.free(0).total(), 0);
  slots.give_back(0, all);
  EXPECT_EQ(slots.free(0).total(), 9);
}

TEST(ExecutionMap, ASecondDeliveryFindsTheFirst) {
  ExecutionMap map;
  const Execution execution{.id = 7, .version = 2};
  const auto ticket = map.enter(execution);
  ASSERT_TRUE(ticket.has_value());
  EXPECT_FALSE(map.enter(execution).has_value());
  EXPECT_TRUE(map.enter({.id = 7, .version = 3}).has_value())
      << "another version is another execution";
  EXPECT_TRUE(map.leased().empty()) << "nothing is renewed before the claim";
  map.leave(execution, *ticket);
  EXPECT_TRUE(map.enter(execution).has_value());
}

// It may still be RUNNING in this name: a delivery that comes again must not start it once more.
TEST(ExecutionMap, WhatWasAbandonedNeverEntersAgain) {
  ExecutionMap map;
  ASSERT_TRUE(map.enter({.id = 1, .version = 1}));
  map.abandon({.id = 1, .version = 1});
  EXPECT_EQ(map.size(), 0u);
  EXPECT_FALSE(map.enter({.id = 1, .version = 1}));
  EXPECT_TRUE(map.enter({.id = 1, .version = 2}));
  for (std::size_t i = 0; i < ExecutionMap::kAbandonedKept; ++i)
    map.abandon({.id = 2 + static_cast<core::TaskId>(i), .version = 1});
  EXPECT_TRUE(map.enter({.id = 1, .version = 1})) << "kept in bounded memory";
}

// F8 (b): of two claims of one version only one may execute, whatever the order of their answers.
TEST(ExecutionMap, AnAdoptedEntryNoLongerBelongsToItsUndecidedClaim) {
  ExecutionMap map;
  const Execution execution{.id = 7, .version = 1};
  const auto ticket = map.enter(execution);
  ASSERT_TRUE(map.adopt(execution, 100) != nullptr);
  EXPECT_TRUE(map.confirm(execution, *ticket, 90) == nullptr);
  map.leave(execution, *ticket);
  EXPECT_TRUE(map.contains(execution));
  EXPECT_TRUE(map.adopt(execution, 110) == nullptr) << "it runs already";
}

TEST(ExecutionMap, EndsOnce) {
  ExecutionMap map;
  const Execution execution{.id = 7, .version = 1};
  EXPECT_FALSE(map.end(execution));
  ASSERT_TRUE(map.adopt(execution, 0) != nullptr);
  EXPECT_TRUE(map.end(execution));
  EXPECT_FALSE(map.end(execution));
  ASSERT_EQ(map.leased().size(), 1u) << "the lease is needed until the outcome is committed";
  EXPECT_TRUE(map.leased()[0].ending);
  map.remove(execution);
  EXPECT_TRUE(map.drained().wait_for(0));
  EXPECT_EQ(map.size(), 0u);
}

TEST(ExecutionMap, TheFirstStopReasonStays) {
  ExecutionMap map;
  const Execution execution{.id = 7, .version = 1};
  const auto flag = map.adopt(execution, 0);
  EXPECT_TRUE(map.request(execution, StopReason::kCancelled));
  EXPECT_FALSE(map.request(execution, StopReason::kLostLease));
  EXPECT_EQ(flag->reason(), StopReason::kCancelled);
}

TEST(ExecutionMap, TheLocalStopRuleCountsFromTheStartOfTheRequest) {
  ExecutionMap map;
  const Execution execution{.id = 7, .version = 1};
  const auto flag = map.adopt(execution, 1'000);
  std::optional<Millis> next;
  EXPECT_EQ(map.stop_unproved(1'000, 300'000, &next), 0u);
  EXPECT_EQ(next, 270'000);
  map.prove(execution, 500);
  EXPECT_EQ(map.stop_unproved(270'999, 300'000, &next), 0u) << "an older proof takes nothing back";
  EXPECT_EQ(next, 1);
  EXPECT_EQ(map.stop_unproved(271'000, 300'000, &next), 1u);
  EXPECT_EQ(flag->reason(), StopReason::kLostLease);
  EXPECT_FALSE(next.has_value());
}

TEST(ExecutionMap, UnguardedMeansStopped) {
  ExecutionMap map;
  const auto before = map.adopt({.id = 1, .version = 1}, 0);
  map.set_guarded(false);
  const auto after = map.adopt({.id = 2, .version = 1}, 0);
  EXPECT_TRUE(before->requested());
  EXPECT_TRUE(after->requested());
}

// A hook that holds its own `done` would keep the workbench's box, and the box the hook.
TEST(Workbench, TakesAlongWhatNobodySettled) {
  struct EndsAtOnce final : Executor {
    bool knows(std::string_view) const override { return true; }
    std::vector<std::string> known_types() const override { return {"A"}; }
    void start(store::ClaimedTask, std::shared_ptr<const StopFlag>,
               std::function<void(Outcome)> done) override {
      auto held = std::make_shared<std::function<void(Outcome)>>(done);
      hook_alive = held;
      Outcome outcome;
      outcome.settled = [held](store::FinishOutcome) { ADD_FAILURE() << "nobody committed"; };
      held.reset();
      done(std::move(outcome));
    }
    std::weak_ptr<void> hook_alive;
  } executor;
  const std::vector<LaneSettings> lanes{{.name = "export", .workers = 1}};
  ExecutionMap map;
  Metrics metrics;
  {
    Workbench bench(lanes, {&executor}, map, metrics);
    store::ClaimedTask task;
    task.execution = {.id = 7, .version = 1};
    auto stop = map.adopt(task.execution, 0);
    bench.start(std::move(task), bench.slots().take(0, 2), std::move(stop));
    ASSERT_TRUE(bench.has_ended());
    EXPECT_FALSE(executor.hook_alive.expired());
  }
  EXPECT_TRUE(executor.hook_alive.expired());
}

TEST(WorkersJson, RoundTripAndNonsense) {
  const std::vector<LaneSettings> lanes{{.name = "export", .workers = 4},
                                        {.name = "a\"b", .workers = 1}};
  const WorkersPerLane workers = parse_workers(format_workers(lanes));
  EXPECT_EQ(workers, (WorkersPerLane{{"export", 4}, {"a\"b", 1}}));
  for (const char* nonsense : {"", "[]", "{", "{\"x\":-1,\"y\":\"4\",\"z\":1e9,\"w\":null}", "3"}) {
    EXPECT_TRUE(parse_workers(nonsense).empty()) << nonsense;
  }
}

}  // namespace
}  // namespace waybill::dispatch
