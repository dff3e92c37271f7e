#include "tests/sim/actors.h"

#include <algorithm>
#include <utility>

#include "core/message.h"
#include "tests/sim/process.h"
#include "tests/sim/rules.h"
#include "tests/sim/world.h"

namespace waybill::sim {
namespace {

constexpr Millis kMaxActionMs = 5'000;
constexpr Millis kMaxLongActionMs = 400'000;  // longer than a lease
constexpr double kActionsThatFail = 0.05;
constexpr double kActionsToRepeat = 0.1;

}  // namespace

void WatchedExecutor::start(store::ClaimedTask task, std::shared_ptr<const dispatch::StopFlag> stop,
                            std::function<void(dispatch::Outcome)> done) {
  if (process_.dead()) return;
  const bool unanswered = process_.unanswered(task.execution) > 0;
  world_.rules->started(process_, task.execution, unanswered);
  inner_.start(std::move(task), std::move(stop), std::move(done));
}

bool ActionExecutor::knows(std::string_view type) const {
  return process_.wish().action_types.contains(type);
}

std::vector<std::string> ActionExecutor::known_types() const {
  const auto& types = process_.wish().action_types;
  return {types.begin(), types.end()};
}

void ActionExecutor::start(store::ClaimedTask task, std::shared_ptr<const dispatch::StopFlag> stop,
                           std::function<void(dispatch::Outcome)> done) {
  world_.scheduler.spawn(process_.group(), [this, task = std::move(task), stop = std::move(stop),
                                            done = std::move(done)] {
    dispatch::Outcome outcome = execute(task, *stop);
    if (!process_.dead()) done(std::move(outcome));
  });
}

dispatch::Outcome ActionExecutor::execute(const store::ClaimedTask& task,
                                          const dispatch::StopFlag& stop) {
  Scheduler& scheduler = world_.scheduler;
  const bool is_long = world_.faulty && scheduler.chance(world_.faults.long_action);
  const Millis ends =
      scheduler.now() + scheduler.between(0, is_long ? kMaxLongActionMs : kMaxActionMs);
  while (scheduler.now() < ends && !stop.requested() && !process_.dead())
    scheduler.sleep(std::min<Millis>(ends - scheduler.now(), 1'000));
  dispatch::Outcome outcome;
  outcome.finish.failure_class = core::FailureClass::kBusiness;
  outcome.finish.failure_message = "as the dice fell";
  if (stop.reason() == dispatch::StopReason::kLostLease) {
    outcome.lost = true;
  } else if (stop.reason() == dispatch::StopReason::kOverdue) {
    outcome.finish.event = core::Event::kOverdue;
    outcome.finish.failure_class = core::FailureClass::kTimeout;
    outcome.finish.failure_message = core::overdue_message(task.max_duration_ms);
  } else if (stop.reason() == dispatch::StopReason::kCancelled) {
    outcome.finish.event = core::Event::kStopObserved;
  } else if (stop.requested()) {
    outcome.finish.event = core::Event::kRelease;
  } else if (world_.faulty && scheduler.chance(kActionsThatFail)) {
    outcome.finish.event = core::Event::kFail;
  } else if (world_.faulty && scheduler.chance(kActionsToRepeat)) {
    outcome.finish.event = core::Event::kRetryLater;
  } else {
    outcome.finish.event = core::Event::kSucceed;
  }
  return outcome;
}

base::Status WatchedTransport::declare(std::span<const transport::Stream> streams) {
  return inner_->declare(streams);
}

std::vector<transport::SendOutcome> WatchedTransport::send(
    std::span<const transport::Message> messages, base::Millis deadline_ms) {
  if (process_.dead()) return std::vector<transport::SendOutcome>(messages.size(), {false, "gone"});
  return inner_->send(messages, deadline_ms);
}

base::Result<std::vector<transport::Delivery>> WatchedTransport::receive(
    const transport::Stream& stream, std::size_t credit, base::Millis wait_ms) {
  if (process_.dead()) return base::unavailable("the process is gone");
  WAYBILL_ASSIGN(auto deliveries, inner_->receive(stream, credit, wait_ms));
  for (const transport::Delivery& delivery : deliveries) {
    const auto message = core::parse_message(delivery.message.payload, delivery.message.properties);
    if (!message.ok()) continue;
    held_[delivery.token] = message->execution;
    process_.delivered(message->execution);
  }
  return deliveries;
}

base::Status WatchedTransport::settle(std::span<const transport::Token> tokens,
                                      transport::Settle how) {
  if (process_.dead()) return base::unavailable("the process is gone");
  for (const transport::Token token : tokens) {
    const auto it = held_.find(token);
    if (it == held_.end()) continue;
    const core::Execution execution = it->second;
    held_.erase(it);
    if (how == transport::Settle::kAck)
      world_.rules->acknowledged(process_, execution, unanswered(execution) > 0);
  }
  return inner_->settle(tokens, how);
}

base::Result<std::vector<transport::Delivery>> WatchedTransport::dead_letters(
    std::size_t credit, base::Millis wait_ms) {
  if (process_.dead()) return base::unavailable("the process is gone");
  return inner_->dead_letters(credit, wait_ms);
}

int WatchedTransport::unanswered(const core::Execution& execution) const {
  return static_cast<int>(std::count_if(
      held_.begin(), held_.end(), [&](const auto& held) { return held.second == execution; }));
}

}  // namespace waybill::sim
