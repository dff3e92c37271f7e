// How a process ends: F22, D118.

#include "dispatch/shutdown.h"

#include <gtest/gtest.h>

#include "dispatch/testing/world.h"

namespace waybill::dispatch {
namespace {

using core::TaskStatus;

class ShutdownTest : public ::testing::Test {
 protected:
  World world_;
};

// What fits into the grace ends; the rest is handed back, without an attempt and without waiting
// for a lease.
TEST_F(ShutdownTest, FinishesWhatFitsAndReleasesTheRest) {
  Node& a = world_.add("a", {.adjust = [](Settings& s) { s.shutdown_grace_ms = 5'000; }});
  const auto ids = world_.create_many(4);
  const auto waiting = world_.create();
  world_.settle();
  ASSERT_EQ(a.executor().running(), 4u);
  Shutdown shutdown(a.dispatch().settings(), *a.dispatch().workbench(), world_.clock);
  EXPECT_EQ(shutdown.step().wait_ms, 5'000);
  a.executor().end(0);
  world_.run_for(2'000);
  shutdown.step();
  EXPECT_FALSE(shutdown.done());
  EXPECT_EQ(a.executor().started(), 4u) << "nothing new starts, although a slot is free";
  EXPECT_EQ(world_.status(waiting), TaskStatus::kPending);
  world_.run_for(3'000);
  shutdown.step();
  EXPECT_EQ(a.executor().obey(), 3u);
  world_.settle();
  shutdown.step();
  EXPECT_TRUE(shutdown.done());
  EXPECT_TRUE(shutdown.clean());
  EXPECT_EQ(world_.status(ids[0]), TaskStatus::kSucceeded);
  a.kill();

  Node& b = world_.add("b");
  world_.run_for(2'000);
  std::size_t taken_over = 0;
  for (std::size_t i = 1; i < 4; ++i) {
    taken_over += b.executor().starts_of(ids[i]);
    EXPECT_LE(world_.row(ids[i]).attempt_count, 1) << "the stopped attempt is not counted";
    EXPECT_EQ(world_.row(ids[i]).dispatch_version, 2);
  }
  taken_over += b.executor().starts_of(waiting);
  EXPECT_EQ(taken_over, 4u) << "at once, not after a lease";
}

// Three deploys in an hour use up nothing.
TEST_F(ShutdownTest, DeploysUseUpNoAttempts) {
  const auto id = world_.create();
  for (int deploy = 0; deploy < 5; ++deploy) {
    Node& node = world_.add("n");
    world_.run_for(2'000);
    ASSERT_EQ(node.executor().starts_of(id), 1u);
    Shutdown shutdown(node.dispatch().settings(), *node.dispatch().workbench(), world_.clock);
    shutdown.step();
    world_.clock.advance(60'000);
    shutdown.step();
    node.executor().obey();
    world_.settle();
    node.kill();
  }
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
  EXPECT_EQ(world_.row(id).attempt_count, 0);
}

TEST_F(ShutdownTest, IsBoundedWhateverAnExecutionDoes) {
  Node& a = world_.add("a");
  const auto id = world_.create();
  world_.settle();
  Shutdown shutdown(a.dispatch().settings(), *a.dispatch().workbench(), world_.clock);
  shutdown.step();
  world_.run_for(60'000);
  shutdown.step();
  world_.run_for(10'000);
  shutdown.step();
  EXPECT_TRUE(shutdown.done());
  EXPECT_FALSE(shutdown.clean());
  EXPECT_EQ(world_.status(id), TaskStatus::kRunning) << "its lease brings it back";
}

TEST_F(ShutdownTest, NothingRunningMeansDoneAtOnce) {
  Node& a = world_.add("a");
  Shutdown shutdown(a.dispatch().settings(), *a.dispatch().workbench(), world_.clock);
  shutdown.step();
  EXPECT_TRUE(shutdown.done());
}

// Claims that the database has not answered are dropped; the broker gets its messages back.
TEST_F(ShutdownTest, HeldDeliveriesGoBack) {
  world_.add("p", {.broker = true, .consumer = false, .publisher = true, .adjust = {}});
  Node& a = world_.add("a", {.broker = true, .adjust = {}});
  world_.settle();
  world_.away("claim_delivered");
  world_.create_many(3);
  world_.run_for(500);
  ASSERT_EQ(world_.broker.unsettled(), 3u);
  Shutdown shutdown(a.dispatch().settings(), *a.dispatch().workbench(), world_.clock);
  shutdown.step();
  world_.settle();
  shutdown.step();
  EXPECT_TRUE(shutdown.done());
  a.kill();
  EXPECT_EQ(world_.broker.unsettled(), 0u);
  EXPECT_EQ(world_.broker.waiting(), 3u);
}

// D118, second part: a signal between claim and start.
TEST_F(ShutdownTest, WhatWasClaimedInTheLastMomentIsReleased) {
  Node& a = world_.add("a");
  world_.run_for(1'000);
  a.dispatch().workbench()->stop_claiming();
  const auto id = world_.create();
  store::ClaimNext request;
  request.owner = a.owner();
  request.lane = kLane;
  request.picks = {{.level = 2, .tenant_id = "t1", .n = 1}};
  auto claimed = world_.store->claim_next(request);
  ASSERT_TRUE(claimed.ok());
  ASSERT_EQ(claimed->size(), 1u);
  auto& bench = *a.dispatch().workbench();
  auto stop = bench.map().adopt((*claimed)[0].execution, world_.clock.boot_ms());
  const auto slot = bench.slots().take(0, 2);
  bench.start((*claimed)[0], slot, stop);
  world_.settle();
  EXPECT_EQ(a.executor().started(), 0u);
  EXPECT_EQ(world_.status(id), TaskStatus::kPending);
  EXPECT_EQ(world_.row(id).attempt_count, 0);
  EXPECT_EQ(bench.slots().free(0).total(), 5);
}

}  // namespace
}  // namespace waybill::dispatch
