// All roles of one process, wired: the app (and the simulator) make one of these.
//
//   Dispatch dispatch(settings, roles, parts);   // registers store.on_commit
//   dispatch.start();                            // loops; the watchdog first
//   ...
//   dispatch.shutdown();                         // bounded by grace + release; then every thread
//   has ended
//
// The simulator never calls start(): it calls the steps of roles() itself, in an order of its
// choice.

#ifndef WAYBILL_DISPATCH_DISPATCH_H_
#define WAYBILL_DISPATCH_DISPATCH_H_

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/spawner.h"
#include "dispatch/consumer.h"
#include "dispatch/dead_letter_role.h"
#include "dispatch/delivery_feed.h"
#include "dispatch/execution_map.h"
#include "dispatch/executor.h"
#include "dispatch/finisher.h"
#include "dispatch/loop.h"
#include "dispatch/metrics.h"
#include "dispatch/presence.h"
#include "dispatch/publisher.h"
#include "dispatch/reconciler.h"
#include "dispatch/retention.h"
#include "dispatch/settings.h"
#include "dispatch/shutdown.h"
#include "dispatch/watchdog.h"
#include "dispatch/workbench.h"

namespace waybill::dispatch {

struct RoleSwitches {
  bool consumer = true;
  bool publisher = false;    // needs a transport
  bool reconciler = true;    // with retention
  bool dead_letter = false;  // needs a transport
};

// Everything outlives the Dispatch.
struct Parts {
  store::Store& store;
  std::vector<Executor*> executors;  // the consumer's; a type belongs to the first that knows it
  const base::Clock& clock;
  base::Spawner& spawner;
  store::InstanceRow instance;  // name is overwritten by settings.owner, workers by settings.lanes
  transport::Transport* transport = nullptr;  // null: embedded
  ObjectRemover* remover = nullptr;
  // Further roles of the app that shall run the same way (the file sweep). Started with the
  // reconciler.
  std::vector<Role> extra_roles;
};

// start() and shutdown() from one thread; hint() and the readers from any.
class Dispatch {
 public:
  Dispatch(Settings settings, RoleSwitches switches, Parts parts);
  ~Dispatch();  // ends the threads at once if shutdown() was not called: leases are left to the
                // reconciler
  Dispatch(const Dispatch&) = delete;
  Dispatch& operator=(const Dispatch&) = delete;

  // kInvalid for settings that cannot work, kUnavailable without threads. Declares streams when
  // `declare`.
  base::Status start(bool declare = false);
  // `hurry`: see Shutdown::run.
  void shutdown(const std::atomic<bool>* hurry = nullptr);

  // Wakes who may have something to do. The Dispatch registers itself with store.on_commit; call
  // this only for commands that became due by other ways.
  void hint(std::span<const store::CommandHint> hints);
  // After a cancel in this process: the running execution hears of it at once, not at the next
  // poll.
  void poll_soon();

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const Metrics& metrics() const { return metrics_; }
  // The roles that are switched on, for whoever runs the steps itself.
  [[nodiscard]] std::span<const Role> roles() const { return roles_; }
  // Null when the consumer is off.
  [[nodiscard]] Workbench* workbench() { return bench_.get(); }
  [[nodiscard]] Reconciler* reconciler() { return reconciler_.get(); }
  [[nodiscard]] ExecutionMap& executions() { return map_; }
  // {"export":4}, as others read it.
  [[nodiscard]] std::string workers_json() const;

 private:
  struct Listener;
  void make_consumer();
  void make_publisher();
  void make_repairs();
  void stop_loops();
  template <class T>
  void add_role(std::string name, T& role);

  const Settings settings_;
  const RoleSwitches switches_;
  Parts parts_;
  Metrics metrics_;
  ExecutionMap map_;
  // In order of construction; destroyed in reverse.
  std::unique_ptr<Presence> presence_;
  std::unique_ptr<Watchdog> watchdog_;
  std::unique_ptr<Workbench> bench_;
  std::unique_ptr<Finisher> finisher_;
  std::unique_ptr<Consumer> consumer_;
  std::vector<std::unique_ptr<DeliveryFeed>> feeds_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<DeadLetterRole> dead_letter_;
  std::unique_ptr<Reconciler> reconciler_;
  std::unique_ptr<Retention> retention_;
  std::vector<Role> roles_;
  std::vector<std::unique_ptr<Loop>> loops_;
  const std::shared_ptr<Listener> listener_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_DISPATCH_H_
