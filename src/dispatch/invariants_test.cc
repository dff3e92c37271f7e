// What the other tests of an invariant leave open; docs/invariants.md says which test guards what.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/message.h"
#include "dispatch/testing/world.h"

namespace waybill::dispatch {
namespace {

using core::Event;
using core::TaskStatus;

// Minutes instead of hours, and few polls; nothing else changes.
void impatient(Settings& settings) {
  poll_seldom(settings);
  settings.sweep_after_ms = 0;
  settings.reconciler_due_for_ms = 2'000;
  settings.command_lease_ms = 4'000;
  settings.send_deadline_ms = 1'000;
  settings.stale_ms = 5'000;
  settings.send_backoff_ms = {1'000};
}

// Somebody who is not there any more has claimed the task.
core::Execution claim(World& world, core::TaskId id) {
  const core::Execution what{.id = id, .version = world.row(id).dispatch_version};
  const auto claimed = world.store->claim_delivered({.owner = "gone", .commands = {what}});
  EXPECT_TRUE(claimed.ok() && (*claimed)[0].claimed.has_value());
  return what;
}

bool finish(World& world, const core::Execution& what, Event event) {
  store::Finish end;
  end.execution = what;
  end.event = event;
  return world.store->finish("gone", std::vector{end}).ok();
}

// The database goes away before the `n`-th statement from now, and stays away until this ends.
class Break {
 public:
  Break(World& world, int n) : world_(world), left_(n) {
    world_.during = [this](const store::StatementPoint&) {
      if (--left_ == 0) world_.away();
    };
  }
  ~Break() {
    world_.during = nullptr;
    world_.back();
  }
  Break(const Break&) = delete;
  Break& operator=(const Break&) = delete;
  [[nodiscard]] bool happened() const { return left_ <= 0; }

 private:
  World& world_;
  int left_;
};

// I1: one story with every loss that the reconciler makes up for; nobody else is there to repair.
TEST(InvariantsTest, WhateverIsLostEveryTaskEnds) {
  World world;
  world.add("p", {.broker = true,
                  .consumer = false,
                  .publisher = true,
                  .reconciler = true,
                  .adjust = impatient});
  Node& a = world.add("a", {.broker = true, .adjust = impatient});
  a.executor().end_at_once = true;
  world.settle();
  world.broker.set_faults({.lose = 1});
  const auto gone = world.create_many(3);  // message and command
  world.run_for(10'000);
  ASSERT_EQ(*world.store->delete_old_sent_commands(0, 100), 3);
  for (const auto id : gone) ASSERT_FALSE(world.has_command(id));
  const auto lost = world.create_many(3);  // the message
  world.run_for(10'000);
  world.broker.set_faults({});
  std::vector<core::TaskId> abandoned, stuck;
  for (int i = 0; i < 3; ++i) {  // the executing process
    abandoned.push_back(*world.store->create_task(new_action()));
    claim(world, abandoned.back());
  }
  for (int i = 0; i < 3; ++i) stuck.push_back(*world.store->create_task(new_action()));
  const auto leased =  // the sending process
      world.store->lease_commands(
          {.owner = "gone", .lane = kLane, .picks = {{.level = 2, .tenant_id = "t1", .n = 3}}});
  ASSERT_TRUE(leased.ok());
  ASSERT_EQ(leased->size(), 3u);
  world.run_for(400'000);
  for (const auto& ids : {gone, lost, stuck}) {
    for (const auto id : ids) {
      EXPECT_EQ(world.status(id), TaskStatus::kSucceeded);
      EXPECT_EQ(world.row(id).dispatch_version, 1) << "a delivery problem raises no version (I3)";
    }
  }
  for (const auto id : abandoned) EXPECT_EQ(world.status(id), TaskStatus::kSucceeded);
}

// I2: whatever makes a task due breaks before each of its statements in turn. Afterwards no task
// waits without a command, for nobody is there to make one.
TEST(InvariantsTest, ABreakAtAnyStatementLeavesNoTaskWithoutItsCommand) {
  for (int n = 1;; ++n) {
    World world;
    {
      const Break broken(world, n);
      static_cast<void>(world.store->create_task(new_action()));
      if (!broken.happened()) break;
    }
    ASSERT_EQ(*world.store->has_tasks() ? 1 : 0, world.store->figures()->pending_commands) << n;
    ASSERT_LT(n, 100);
  }
  using Step = std::function<bool(World&, const core::Execution&)>;
  const std::vector<std::pair<std::string, Step>> steps{
      {"retry later",
       [](World& w, const core::Execution& e) { return finish(w, e, Event::kRetryLater); }},
      {"release", [](World& w, const core::Execution& e) { return finish(w, e, Event::kRelease); }},
      {"lease given up",
       [](World& w, const core::Execution&) {
         w.clock.advance(3'600'000);
         return w.store->recover_expired_leases(10, 0).ok();
       }},
      {"retried by a person",
       [](World& w, const core::Execution& e) {
         return finish(w, e, Event::kFail) && w.store->retry(e.id, World::kScope).ok();
       }},
      {"end of the holder of a key",
       [](World& w, const core::Execution& e) { return finish(w, e, Event::kFail); }}};
  for (const auto& [what, step] : steps) {
    int done = 0;
    for (int n = 1; done == 0; ++n) {
      World world;
      store::NewTask task = new_action();
      task.serial_key = "key";
      const core::TaskId id = *world.store->create_task(task);
      const core::TaskId next = *world.store->create_task(task);
      const core::Execution execution = claim(world, id);
      {
        const Break broken(world, n);
        const bool answered = step(world, execution);
        done = broken.happened() ? 0 : 1;
        ASSERT_EQ(answered, done == 1) << what << " at statement " << n;
      }
      for (const core::TaskId one : {id, next}) {
        ASSERT_EQ(world.status(one) == TaskStatus::kPending, world.has_command(one))
            << what << " at statement " << n;
      }
      ASSERT_LT(n, 100);
    }
    EXPECT_EQ(done, 1);
  }
}

// I13: failed sends, lost messages and repeated ones are no executions, not even for a task that
// has only one.
TEST(InvariantsTest, SendsUseUpNoAttempt) {
  World world;
  Node& p = world.add("p", {.broker = true,
                            .consumer = false,
                            .publisher = true,
                            .reconciler = true,
                            .adjust = impatient});
  Node& a = world.add("a", {.broker = true, .adjust = impatient});
  world.settle();
  world.broker.set_faults({.refuse = 1});
  const auto id = *world.store->create_task(new_action(1));
  world.run_for(20'000);
  world.broker.set_faults({.lose = 1});
  world.run_for(400'000);
  EXPECT_GE(p.metrics().send_failures.value(), 3);
  EXPECT_GE(p.metrics().redispatch.value(), 2);
  EXPECT_EQ(world.row(id).attempt_count, 0);
  EXPECT_EQ(a.executor().started(), 0u);
  world.broker.set_faults({.repeat = 1});
  world.run_for(250'000);
  ASSERT_EQ(a.executor().starts_of(id), 1u);
  EXPECT_EQ(world.row(id).attempt_count, 1);
  EXPECT_EQ(world.row(id).dispatch_version, 1);
  EXPECT_EQ(a.executor().run(0).task.attempt, 1);
}

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

// I16, D70: two processes with free slots, without a broker and with one that repeats and reorders:
// never two of a key at once, and in the order of their creation, also when a process dies.
TEST(InvariantsTest, TasksOfOneKeyRunOneByOneInTheirOrder) {
  for (const bool broker : {false, true}) {
    World world;
    if (broker) {
      world.broker.set_faults({.repeat = 0.3, .reorder = 0.5});
      world.add("p", {.broker = true, .consumer = false, .publisher = true, .adjust = impatient});
    }
    const NodeOptions options{.broker = broker, .reconciler = true, .adjust = impatient};
    std::vector<Node*> nodes{&world.add("a", options), &world.add("b", options)};
    std::vector<core::TaskId> created, started;
    for (Node* node : nodes) {
      node->executor().on_start = [&](const FakeExecutor::Run& run) {
        std::size_t running = 0;
        for (Node* one : nodes) running += one->executor().running();
        EXPECT_EQ(running, 1u) << "it and nobody else";
        const auto id = run.task.execution.id;
        if (started.empty() || started.back() != id) started.push_back(id);
      };
    }
    for (int i = 0; i < 50; ++i) {
      store::NewTask task = new_action();
      task.serial_key = "key";
      created.push_back(*world.store->create_task(task));
    }
    for (std::size_t turn = 0; turn <= created.size(); ++turn) {
      world.run_for(2'500);
      const auto runner = std::find_if(nodes.begin(), nodes.end(),
                                       [](Node* node) { return node->executor().running() > 0; });
      ASSERT_NE(runner, nodes.end()) << "turn " << turn;
      if (turn == 20) {
        (*runner)->kill();
        nodes.erase(runner);
        world.run_for(400'000);
      } else {
        (*runner)->executor().end_all();
      }
    }
    world.settle();
    EXPECT_EQ(started, created);
    for (const auto id : created) EXPECT_EQ(world.status(id), TaskStatus::kSucceeded);
  }
}

}  // namespace
}  // namespace waybill::dispatch
