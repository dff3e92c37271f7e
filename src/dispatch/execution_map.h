// Everything this process executes or is about to execute, keyed by (task, version). A delivered
// command enters before its claim, so that a second copy of it finds the first (a claim whose
// answer was lost must not run twice). The watchdog renews what is here and raises the stop flags.

#ifndef WAYBILL_DISPATCH_EXECUTION_MAP_H_
#define WAYBILL_DISPATCH_EXECUTION_MAP_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/wake.h"
#include "core/task.h"
#include "dispatch/executor.h"

namespace waybill::dispatch {

using base::Millis;
using core::Execution;

struct ExecutionHash {
  std::size_t operator()(const Execution& e) const {
    return std::hash<std::uint64_t>{}(static_cast<std::uint64_t>(e.id) * 0x9E3779B97F4A7C15ULL +
                                      static_cast<std::uint64_t>(e.version));
  }
};

// Thread-safe; holds no lock while calling out.
class ExecutionMap {
 public:
  using Ticket = std::uint64_t;  // which claim an entry belongs to

  // Before the claim of a delivered command. Empty: it is here already, or was and ended without
  // an answer; acknowledge the delivery and forget it.
  std::optional<Ticket> enter(const Execution& execution);
  // The claim took nothing. Does nothing when another claim has adopted the entry.
  void leave(const Execution& execution, Ticket ticket);
  // The claim committed. `request_started` is when its statement was *sent*: the lease is at least
  // as long as from there. Null: another claim owns the entry by now; drop this one.
  std::shared_ptr<const StopFlag> confirm(const Execution& execution, Ticket ticket,
                                          Millis request_started);
  // For commands claimed from the outbox, which name themselves only in the claim's answer. Takes
  // over an entry whose own claim is still undecided.
  std::shared_ptr<const StopFlag> adopt(const Execution& execution, Millis request_started);

  // The executor reported its outcome. False: it is not running here (a second report is ignored).
  bool end(const Execution& execution);
  // The outcome is settled; frees the key.
  void remove(const Execution& execution);
  // It ended here, and the database may still say that it runs in this name. The key never enters
  // again (the last kAbandonedKept of them): a later delivery whose claim has no answer would take
  // what it reads for its own.
  void abandon(const Execution& execution);
  static constexpr std::size_t kAbandonedKept = 10'000;  // executions

  struct Entry {
    Execution execution;
    Millis proved_at = 0;  // boot clock at the start of the last request that proved the lease
    bool ending = false;   // its outcome waits to be committed; the lease is still needed
  };
  // What holds a lease: running or ending and not stopped as kLostLease, sorted by execution.
  [[nodiscard]] std::vector<Entry> leased() const;
  // Of any state.
  [[nodiscard]] bool contains(const Execution& execution) const;
  [[nodiscard]] std::optional<Millis> proved_at(const Execution& execution) const;
  [[nodiscard]] std::size_t size() const;

  void prove(const Execution& execution, Millis request_started);
  // True when the flag was raised by this call.
  bool request(const Execution& execution, StopReason reason);
  void request_all(StopReason reason);
  // The local stop rule (core::local_stop_at_ms): raises kLostLease where it is reached. Returns
  // how many were raised; `next_in` becomes the time until the next one would be.
  std::size_t stop_unproved(Millis now, Millis lease_ms, std::optional<Millis>* next_in);

  // Nothing runs unguarded: false from the end of the watchdog on; every entry is then stopped,
  // also later ones.
  [[nodiscard]] bool guarded() const;
  void set_guarded(bool guarded);

  // Raised whenever the last entry leaves.
  base::Wake& drained() { return drained_; }

 private:
  enum class State : std::uint8_t { kClaiming, kRunning, kEnding };
  struct Item {
    std::shared_ptr<StopFlag> flag;
    Ticket ticket = 0;
    Millis proved_at = 0;
    State state = State::kClaiming;
  };
  std::shared_ptr<const StopFlag> begin(Item& item, Millis request_started);

  mutable std::mutex mutex_;
  std::unordered_map<Execution, Item, ExecutionHash> items_;
  std::unordered_set<Execution, ExecutionHash> abandoned_;
  std::deque<Execution> abandoned_order_;  // the oldest first
  Ticket last_ticket_ = 0;
  bool guarded_ = true;
  base::Wake drained_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_EXECUTION_MAP_H_
