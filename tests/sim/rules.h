// The invariants of the dispatch core as a checker. Triggers of the database write down every
// changed row; after each store operation the changes are judged one by one, and then the state
// that they left, against a mirror of all tasks and commands.

#ifndef WAYBILL_TESTS_SIM_RULES_H_
#define WAYBILL_TESTS_SIM_RULES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/task.h"
#include "tests/sim/scheduler.h"

namespace waybill::sim {

class World;
class Process;

struct TaskView {
  core::TaskKind kind = core::TaskKind::kExport;
  core::TaskStatus status = core::TaskStatus::kPending;
  std::int32_t version = 1;
  std::int32_t attempts = 0;
  std::int32_t max_attempts = 3;
  Millis max_duration = 0;
  Millis due_at = 0;
  std::string owner;
  std::optional<Millis> lease_until;
  Millis deadline = 0;
  bool cancel = false;
  std::string failure_class, failure_message;
  std::string key, tenant, lane, type;
  std::optional<std::int64_t> job;
  // The simulation took its command away; the reconciler has to make up for it.
  bool command_lost = false;
};

struct CommandView {
  core::CommandStatus status = core::CommandStatus::kPending;
  std::int32_t sends = 0;
};

class Rules {
 public:
  // Puts its triggers into the database.
  explicit Rules(World& world);

  // `by` did `operation`, which has just ended.
  void look(const Process* by, std::string_view operation);

  // An operation of `by` is about to be acknowledged or started; see world.cc of the callers.
  void acknowledged(const Process& by, const core::Execution& execution, bool another_is_held);
  void started(const Process& by, const core::Execution& execution, bool unacknowledged);
  void asked_provider(const Process& by, const core::Execution& execution);

  [[nodiscard]] const std::map<core::TaskId, TaskView>& tasks() const { return tasks_; }
  [[nodiscard]] const std::map<core::Execution, CommandView>& commands() const { return commands_; }
  [[nodiscard]] bool all_ended() const;
  // Until when, counted from a moment without faults, everything must have ended.
  [[nodiscard]] Millis time_to_end() const;
  void command_was_taken_away(core::TaskId id) { tasks_[id].command_lost = true; }

 private:
  struct TaskChange {
    core::TaskId id = 0;
    std::optional<TaskView> before, after;
  };
  struct CommandChange {
    core::Execution execution;
    std::optional<CommandView> before, after;
  };

  // A row of progress that save_progress wrote.
  struct ProgressChange {
    core::Execution execution;
  };
  struct Changes {
    std::vector<TaskChange> tasks;
    std::vector<CommandChange> commands;
    std::vector<ProgressChange> progress;
  };

  Changes read_changes();
  void judge_all(const Changes& changes, const Process* by, std::string_view operation);
  void take(const TaskChange& change);
  void judge_commands_of_claims(const Changes& changes);
  void judge(const TaskChange& change, const Process* by, std::string_view operation);
  void judge_version(core::TaskId id, const TaskView& before, const TaskView& after,
                     std::string_view operation);
  void judge_attempts(core::TaskId id, const TaskView& before, const TaskView& after,
                      std::string_view operation);
  void judge_move(core::TaskId id, const TaskView& before, const TaskView& after, const Process* by,
                  std::string_view operation);
  void judge_claim(core::TaskId id, const TaskView& before, const TaskView& after,
                   const Process* by);
  void judge_recovery(core::TaskId id, const TaskView& before);
  void judge_lease(core::TaskId id, const TaskView& before, const TaskView& after,
                   const Process* by, std::string_view operation);
  void judge(const CommandChange& change, std::string_view operation);
  void judge_state(core::TaskId id);
  void judge_keys(const std::set<std::tuple<std::string, std::string, std::string>>& keys);
  void judge_jobs(const std::set<std::int64_t>& jobs);
  void judge_progress(const ProgressChange& change, const Process* by);
  void judge_result(core::TaskId id, const TaskView& task);
  void broken(const char* invariant, core::TaskId id, const std::string& what);

  World& world_;
  std::map<core::TaskId, TaskView> tasks_;
  std::map<core::Execution, CommandView> commands_;
  std::set<core::Execution> delivered_;  // claimed because a broker's delivery asked for it
  std::map<std::tuple<std::string, std::string, std::string>, std::set<core::TaskId>> by_key_;
  std::map<std::int64_t, std::set<core::TaskId>> by_job_;
  std::set<std::int64_t> aged_jobs_;
};

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_RULES_H_
