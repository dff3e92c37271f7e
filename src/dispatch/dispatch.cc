#include "dispatch/dispatch.h"

#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "core/message.h"
#include "dispatch/workers_json.h"

namespace waybill::dispatch {

// What the listeners of store and transport hold: both may outlive the Dispatch and still call.
struct Dispatch::Listener {
  std::mutex mutex;
  Dispatch* target = nullptr;  // guarded by mutex
};

Dispatch::Dispatch(Settings settings, RoleSwitches switches, Parts parts)
    : settings_(std::move(settings)),
      switches_(switches),
      parts_(std::move(parts)),
      listener_(std::make_shared<Listener>()) {
  WAYBILL_CHECK(parts_.transport != nullptr || (!switches_.publisher && !switches_.dead_letter),
                "publisher and dead-letter role need a transport");
  parts_.instance.name = settings_.owner;
  parts_.instance.workers_json = workers_json();
  parts_.instance.schema_version = core::kMessageSchemaVersion;
  presence_ = std::make_unique<Presence>(parts_.instance, parts_.store);
  add_role("presence", *presence_);
  if (switches_.consumer) make_consumer();
  if (switches_.publisher) make_publisher();
  if (switches_.dead_letter) {
    dead_letter_ =
        std::make_unique<DeadLetterRole>(settings_, parts_.store, *parts_.transport, metrics_);
    add_role("dead-letter", *dead_letter_);
  }
  if (switches_.reconciler) make_repairs();

  listener_->target = this;
  parts_.store.on_commit([listener = listener_](std::span<const store::CommandHint> hints) {
    const std::lock_guard lock(listener->mutex);
    if (listener->target != nullptr) listener->target->hint(hints);
  });
}

Dispatch::~Dispatch() {
  {
    const std::lock_guard lock(listener_->mutex);
    listener_->target = nullptr;
  }
  stop_loops();
}

template <class T>
void Dispatch::add_role(std::string name, T& role) {
  roles_.push_back({.name = std::move(name),
                    .step = [&role] { return role.step(); },
                    .wake = &role.wake(),
                    .begun = nullptr,
                    .ended = nullptr});
}

void Dispatch::make_consumer() {
  // The watchdog's loop starts first and ends last: nothing may run unguarded.
  watchdog_ = std::make_unique<Watchdog>(settings_, parts_.store, map_, parts_.clock, metrics_);
  add_role("watchdog", *watchdog_);
  roles_.back().begun = [this] { watchdog_->begun(); };
  roles_.back().ended = [this] { watchdog_->ended(); };

  bench_ = std::make_unique<Workbench>(settings_.lanes, parts_.executors, map_, metrics_);
  finisher_ = std::make_unique<Finisher>(settings_, parts_.store, *bench_, parts_.clock, metrics_);
  const auto feed = parts_.transport == nullptr ? Consumer::Feed::kOutbox : Consumer::Feed::kSweep;
  consumer_ = std::make_unique<Consumer>(settings_, feed, parts_.store, *bench_, *finisher_,
                                         parts_.clock, metrics_);
  add_role("consumer", *consumer_);
  bench_->on_ended([wake = &consumer_->wake()] { wake->raise(); });
  bench_->on_free([wake = &consumer_->wake()] { wake->raise(); });
  if (parts_.transport == nullptr) return;

  for (std::size_t lane = 0; lane < settings_.lanes.size(); ++lane) {
    const std::string& name = settings_.lanes[lane].name;
    auto& delivery = feeds_.emplace_back(std::make_unique<DeliveryFeed>(
        settings_, lane, parts_.store, *parts_.transport, *bench_,
        [this, name] { return consumer_->paused(name); }, parts_.clock, metrics_));
    add_role("deliver-" + name, *delivery);
    bench_->on_free([wake = &delivery->wake()] { wake->raise(); });
  }
  parts_.transport->on_delivery([listener = listener_] {
    const std::lock_guard lock(listener->mutex);
    if (listener->target == nullptr) return;
    for (const auto& delivery : listener->target->feeds_) delivery->wake().raise();
  });
}

void Dispatch::make_publisher() {
  publisher_ = std::make_unique<Publisher>(settings_, parts_.store, *parts_.transport, parts_.clock,
                                           metrics_);
  add_role("publisher", *publisher_);
}

void Dispatch::make_repairs() {
  reconciler_ =
      std::make_unique<Reconciler>(settings_, parts_.store, parts_.remover, parts_.clock, metrics_);
  add_role("reconciler", *reconciler_);
  retention_ = std::make_unique<Retention>(settings_, parts_.store, parts_.clock, metrics_);
  add_role("retention", *retention_);
  for (const Role& role : parts_.extra_roles) roles_.push_back(role);
}

base::Status Dispatch::start(bool declare) {
  WAYBILL_TRY(check_settings(settings_));
  if (declare && parts_.transport != nullptr) {
    std::vector<transport::Stream> streams;
    for (const LaneSettings& lane : settings_.lanes) {
      for (core::Level level = 0; level < core::kLevels; ++level)
        streams.push_back({.lane = lane.name, .level = level});
    }
    WAYBILL_TRY(parts_.transport->declare(streams));
  }
  if (loops_.empty()) {
    for (const Role& role : roles_)
      loops_.push_back(std::make_unique<Loop>(role, parts_.spawner, metrics_));
  }
  for (const auto& loop : loops_) {
    const base::Status started = loop->start();
    if (started.ok()) continue;
    stop_loops();
    return started.error();
  }
  return {};
}

void Dispatch::shutdown(const std::atomic<bool>* hurry) {
  if (loops_.empty()) return;
  if (bench_ != nullptr) Shutdown(settings_, *bench_, parts_.clock).run(hurry);
  if (parts_.transport != nullptr) parts_.transport->close();
  stop_loops();
  presence_->leave();
}

// In reverse: the watchdog outlives what it guards.
void Dispatch::stop_loops() {
  for (auto it = loops_.rbegin(); it != loops_.rend(); ++it) (*it)->stop();
}

void Dispatch::hint(std::span<const store::CommandHint> hints) {
  if (publisher_ != nullptr) publisher_->wake().raise();
  if (consumer_ != nullptr) consumer_->hint(hints);
}

void Dispatch::poll_soon() {
  if (consumer_ != nullptr) consumer_->poll_soon();
}

std::string Dispatch::workers_json() const {
  return switches_.consumer ? format_workers(settings_.lanes) : "{}";
}

}  // namespace waybill::dispatch
