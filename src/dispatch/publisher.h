// Sends due commands to the broker, in the order of core::plan_picks, and keeps only a small window
// of them there. Sending never gives up (I10); the broker's answer is recorded, not believed beyond
// that.

#ifndef WAYBILL_DISPATCH_PUBLISHER_H_
#define WAYBILL_DISPATCH_PUBLISHER_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/wake.h"
#include "core/order.h"
#include "dispatch/loop.h"
#include "dispatch/settings.h"
#include "store/store.h"
#include "transport/transport.h"

namespace waybill::dispatch {

// step() from one thread at a time.
class Publisher {
 public:
  Publisher(const Settings& settings, store::Store& store, transport::Transport& transport,
            const base::Clock& clock, Metrics& metrics);

  // One pass: at most one batch per lane. again = a batch was full.
  base::Result<Next> step();
  base::Wake& wake() { return wake_; }

 private:
  struct Unsettled {
    std::vector<store::SettleCommand> items;
    Millis lease_ends = 0;  // boot clock; afterwards the reconciler releases the commands
  };
  // Free places of the window per (lane, level); a missing key means none.
  using Room = std::map<std::pair<std::string, core::Level>, std::int64_t>;

  base::Status settle_rest();
  base::Status settle(std::vector<store::SettleCommand> items, Millis lease_ends);
  base::Status refresh_instances(Millis now);
  base::Result<Room> room();
  struct Pass {
    std::size_t leased = 0;
    bool more = false;     // a batch was full: there is more at once
    bool crowded = false;  // commands wait, but the window is full
  };
  base::Status publish_lane(const std::string& lane, const std::vector<core::Head>& heads,
                            const Room& room, Pass& pass);
  base::Status send(const std::vector<store::Command>& commands, Millis leased_at);

  const Settings& settings_;
  store::Store& store_;
  transport::Transport& transport_;
  const base::Clock& clock_;
  Metrics& metrics_;
  std::map<std::string, core::OrderState, std::less<>> order_;
  std::map<std::string, std::int64_t, std::less<>> live_workers_;  // per lane, over live instances
  std::int32_t schema_version_ = 0;
  std::optional<Millis> instances_at_;
  std::vector<Unsettled> unsettled_;
  Backoff crowded_;  // how soon a full window is looked at again
  base::Wake wake_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_PUBLISHER_H_
