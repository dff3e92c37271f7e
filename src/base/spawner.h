// Where threads come from. Production code never starts one by itself: the app hands out a
// ThreadSpawner, tests and the simulator hand out what they like.

#ifndef WAYBILL_BASE_SPAWNER_H_
#define WAYBILL_BASE_SPAWNER_H_

#include <functional>
#include <memory>
#include <string>

namespace waybill::base {

// Owns one running body. The destructor joins: whoever spawned decides when the body should end,
// then waits.
class Spawned {
 public:
  virtual ~Spawned() = default;
  // Waits until the body has returned. May be called more than once, from one thread.
  virtual void join() = 0;
};

// Thread-safe.
class Spawner {
 public:
  virtual ~Spawner() = default;
  // Runs `body` beside the caller. `name` shows in debuggers and `top` (the first 15 characters).
  // The body must not throw. Returns null where no thread can be had (the caller reports
  // kUnavailable).
  [[nodiscard]] virtual std::unique_ptr<Spawned> spawn(const std::string& name,
                                                       std::function<void()> body) = 0;
};

// One operating-system thread per body, all signals blocked in it.
class ThreadSpawner final : public Spawner {
 public:
  [[nodiscard]] std::unique_ptr<Spawned> spawn(const std::string& name,
                                               std::function<void()> body) override;
};

}  // namespace waybill::base

#endif  // WAYBILL_BASE_SPAWNER_H_
