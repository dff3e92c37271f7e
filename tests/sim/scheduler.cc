#include "tests/sim/scheduler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace waybill::sim {
namespace {

constexpr double kDriftChance = 0.3;  // that a turn costs time
constexpr Millis kMaxDriftMs = 8;
constexpr Millis kJoinLookMs = 1;

class Running final : public base::Spawned {
 public:
  Running(Scheduler& scheduler, Group& group, std::shared_ptr<const bool> ended)
      : scheduler_(scheduler), group_(group), ended_(std::move(ended)) {}
  ~Running() override { wait(); }
  void join() override { wait(); }

 private:
  void wait() {
    if (*ended_) return;
    if (group_.dead || Fiber::current() == nullptr) scheduler_.bury(group_);
    while (!*ended_) scheduler_.sleep(kJoinLookMs);
  }
  Scheduler& scheduler_;
  Group& group_;
  const std::shared_ptr<const bool> ended_;
};

}  // namespace

std::int64_t Scheduler::between(std::int64_t least, std::int64_t most) {
  const auto span = static_cast<std::uint64_t>(most - least) + 1;
  return least + static_cast<std::int64_t>(random.next() % span);
}

std::shared_ptr<const bool> Scheduler::spawn(Group& group, std::function<void()> body) {
  auto actor = std::make_unique<Actor>();
  actor->group = &group;
  actor->ended = std::make_shared<bool>(false);
  actor->at = now();
  actor->fiber = std::make_unique<Fiber>([body = std::move(body), ended = actor->ended] {
    body();
    *ended = true;
  });
  actors_.push_back(std::move(actor));
  return actors_.back()->ended;
}

bool Scheduler::ready(Actor& actor) const {
  if (actor.group->frozen_until > now()) return false;
  if (actor.wake != nullptr && actor.wake->take()) actor.at = now();
  return actor.at <= now();
}

bool Scheduler::turn() {
  ready_.clear();
  for (const auto& actor : actors_) {
    if (ready(*actor)) ready_.push_back(actor.get());
  }
  if (ready_.empty()) {
    Millis next = std::numeric_limits<Millis>::max();
    for (const auto& actor : actors_)
      next = std::min(next, std::max(actor->at, actor->group->frozen_until));
    if (actors_.empty()) return false;
    clock.advance(std::max<Millis>(next - now(), 1));
    return true;
  }
  ++turns_;
  resume(*ready_[random.next() % ready_.size()]);
  remove_ended();
  if (chance(kDriftChance)) clock.advance(between(1, kMaxDriftMs));
  return true;
}

void Scheduler::resume(Actor& actor) {
  Actor* const before = std::exchange(current_, &actor);
  actor.wake = nullptr;
  actor.active = true;
  actor.fiber->resume();
  actor.active = false;
  current_ = before;
}

void Scheduler::remove_ended() {
  std::erase_if(actors_, [](const auto& actor) { return actor->fiber->finished(); });
}

void Scheduler::sleep(Millis ms, base::Wake* wake) {
  if (current_ == nullptr || current_->group->dead) return;
  current_->at = now() + ms;
  current_->wake = wake;
  Fiber::yield();
}

void Scheduler::bury(const Group& group) {
  WAYBILL_CHECK(group.dead, "only a dead group's fibers can be run to their ends");
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    Actor& actor = *actors_[i];
    // The fiber that asks, and those that wait for it, go on by themselves.
    if (actor.group != &group || actor.active) continue;
    if (!actor.fiber->finished()) resume(actor);
  }
  if (current_ == nullptr) remove_ended();
}

std::unique_ptr<base::Spawned> FiberSpawner::spawn(const std::string& /*name*/,
                                                   std::function<void()> body) {
  return std::make_unique<Running>(scheduler_, group_, scheduler_.spawn(group_, std::move(body)));
}

}  // namespace waybill::sim
