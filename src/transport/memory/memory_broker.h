// A broker in memory, for tests and the simulator: it keeps the promise of the transport seam (at
// least once, perhaps late, perhaps never) as badly as it is told to. No threads; time is the
// injected clock's; all chance comes from the injected generator, so one seed is one story.

#ifndef WAYBILL_TRANSPORT_MEMORY_MEMORY_BROKER_H_
#define WAYBILL_TRANSPORT_MEMORY_MEMORY_BROKER_H_

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "transport/transport.h"

namespace waybill::transport {

// Probabilities per message, 0..1.
struct MemoryFaults {
  double refuse = 0;        // neither kept nor confirmed
  double lose = 0;          // confirmed, and gone
  double drop_confirm = 0;  // kept, and not confirmed
  double repeat = 0;        // kept twice
  double reorder = 0;       // put at a random place among the waiting ones
  double delay = 0;         // not before up to max_delay_ms have passed
  base::Millis max_delay_ms = 60'000;
  double poison = 0;  // the body is damaged, the properties stay
};

// Thread-safe. Outlives its connections.
class MemoryBroker {
 public:
  MemoryBroker(const base::Clock& clock, base::Random& random);
  ~MemoryBroker();
  MemoryBroker(const MemoryBroker&) = delete;
  MemoryBroker& operator=(const MemoryBroker&) = delete;

  // As one process sees the broker. receive() never waits: time does not pass by waiting here.
  std::unique_ptr<Transport> connect();

  void set_faults(const MemoryFaults& faults);
  // Away: sends are refused, receiving and settling is kUnavailable. What it keeps survives.
  void set_down(bool down);
  // Everybody's connection breaks: unsettled deliveries go back to the front of their streams.
  void break_connections();
  // A restart without its disk: streams stay declared, every message and dead letter is gone.
  void restart_empty();
  // A message as anybody with access to the broker could write it. No faults apply.
  void inject(const Message& message);

  [[nodiscard]] std::size_t waiting(const Stream& stream) const;
  [[nodiscard]] std::size_t waiting() const;  // over all streams
  [[nodiscard]] std::size_t unsettled() const;
  [[nodiscard]] std::size_t dead() const;
  [[nodiscard]] std::int64_t redelivered() const;  // deliveries beyond a message's first

 private:
  class Connection;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace waybill::transport

#endif  // WAYBILL_TRANSPORT_MEMORY_MEMORY_BROKER_H_
