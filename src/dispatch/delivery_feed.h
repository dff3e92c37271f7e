// The consumer's other feed: commands delivered by a broker. One per lane; it serves the lane's
// four streams, P0 first, the others by weight. A delivery is a hint: the claim decides, and
// whatever it decides is acknowledged (I4, I5).

#ifndef WAYBILL_DISPATCH_DELIVERY_FEED_H_
#define WAYBILL_DISPATCH_DELIVERY_FEED_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/wake.h"
#include "core/order.h"
#include "dispatch/loop.h"
#include "dispatch/workbench.h"
#include "store/store.h"
#include "transport/transport.h"

namespace waybill::dispatch {

// step() from one thread at a time.
class DeliveryFeed {
 public:
  // `paused` says whether the lane is paused at the moment (Consumer::paused).
  DeliveryFeed(const Settings& settings, std::size_t lane, store::WorkStore& store,
               transport::Transport& transport, Workbench& bench, std::function<bool()> paused,
               const base::Clock& clock, Metrics& metrics);

  // Receives no more than there are free slots, claims, acknowledges, starts.
  base::Result<Next> step();
  // Deliveries without an answer: their claim failed (database away) and is tried again.
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  base::Wake& wake() { return wake_; }

 private:
  // One delivery that has a slot and an entry in the map, waiting for the answer of its claim.
  struct Held {
    core::Execution execution;
    transport::Token token = 0;
    Slot slot;
    ExecutionMap::Ticket ticket = 0;
    // Boot clock of the first claim whose outcome was lost: RUNNING in my name may be mine since
    // then.
    std::optional<Millis> unknown_since;
  };
  struct Answer {
    Held held;
    std::optional<store::ClaimedTask> claimed;
    store::NotClaimed reason = store::NotClaimed::kLostRace;
    Millis request_started = 0;
  };
  base::Result<std::size_t> receive_all();
  base::Result<std::size_t> receive(core::Level level, std::size_t credit);
  void accept_all(const std::vector<transport::Delivery>& deliveries);
  void accept(const transport::Delivery& delivery, std::vector<transport::Token>& ack,
              std::vector<transport::Token>& reject);
  base::Status claim_held();
  base::Status resolve(Answer& answer);
  void answer_all(std::vector<Answer> answers);
  Next after_claim(const base::Status& claim);
  void not_claimed(const core::Execution& execution, store::NotClaimed reason);
  void set_hold(bool hold);
  void settle(const std::vector<transport::Token>& tokens, transport::Settle how);
  void drop_held();

  const Settings& settings_;
  const std::size_t lane_;
  store::WorkStore& store_;
  transport::Transport& transport_;
  Workbench& bench_;
  const std::function<bool()> paused_;
  const base::Clock& clock_;
  Metrics& metrics_;
  core::OrderState order_;
  std::vector<Held> held_;
  std::vector<transport::Delivery> waiting_;  // parsed later: every slot was taken when they came
  Millis not_before_ = 0;                     // boot clock
  bool on_hold_ = false;
  Backoff backoff_;
  Backoff idle_;
  base::Wake wake_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_DELIVERY_FEED_H_
