// One instance: the production classes wired as the app wires them, its own view of the clock, and
// the ways in which it can end or stand still.

#ifndef WAYBILL_TESTS_SIM_PROCESS_H_
#define WAYBILL_TESTS_SIM_PROCESS_H_

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatch.h"
#include "exporting/export_executor.h"
#include "exporting/file_keeper.h"
#include "exporting/observer.h"
#include "registry/registry.h"
#include "tests/sim/scheduler.h"
#include "tests/sim/sim_store.h"

namespace waybill::sim {

class World;
class ActionExecutor;
class WatchedExecutor;
class WatchedTransport;

inline constexpr const char* kExportLane = "export";
inline constexpr const char* kActionLane = "action";
inline constexpr const char* kService = "service";

// What differs between the instances of a run, and between two starts of one.
struct Wish {
  bool broker = false;
  bool consumer = true, publisher = true, reconciler = true, dead_letter = true;
  int workers = 2;
  std::set<std::string, std::less<>> export_types, action_types;
  Millis lease_ms = 300'000;
  Millis poll_max_ms = 5'000;
  Millis sweep_after_ms = 5'000;
  Millis retention_ms = 3'600'000;  // of finished files
  Millis history_ms = 90 * 86'400'000LL, sent_keep_ms = 7 * 86'400'000LL;
};

// What everybody knows when nothing is old or reloaded.
std::set<std::string, std::less<>> all_export_types();
std::set<std::string, std::less<>> all_action_types();

class Process {
 public:
  Process(World& world, int number, Wish wish);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Begins to run its roles.
  void start();
  // No answer reaches it, and nothing that it does has an effect any more.
  void crash(const std::string& when);
  void freeze(Millis ms);
  // SIGTERM: ends by itself, within its grace.
  void terminate();
  // The registry file changed: from now on these types are known.
  void reload(std::set<std::string, std::less<>> export_types);
  void step_clock(Millis by) { clock_offset_ += by; }

  [[nodiscard]] bool dead() const { return group_.dead; }
  [[nodiscard]] bool frozen() const;
  [[nodiscard]] bool knows(std::string_view type) const;
  // Now or before a reload: a claim may be on its way with the older list.
  [[nodiscard]] bool has_known(std::string_view type) const { return ever_known_.contains(type); }
  [[nodiscard]] const std::string& owner() const { return settings_.owner; }
  [[nodiscard]] Millis lease_ms() const { return settings_.lease_ms; }
  [[nodiscard]] Millis heartbeat_ms() const { return settings_.heartbeat_ms; }
  // The database's clock when something last kept it from working as it should.
  [[nodiscard]] Millis disturbed_at() const { return disturbed_at_; }
  void disturb();
  [[nodiscard]] const Group& group() const { return group_; }
  Group& group() { return group_; }
  SimStore& store() { return store_; }
  files::Files& files() { return *files_; }
  const Wish& wish() const { return wish_; }
  void committed(std::span<const store::CommandHint> hints) { store_.committed(hints); }
  void poll_soon() { dispatch_->poll_soon(); }
  // Deliveries of an execution that it holds and has not answered.
  [[nodiscard]] int unanswered(const core::Execution& execution) const;
  // The database has answered a claim of this delivered execution, whatever the answer was.
  void claim_answered(const core::Execution& execution) { answered_.insert(execution); }
  void delivered(const core::Execution& execution) { answered_.erase(execution); }
  [[nodiscard]] bool has_answer(const core::Execution& execution) const {
    return answered_.contains(execution);
  }

  // Somebody outside is in the middle of a call to it, and its memory has to stay.
  class Visit {
   public:
    explicit Visit(Process& process) : process_(process) { ++process_.visits_; }
    ~Visit() { --process_.visits_; }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    Process& process_;
  };
  [[nodiscard]] bool visited() const { return visits_ > 0; }

  // The living ones of the run.
  static std::vector<Process*> alive(World& world);

 private:
  class View;  // of the clock
  class FiberWaiter;
  void make_settings();
  void make_exports();
  void run_role(const dispatch::Role& role);
  [[nodiscard]] Millis stretched(Millis wait);
  void shut_down();
  [[nodiscard]] dispatch::Role files_role();

  World& world_;
  const Wish wish_;
  Group group_;
  Millis clock_offset_ = 0;
  Millis disturbed_at_ = 0;
  int visits_ = 0;
  std::set<core::Execution> answered_;
  dispatch::Settings settings_;
  exporting::ExportSettings export_settings_;
  std::shared_ptr<const registry::Snapshot> snapshot_;
  std::set<std::string, std::less<>> ever_known_;
  FiberSpawner spawner_;
  SimStore store_;
  exporting::ExportObserver observer_;
  base::Wake keeper_wake_, progress_wake_, remover_wake_;
  // In order of construction; destroyed in reverse.
  std::unique_ptr<View> clock_;
  std::unique_ptr<files::Files> files_;
  std::unique_ptr<client::HttpClient> http_;
  std::unique_ptr<exporting::ObjectRemover> remover_;
  std::unique_ptr<dispatch::ObjectRemover> reconciler_remover_;
  std::unique_ptr<exporting::ProgressWriter> progress_;
  std::unique_ptr<exporting::FileKeeper> keeper_;
  std::unique_ptr<exporting::Waiter> waiter_;
  std::unique_ptr<exporting::ExportExecutor> exports_;
  std::unique_ptr<ActionExecutor> actions_;
  std::unique_ptr<WatchedExecutor> watched_exports_, watched_actions_;
  std::unique_ptr<WatchedTransport> transport_;
  std::unique_ptr<dispatch::Dispatch> dispatch_;
};

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_PROCESS_H_
