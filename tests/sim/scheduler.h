// Virtual time and one thread: decides whose turn it is, and moves the clock when nobody has one.

#ifndef WAYBILL_TESTS_SIM_SCHEDULER_H_
#define WAYBILL_TESTS_SIM_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/spawner.h"
#include "base/wake.h"
#include "tests/sim/fiber.h"

namespace waybill::sim {

using base::Millis;

// One process as the scheduler sees it: what ends, stands still or goes on together.
struct Group {
  std::string name;
  bool dead = false;        // its calls have no effect any more; its fibers run to their ends
  Millis frozen_until = 0;  // boot clock
};

// Not thread-safe; nothing here is. One seed is one story.
class Scheduler {
 public:
  explicit Scheduler(std::uint64_t seed) : random(seed) {}

  base::ManualClock clock;  // the database's; processes have their own view of it
  base::SeededRandom random;
  [[nodiscard]] bool chance(double p) { return p > 0 && random.unit() < p; }
  // Both ends included.
  [[nodiscard]] std::int64_t between(std::int64_t least, std::int64_t most);
  [[nodiscard]] Millis now() const { return clock.boot_ms(); }

  // Runs `body` as a fiber of `group`, which outlives it. Set: the body has ended.
  std::shared_ptr<const bool> spawn(Group& group, std::function<void()> body);
  // One fiber's turn. False when nobody will ever run again.
  bool turn();
  // Ends the present fiber's turn for `ms`, or until `wake` is raised. Returns at once in a dead
  // group, and outside of fibers.
  void sleep(Millis ms, base::Wake* wake = nullptr);
  // Runs the fibers of a dead group to their ends.
  void bury(const Group& group);
  [[nodiscard]] std::int64_t turns() const { return turns_; }

 private:
  struct Actor {
    Group* group = nullptr;
    std::unique_ptr<Fiber> fiber;
    std::shared_ptr<bool> ended;
    Millis at = 0;
    base::Wake* wake = nullptr;
    bool active = false;  // on the stack of resumes now
  };
  bool ready(Actor& actor) const;
  void resume(Actor& actor);
  void remove_ended();

  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<Actor*> ready_;
  Actor* current_ = nullptr;
  std::int64_t turns_ = 0;
};

// Threads of production code become fibers.
class FiberSpawner final : public base::Spawner {
 public:
  FiberSpawner(Scheduler& scheduler, Group& group) : scheduler_(scheduler), group_(group) {}
  std::unique_ptr<base::Spawned> spawn(const std::string& name,
                                       std::function<void()> body) override;

 private:
  Scheduler& scheduler_;
  Group& group_;
};

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_SCHEDULER_H_
