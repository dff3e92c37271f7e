// What both feeds of a consumer share: the slots, the executors, and the box into which executors
// put their outcomes.

#ifndef WAYBILL_DISPATCH_WORKBENCH_H_
#define WAYBILL_DISPATCH_WORKBENCH_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dispatch/execution_map.h"
#include "dispatch/executor.h"
#include "dispatch/metrics.h"
#include "dispatch/slots.h"

namespace waybill::dispatch {

// One ended execution on its way to the database.
struct Ended {
  Execution execution;
  std::optional<Slot> slot;  // none: claimed beyond what was asked for, and released
  Outcome outcome;
};

// Thread-safe. Executors, map and metrics outlive it; an executor's late `done` after its end is
// harmless.
class Workbench {
 public:
  Workbench(std::span<const LaneSettings> lanes, std::vector<Executor*> executors,
            ExecutionMap& map, Metrics& metrics);
  ~Workbench();
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  Slots& slots() { return slots_; }
  ExecutionMap& map() { return map_; }

  // Sorted, without repetition. Empty = nothing is known, so nothing may be claimed.
  [[nodiscard]] std::vector<std::string> known_types() const;
  [[nodiscard]] bool knows(std::string_view type) const;

  // Hands a claimed task to its executor. Where nobody knows the type any more, or claiming has
  // stopped, it is released instead. Never blocks on the database.
  void start(store::ClaimedTask task, std::optional<Slot> slot,
             std::shared_ptr<const StopFlag> stop);
  // How many executions were started in a lane so far; tells an idle lane from a busy one.
  [[nodiscard]] std::int64_t started(std::size_t lane) const { return started_[lane].value(); }

  // Outcomes that wait to be committed, oldest first, at most `limit`.
  std::vector<Ended> take_ended(std::size_t limit);
  [[nodiscard]] bool has_ended() const;

  // Held by a feed from before its claim until what it claimed is in the map. Movable.
  class Claiming {
   public:
    explicit Claiming(Workbench* bench) : bench_(bench) {}
    Claiming(Claiming&& other) noexcept : bench_(std::exchange(other.bench_, nullptr)) {}
    Claiming& operator=(Claiming&&) = delete;
    ~Claiming() {
      if (bench_ != nullptr) bench_->end_claiming();
    }

   private:
    Workbench* bench_;
  };
  // Empty once claiming has stopped.
  [[nodiscard]] std::optional<Claiming> may_claim();

  // From now on nothing is claimed, and start() releases. For shutdown; cannot be undone.
  void stop_claiming() { stopped_ = true; }
  // Nobody claims and nothing is left in the map: after stop_claiming() this stays so.
  [[nodiscard]] bool quiet() const { return claiming_ == 0 && map_.size() == 0; }

  // Called when outcomes appear in the empty box, from any thread. Set before the first start().
  void on_ended(std::function<void()> listener);
  // Called after slots became free, from any thread. Add before the first start().
  void on_free(std::function<void()> listener) { on_free_.push_back(std::move(listener)); }
  void announce_free();

 private:
  struct Box;  // outlives the workbench while an executor still holds a `done`
  Slots slots_;
  const std::vector<Executor*> executors_;
  ExecutionMap& map_;
  Metrics& metrics_;
  std::shared_ptr<Box> box_;
  std::vector<std::function<void()>> on_free_;
  std::vector<Counter> started_;  // per lane
  void end_claiming();
  std::atomic<bool> stopped_{false};
  std::atomic<int> claiming_{0};
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_WORKBENCH_H_
