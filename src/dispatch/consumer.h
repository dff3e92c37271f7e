// The consumer's own feed: the outbox. Without a broker it is the only one; with a broker an idle
// worker sweeps what the broker lost or holds for somebody busy. It also commits what ended
// (finisher) and passes cancel flags on.

#ifndef WAYBILL_DISPATCH_CONSUMER_H_
#define WAYBILL_DISPATCH_CONSUMER_H_

#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/wake.h"
#include "core/order.h"
#include "dispatch/finisher.h"
#include "dispatch/loop.h"
#include "dispatch/workbench.h"
#include "store/store.h"

namespace waybill::dispatch {

// step() from one thread at a time; the rest is thread-safe.
class Consumer {
 public:
  enum class Feed : std::uint8_t {
    kOutbox,  // embedded: claim PENDING commands as they come
    kSweep,   // beside a broker: only what an idle worker finds (sweep_after_ms = 0: nothing)
  };
  Consumer(const Settings& settings, Feed feed, store::WorkStore& store, Workbench& bench,
           Finisher& finisher, const base::Clock& clock, Metrics& metrics);

  // Finish a batch, poll when due, claim for free slots. again = there may be more at once.
  base::Result<Next> step();

  // Commands appeared in this process (store.on_commit): claimed without asking the database first.
  void hint(std::span<const store::CommandHint> hints);
  // A task of this process was cancelled, or anything else that makes a poll worth while now.
  void poll_soon();
  [[nodiscard]] bool paused(std::string_view lane) const;
  base::Wake& wake() { return wake_; }

 private:
  struct Lane {
    core::OrderState order;
    std::vector<core::Head> heads;       // PENDING, as polled or hinted
    std::vector<core::Head> sent_heads;  // SENT, as polled (kSweep only)
    std::int64_t started = 0;            // Workbench::started when the lane was last looked at
    std::optional<Millis>
        idle_since;  // boot clock; a free slot and nothing started since (kSweep only)
  };
  using Hint = std::tuple<std::string, core::Level, std::string>;  // lane, level, tenant

  void take_hints();
  base::Status poll(Millis now);
  void take_heads(const store::PollReport& report);
  [[nodiscard]] Millis poll_due_in(Millis now) const;
  [[nodiscard]] bool wants_heads() const;
  // How many were claimed.
  base::Result<std::size_t> claim_lanes(Millis now);
  base::Result<std::size_t> claim(std::size_t lane, std::vector<core::Head>& heads, bool sent);
  void start_claimed(std::size_t lane, std::vector<store::ClaimedTask> tasks, FreeSlots& grant,
                     Millis request_started);
  [[nodiscard]] bool may_sweep(std::size_t lane, Millis now);

  const Settings& settings_;
  const Feed feed_;
  store::WorkStore& store_;
  Workbench& bench_;
  Finisher& finisher_;
  const base::Clock& clock_;
  Metrics& metrics_;

  std::vector<Lane> lanes_;
  bool polled_ = false;  // at least once: before, nothing is known about paused lanes
  Millis last_poll_ = 0;
  Millis poll_interval_;
  std::optional<Millis> next_due_;  // boot clock: the nearest command that is not due yet

  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> paused_;  // guarded by mutex_
  std::set<Hint, std::less<>> hints_;          // guarded by mutex_
  bool poll_soon_ = false;                     // guarded by mutex_
  base::Wake wake_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_CONSUMER_H_
