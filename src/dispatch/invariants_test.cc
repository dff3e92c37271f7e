// What the other tests of an invariant leave open; docs/invariants.md says which test guards what.

#include <gtest/gtest.h>

#include "core/message.h"
#include "dispatch/testing/world.h"

namespace waybill::dispatch {
namespace {

// I14: a newer build's message is whole and is no poison: acknowledged, never a dead letter.
TEST(InvariantsTest, AMessageOfAnUnknownTypeIsNoPoison) {
  World world;
  Node& a = world.add("a", {.broker = true, .adjust = [](Settings& s) { s.sweep_after_ms = 0; }});
  const auto id = world.create(2, "t1", "FROM_THE_FUTURE");
  core::CommandMessage what;
  what.execution = {.id = id, .version = 1};
  what.event_id = base::make_uuid(world.random);
  what.kind = core::TaskKind::kExport;
  what.type = "FROM_THE_FUTURE";
  const core::EncodedMessage encoded = core::build_message(what);
  transport::Message message;
  message.stream = {.lane = kLane, .level = 2};
  message.properties = encoded.properties;
  message.payload = encoded.payload;
  world.settle();
  world.broker.inject(message);
  world.run_for(2'000);
  EXPECT_EQ(a.metrics().unknown_kind.value(), 1);
  EXPECT_EQ(a.metrics().poison_rejected.value(), 0);
  EXPECT_EQ(world.broker.waiting() + world.broker.unsettled() + world.broker.dead(), 0u);
  EXPECT_EQ(world.broker.redelivered(), 0);
  EXPECT_EQ(world.status(id), core::TaskStatus::kPending);
  EXPECT_EQ(world.row(id).attempt_count, 0);
  EXPECT_TRUE(world.has_command(id));
}

}  // namespace
}  // namespace waybill::dispatch
