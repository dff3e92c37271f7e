#include "exporting/export_executor.h"

#include <utility>

#include "exporting/export_job.h"

namespace waybill::exporting {

ExportExecutor::ExportExecutor(ExportServices services, ExportSettings settings)
    : services_(std::move(services)), settings_(std::move(settings)) {}

ExportExecutor::~ExportExecutor() {
  std::list<std::unique_ptr<Run>> runs;
  {
    const std::lock_guard lock(mutex_);
    runs.swap(runs_);
  }
  // Each Run joins its thread.
}

bool ExportExecutor::knows(std::string_view type) const {
  const auto snapshot = services_.registry();
  return snapshot->exports.find(type) != snapshot->exports.end();
}

std::vector<std::string> ExportExecutor::known_types() const {
  std::vector<std::string> types;
  const auto snapshot = services_.registry();
  for (const auto& [key, type] : snapshot->exports) types.push_back(key);
  return types;
}

void ExportExecutor::start(store::ClaimedTask task, std::shared_ptr<const dispatch::StopFlag> stop,
                           std::function<void(dispatch::Outcome)> done) {
  reap();
  auto finished = std::make_shared<std::atomic<bool>>(false);
  const std::string name = "export-" + std::to_string(task.execution.id);
  auto thread = services_.spawner.spawn(
      name, [this, finished, task = std::move(task), stop = std::move(stop), done] {
        done(ExportJob(services_, settings_, task, stop).run());
        finished->store(true);
      });
  if (!thread) {
    dispatch::Outcome outcome;
    outcome.finish.event = core::Event::kRelease;
    return done(std::move(outcome));
  }
  const std::lock_guard lock(mutex_);
  runs_.push_back(std::make_unique<Run>(Run{std::move(finished), std::move(thread)}));
}

// Ended threads wait here for their join, which is immediate; at most one per slot gathers.
void ExportExecutor::reap() {
  std::list<std::unique_ptr<Run>> ended;
  const std::lock_guard lock(mutex_);
  for (auto run = runs_.begin(); run != runs_.end();) {
    const auto next = std::next(run);
    if ((*run)->finished->load()) ended.splice(ended.end(), runs_, run);
    run = next;
  }
}

}  // namespace waybill::exporting
