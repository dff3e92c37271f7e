// What stands between a process and the world around it: executors and the transport, each watched.

#ifndef WAYBILL_TESTS_SIM_ACTORS_H_
#define WAYBILL_TESTS_SIM_ACTORS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/executor.h"
#include "transport/transport.h"

namespace waybill::sim {

class World;
class Process;

// Tells the rules about every start.
class WatchedExecutor final : public dispatch::Executor {
 public:
  WatchedExecutor(World& world, Process& process, dispatch::Executor& inner)
      : world_(world), process_(process), inner_(inner) {}
  [[nodiscard]] bool knows(std::string_view type) const override { return inner_.knows(type); }
  [[nodiscard]] std::vector<std::string> known_types() const override {
    return inner_.known_types();
  }
  void start(store::ClaimedTask task, std::shared_ptr<const dispatch::StopFlag> stop,
             std::function<void(dispatch::Outcome)> done) override;

 private:
  World& world_;
  Process& process_;
  dispatch::Executor& inner_;
};

// Items of jobs: each takes a while, and ends in one of the ways that an action endpoint has.
class ActionExecutor final : public dispatch::Executor {
 public:
  ActionExecutor(World& world, Process& process) : world_(world), process_(process) {}
  [[nodiscard]] bool knows(std::string_view type) const override;
  [[nodiscard]] std::vector<std::string> known_types() const override;
  void start(store::ClaimedTask task, std::shared_ptr<const dispatch::StopFlag> stop,
             std::function<void(dispatch::Outcome)> done) override;

 private:
  dispatch::Outcome execute(const store::ClaimedTask& task, const dispatch::StopFlag& stop);
  World& world_;
  Process& process_;
};

// Knows which deliveries are in the process's hands.
class WatchedTransport final : public transport::Transport {
 public:
  WatchedTransport(World& world, Process& process, std::unique_ptr<transport::Transport> inner)
      : world_(world), process_(process), inner_(std::move(inner)) {}
  base::Status declare(std::span<const transport::Stream> streams) override;
  std::vector<transport::SendOutcome> send(std::span<const transport::Message> messages,
                                           base::Millis deadline_ms) override;
  base::Result<std::vector<transport::Delivery>> receive(const transport::Stream& stream,
                                                         std::size_t credit,
                                                         base::Millis wait_ms) override;
  base::Status settle(std::span<const transport::Token> tokens, transport::Settle how) override;
  void hold(const transport::Stream& stream) override { inner_->hold(stream); }
  void resume(const transport::Stream& stream) override { inner_->resume(stream); }
  base::Result<std::vector<transport::Delivery>> dead_letters(std::size_t credit,
                                                              base::Millis wait_ms) override;
  void on_delivery(std::function<void()> listener) override {
    inner_->on_delivery(std::move(listener));
  }
  [[nodiscard]] transport::Health health() override { return inner_->health(); }
  void close() override { inner_->close(); }

  [[nodiscard]] int unanswered(const core::Execution& execution) const;

 private:
  World& world_;
  Process& process_;
  std::unique_ptr<transport::Transport> inner_;
  std::map<transport::Token, core::Execution> held_;
};

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_ACTORS_H_
