#include "dispatch/workbench.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace waybill::dispatch {

struct Workbench::Box {
  std::mutex mutex;
  std::deque<Ended> ended;         // guarded by mutex
  std::function<void()> listener;  // set before the first start
  ExecutionMap* map = nullptr;     // guarded by mutex; null once the workbench is gone

  void put(Ended item) {
    bool first = false;
    {
      const std::lock_guard lock(mutex);
      if (map == nullptr || !map->end(item.execution)) return;  // too late, or reported twice
      first = ended.empty();
      ended.push_back(std::move(item));
      // Called under the lock, so that it cannot outlive the workbench. It only raises a wake.
      if (first && listener) listener();
    }
  }
};

Workbench::Workbench(std::span<const LaneSettings> lanes, std::vector<Executor*> executors,
                     ExecutionMap& map, Metrics& metrics)
    : slots_(lanes),
      executors_(std::move(executors)),
      map_(map),
      metrics_(metrics),
      box_(std::make_shared<Box>()),
      started_(lanes.size()) {
  box_->map = &map_;
}

Workbench::~Workbench() {
  // A `settled` hook that nobody will call may own a `done`, and with it the box: kept there it
  // would never be freed. Destroyed after the lock is released, as it is not our code.
  std::deque<Ended> unsettled;
  const std::lock_guard lock(box_->mutex);
  box_->map = nullptr;
  unsettled.swap(box_->ended);
}

std::vector<std::string> Workbench::known_types() const {
  std::vector<std::string> types;
  for (const Executor* executor : executors_) {
    auto more = executor->known_types();
    types.insert(types.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

bool Workbench::knows(std::string_view type) const {
  return std::any_of(executors_.begin(), executors_.end(),
                     [type](const Executor* e) { return e->knows(type); });
}

void Workbench::start(store::ClaimedTask task, std::optional<Slot> slot,
                      std::shared_ptr<const StopFlag> stop) {
  const Execution execution = task.execution;
  auto done = [box = box_, execution, slot](Outcome outcome) {
    outcome.finish.execution = execution;
    box->put({.execution = execution, .slot = slot, .outcome = std::move(outcome)});
  };
  const auto executor = std::find_if(executors_.begin(), executors_.end(),
                                     [&task](const Executor* e) { return e->knows(task.type); });
  if (executor == executors_.end() || !slot || stopped_) {
    // Claimed and not startable: back to the others, as if it had never been claimed (F22).
    metrics_.released.add();
    Outcome outcome;
    outcome.finish.event = core::Event::kRelease;
    done(std::move(outcome));
    return;
  }
  started_[slot->lane].add();
  (*executor)->start(std::move(task), std::move(stop), std::move(done));
}

std::optional<Workbench::Claiming> Workbench::may_claim() {
  // Counted before the flag is read: who sets the flag and then sees no one counted has seen the
  // last claim.
  ++claiming_;
  std::optional<Claiming> claiming(std::in_place, this);
  if (stopped_) claiming.reset();
  return claiming;
}

void Workbench::end_claiming() {
  if (--claiming_ == 0 && stopped_) map_.drained().raise();
}

std::vector<Ended> Workbench::take_ended(std::size_t limit) {
  std::vector<Ended> taken;
  const std::lock_guard lock(box_->mutex);
  const std::size_t n = std::min(limit, box_->ended.size());
  const auto end = box_->ended.begin() + static_cast<std::ptrdiff_t>(n);
  taken.assign(std::make_move_iterator(box_->ended.begin()), std::make_move_iterator(end));
  box_->ended.erase(box_->ended.begin(), end);
  return taken;
}

bool Workbench::has_ended() const {
  const std::lock_guard lock(box_->mutex);
  return !box_->ended.empty();
}

void Workbench::on_ended(std::function<void()> listener) { box_->listener = std::move(listener); }

void Workbench::announce_free() {
  for (const auto& listener : on_free_) listener();
}

}  // namespace waybill::dispatch
