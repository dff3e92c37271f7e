#include "tests/sim/crew.h"

#include <utility>

#include "tests/sim/world.h"

namespace waybill::sim {

Crew::Crew(World& world) : world_(world), broker_(world.scheduler.chance(0.6)) {}

Wish Crew::draw_wish() const {
  Scheduler& dice = world_.scheduler;
  Wish wish;
  wish.broker = broker_;
  wish.consumer = dice.chance(0.9);
  wish.publisher = dice.chance(0.9);
  wish.reconciler = dice.chance(0.9);
  wish.dead_letter = dice.chance(0.9);
  wish.workers = static_cast<int>(dice.between(1, 3));
  wish.export_types = all_export_types();
  wish.action_types = all_action_types();
  if (dice.chance(0.3)) {  // an older program
    wish.export_types.erase("LIST_NEW");
    wish.action_types.erase("ACT_NEW");
  }
  wish.lease_ms = dice.chance(0.5) ? 300'000 : 90'000;
  wish.poll_max_ms = dice.chance(0.3) ? 1'000 : 10'000;
  wish.sweep_after_ms = dice.chance(0.2) ? 0 : 5'000;
  wish.retention_ms = dice.chance(0.3) ? 3'600'000 : 30 * 86'400'000LL;
  if (dice.chance(0.2)) wish.history_ms = 7'200'000;
  if (dice.chance(0.2)) wish.sent_keep_ms = 7'200'000;
  return wish;
}

void Crew::begin(Wish wish) {
  processes_.push_back(std::make_unique<Process>(world_, ++started_, std::move(wish)));
  processes_.back()->start();
}

void Crew::start_one() { begin(draw_wish()); }

void Crew::start_whole() {
  Wish wish;
  wish.broker = broker_;
  wish.workers = 3;
  wish.export_types = all_export_types();
  wish.action_types = all_action_types();
  wish.poll_max_ms = 20'000;
  // Without the sweep only the reconciler makes up for what a broker lost.
  wish.sweep_after_ms = world_.scheduler.chance(0.5) ? 0 : 5'000;
  wish.retention_ms = 30 * 86'400'000LL;
  begin(std::move(wish));
}

void Crew::reap() {
  std::erase_if(processes_,
                [](const auto& process) { return process->dead() && !process->visited(); });
}

void Crew::end_all() { processes_.clear(); }

std::vector<Process*> Crew::alive() const {
  std::vector<Process*> alive;
  for (const auto& process : processes_) {
    if (!process->dead()) alive.push_back(process.get());
  }
  return alive;
}

Process* Crew::anybody() const {
  std::vector<Process*> moving;
  for (Process* process : alive()) {
    if (!process->frozen()) moving.push_back(process);
  }
  if (moving.empty()) return nullptr;
  return moving[static_cast<std::size_t>(
      world_.scheduler.between(0, static_cast<std::int64_t>(moving.size()) - 1))];
}

}  // namespace waybill::sim
