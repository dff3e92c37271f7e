// Everybody who acts upon the processes from outside: users who create, cancel and retry; the
// person on call who pauses, restarts and reloads; and bad luck.

#ifndef WAYBILL_TESTS_SIM_OPERATOR_H_
#define WAYBILL_TESTS_SIM_OPERATOR_H_

#include <cstdint>
#include <map>
#include <string>

#include "tests/sim/crew.h"

namespace waybill::sim {

inline constexpr std::size_t kMaxTasks = 60;  // of one run
// Of messages that no publisher wrote.
inline constexpr const char* kForeignEventId = "00000000-0000-4000-8000-000000000000";

class Operator {
 public:
  explicit Operator(World& world) : world_(world), group_{.name = "operator"} {}
  void start();
  // Faults end, everybody goes on, and at least one process is able to do everything.
  void heal();
  // One process is enough to tidy up.
  void leave_one();

 private:
  void act();
  void end();
  void deed();
  void create_export(Process& by);
  void create_actions(Process& by);
  void cancel(Process& by);
  void retry(Process& by);
  void pause(Process& by);
  void processes();
  void trouble();
  void take_command_away();
  void write_poison();
  // A task of the run, by the dice; 0 when there is none.
  core::TaskId any_task();
  [[nodiscard]] store::Scope scope_of(core::TaskId id) const;

  World& world_;
  Group group_;
  bool stopped_ = false;
  std::int64_t next_job_ = 1;
};

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_OPERATOR_H_
