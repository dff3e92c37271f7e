// A stackful coroutine: production code that would block a thread runs on one of these, and the
// scheduler decides when it goes on. Everything stays on one operating-system thread.

#ifndef WAYBILL_TESTS_SIM_FIBER_H_
#define WAYBILL_TESTS_SIM_FIBER_H_

#include <cstddef>
#include <functional>
#include <memory>

namespace waybill::sim {

inline constexpr std::size_t kFiberStackBytes = 256u << 10;

// Not thread-safe. A fiber that has begun must be resumed to its end before it is destroyed: its
// stack holds living objects.
class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it yields or ends. May be called from another fiber.
  void resume();
  [[nodiscard]] bool finished() const { return finished_; }

  // The fiber that runs now; null on the scheduler's own stack.
  static Fiber* current();
  // Back to whoever resumed. REQUIRES: current() != nullptr.
  static void yield();

 private:
  struct Context;
  static void entry(unsigned low, unsigned high);
  std::function<void()> body_;
  std::unique_ptr<Context> context_;
  bool finished_ = false;
};

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_FIBER_H_
