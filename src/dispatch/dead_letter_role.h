// Reads the broker's dead letters. Only the message's properties are believed: the body is what
// made it a dead letter. Every letter ends with an audit line; a database error is no end (there is
// no second-level dead-letter queue).

#ifndef WAYBILL_DISPATCH_DEAD_LETTER_ROLE_H_
#define WAYBILL_DISPATCH_DEAD_LETTER_ROLE_H_

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/wake.h"
#include "dispatch/loop.h"
#include "dispatch/settings.h"
#include "store/store.h"
#include "transport/transport.h"

namespace waybill::dispatch {

// step() from one thread at a time.
class DeadLetterRole {
 public:
  DeadLetterRole(const Settings& settings, store::CommandStore& store,
                 transport::Transport& transport, Metrics& metrics);
  base::Result<Next> step();
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  base::Wake& wake() { return wake_; }

 private:
  struct Letter {
    transport::Token token = 0;
    std::string broker_message_id;
    store::DeadLetter what;
  };
  void accept(const transport::Delivery& delivery, std::vector<transport::Token>& ack);
  static void audit(const Letter& letter, store::DeadLetterOutcome outcome);

  const Settings& settings_;
  store::CommandStore& store_;
  transport::Transport& transport_;
  Metrics& metrics_;
  std::vector<Letter> held_;
  Backoff backoff_;
  base::Wake wake_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_DEAD_LETTER_ROLE_H_
