// The broker seam: pull, and settle in sets. The payload is opaque bytes; a transport never learns
// what a task is.
//
// Promise to callers: at least once. A message may arrive twice, late, or never; what matters is in
// the database.

#ifndef WAYBILL_TRANSPORT_TRANSPORT_H_
#define WAYBILL_TRANSPORT_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace waybill::transport {

inline constexpr std::size_t kMaxPayloadBytes = 64u << 10;  // larger messages are refused by send()

// One (lane, level), or the stream of dead letters.
struct Stream {
  std::string lane;
  int level = 2;  // 0..3
  friend auto operator<=>(const Stream&, const Stream&) = default;
};

struct Message {
  Stream stream;
  std::string key;  // for people who search the broker; the task id
  std::string tag;
  std::map<std::string, std::string> properties;  // eventId, taskId, dispatchVersion, schemaVersion
  std::string payload;
};

using Token = std::uint64_t;  // names one delivery of one transport until it is settled

struct Delivery {
  Token token = 0;
  Message message;
  std::string broker_message_id;
  int redeliveries = 0;
};

enum class Settle : std::uint8_t {
  kAck,
  kReject,  // poison only: after two redeliveries it becomes a dead letter
};

struct SendOutcome {
  bool confirmed = false;
  std::string error;  // !confirmed
};

struct Health {
  bool ok = true;
  std::string problem;
};

// Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  // Makes topics, queues, groups. Idempotent.
  virtual base::Status declare(std::span<const Stream> streams) = 0;
  // Pipelined; returns one outcome per message, at the latest at `deadline_ms` (boot clock). What
  // has no confirmation by then is not confirmed.
  virtual std::vector<SendOutcome> send(std::span<const Message> messages,
                                        base::Millis deadline_ms) = 0;
  // At most `credit` deliveries; waits up to `wait_ms` for the first (0: takes what is there).
  // Empty while the stream is on hold. kInvalid for a stream that was not declared.
  virtual base::Result<std::vector<Delivery>> receive(const Stream& stream, std::size_t credit,
                                                      base::Millis wait_ms) = 0;
  // Tokens that are settled already, or of a connection that is gone, are ignored.
  virtual base::Status settle(std::span<const Token> tokens, Settle how) = 0;
  // No answer is a legal state: while the database is away deliveries are held and the stream stops
  // pulling.
  virtual void hold(const Stream& stream) = 0;
  virtual void resume(const Stream& stream) = 0;
  // Like receive(), for dead letters of every stream. Settle them with kAck.
  virtual base::Result<std::vector<Delivery>> dead_letters(std::size_t credit,
                                                           base::Millis wait_ms) = 0;
  // Called, from any thread, when a delivery may wait where receive() last found none; may be
  // spurious. Quick; must not call the transport. Listeners that come too late or never cost
  // latency (callers look again every second), no more. Register before the first receive(). A
  // driver that cannot tell does nothing.
  virtual void on_delivery(std::function<void()> listener) { static_cast<void>(listener); }
  [[nodiscard]] virtual Health health() = 0;
  // Stops pulling and gives unsettled messages back. Running executions belong to dispatch.
  virtual void close() = 0;
};

}  // namespace waybill::transport

#endif  // WAYBILL_TRANSPORT_TRANSPORT_H_
