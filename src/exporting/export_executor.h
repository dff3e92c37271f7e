// Executes EXPORT tasks: pages of a provider in, one verified XLSX file in the storage out.

#ifndef WAYBILL_EXPORTING_EXPORT_EXECUTOR_H_
#define WAYBILL_EXPORTING_EXPORT_EXECUTOR_H_

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/spawner.h"
#include "client/http_client.h"
#include "dispatch/executor.h"
#include "exporting/object_remover.h"
#include "exporting/observer.h"
#include "exporting/progress_writer.h"
#include "exporting/settings.h"
#include "exporting/waiter.h"
#include "files/files.h"
#include "registry/registry.h"
#include "store/store.h"

namespace waybill::exporting {

// What an execution works with. All of it must outlive the executor and every `settled` hook that
// it handed out.
struct ExportServices {
  store::WorkStore& store;
  std::function<std::shared_ptr<const registry::Snapshot>()> registry;  // Registry::current
  client::HttpClient& http;
  files::Files& files;
  base::Spawner& spawner;  // one thread per execution, and one per execution that fetches ahead
  const base::Clock& clock;
  base::Random& random;
  Waiter& waiter;
  ProgressWriter& progress;
  ObjectRemover& remover;
  ExportObserver& observer;
};

// Thread-safe. The destructor waits for running executions: request their stop first.
class ExportExecutor final : public dispatch::Executor {
 public:
  ExportExecutor(ExportServices services, ExportSettings settings);
  ~ExportExecutor() override;

  // Disabled types are known: a task accepted before still runs (E5).
  [[nodiscard]] bool knows(std::string_view type) const override;
  [[nodiscard]] std::vector<std::string> known_types() const override;
  // `done` is called from the execution's thread; where no thread can be had, from this one, with
  // kRelease.
  void start(store::ClaimedTask task, std::shared_ptr<const dispatch::StopFlag> stop,
             std::function<void(dispatch::Outcome)> done) override;

 private:
  struct Run {
    std::shared_ptr<std::atomic<bool>> finished;
    std::unique_ptr<base::Spawned> thread;  // joins
  };
  void reap();

  const ExportServices services_;
  const ExportSettings settings_;
  std::mutex mutex_;
  std::list<std::unique_ptr<Run>> runs_;
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_EXPORT_EXECUTOR_H_
