// Commits what executions ended with, in batches, and tells their `settled` hooks how it went.
//
// The database away: kept and tried again while the lease lasts. An unknown outcome: the same batch
// again, every element is conditional (09 section 2). A success after the deadline: finished again
// as overdue.

#ifndef WAYBILL_DISPATCH_FINISHER_H_
#define WAYBILL_DISPATCH_FINISHER_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/wake.h"
#include "dispatch/loop.h"
#include "dispatch/workbench.h"
#include "store/store.h"

namespace waybill::dispatch {

// Thread-safe; steps of several threads commit different batches. The consumer calls it inside its
// own step, so that finishing and claiming follow each other without waiting; a server database
// gains from a loop of its own beside it.
class Finisher {
 public:
  Finisher(const Settings& settings, store::WorkStore& store, Workbench& bench,
           const base::Clock& clock, Metrics& metrics);

  // Commits at most one batch. again = more waits.
  Next step();
  // Outcomes taken from the box but not settled.
  [[nodiscard]] std::size_t pending() const;
  base::Wake& wake() { return wake_; }

 private:
  struct Item {
    Ended ended;
    std::optional<store::FinishOutcome> answer;  // what `settled` hears instead of kCommitted
    bool unanswered = false;  // the last try had no answer: kept while the lease lasts
    bool replayed = false;    // an earlier try had an unknown outcome
    bool alone = false;       // its batch was refused as a whole: finish it by itself
    bool refused = false;     // it was refused alone too: it is now reported as a failure
  };
  std::vector<Item> take_batch(Millis now);
  void commit(std::vector<Item> batch);
  void settle_all(std::vector<Item> batch, const std::vector<store::FinishOutcome>& outcomes);
  void keep(std::vector<Item> batch, const base::Error& error);
  void give_up(const Item& item);
  void close(const Item& item, store::FinishOutcome answer);
  // Without an answer: nobody knows how it ended in the database. The reconciler decides, and the
  // orphan scan looks after the file.
  void leave(const Item& item);

  const Settings& settings_;
  store::WorkStore& store_;
  Workbench& bench_;
  const base::Clock& clock_;
  Metrics& metrics_;
  mutable std::mutex mutex_;
  std::deque<Item> kept_;      // to be tried (again); guarded by mutex_
  std::size_t in_flight_ = 0;  // guarded by mutex_
  Backoff backoff_;            // guarded by mutex_
  Millis not_before_ = 0;      // guarded by mutex_
  base::Wake wake_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_FINISHER_H_
