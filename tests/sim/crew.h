// The processes of a run: who lives, who starts next, and with which settings.

#ifndef WAYBILL_TESTS_SIM_CREW_H_
#define WAYBILL_TESTS_SIM_CREW_H_

#include <memory>
#include <vector>

#include "tests/sim/process.h"

namespace waybill::sim {

inline constexpr int kMaxProcesses = 3;  // alive at a time

class Crew {
 public:
  explicit Crew(World& world);
  // One more process, with settings by the dice; an older program knows fewer types.
  void start_one();
  // One that has every role and knows everything.
  void start_whole();
  // Ends the dead for good. On the scheduler's own stack only.
  void reap();
  void end_all();

  [[nodiscard]] std::vector<Process*> alive() const;
  // Any that lives and moves; null when none does.
  [[nodiscard]] Process* anybody() const;

 private:
  [[nodiscard]] Wish draw_wish() const;
  void begin(Wish wish);
  World& world_;
  const bool broker_;  // of this run
  std::vector<std::unique_ptr<Process>> processes_;
  int started_ = 0;
};

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_CREW_H_
