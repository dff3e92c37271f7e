// The only role that makes up for what was lost (I9): commands that vanished, leases that expired,
// sends that stopped half-way, keys whose holder ended. Every branch is conditional and may run in
// several processes at once. Files are swept elsewhere (branch 4).

#ifndef WAYBILL_DISPATCH_RECONCILER_H_
#define WAYBILL_DISPATCH_RECONCILER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/wake.h"
#include "dispatch/loop.h"
#include "dispatch/settings.h"
#include "store/store.h"

namespace waybill::dispatch {

// Removes half-written objects of lost executions. Thread-safe.
class ObjectRemover {
 public:
  virtual ~ObjectRemover() = default;
  // True: gone. False: not this process's storage; the orphan scan of its owner finds it. An error
  // is counted and left to the orphan scan too.
  virtual base::Result<bool> remove(std::string_view storage_id, std::string_view key) = 0;
};

// step() from one thread at a time.
class Reconciler {
 public:
  // `remover` may be null: then the orphan scan does it all.
  Reconciler(const Settings& settings, store::RepairStore& store, ObjectRemover* remover,
             const base::Clock& clock, Metrics& metrics);

  // One page of one branch; again until the pass is over, then after the period.
  base::Result<Next> step();
  // Before the roles of the only serving process of a file database start: every RUNNING task is
  // recovered, whatever its lease says.
  base::Status recover_all_running();
  base::Wake& wake() { return wake_; }

 private:
  enum class Branch : std::uint8_t { kBegin, kMissing, kStale, kLeases, kStuck, kSlots };
  base::Result<bool> run_page();  // true: this branch has more
  base::Result<bool> recover_leases();
  void next_branch();
  void note_recovered(std::span<const store::Recovered> recovered);
  static bool walked(const store::Walked& page, store::Walk& walk);

  const Settings& settings_;
  store::RepairStore& store_;
  ObjectRemover* remover_;
  const base::Clock& clock_;
  Metrics& metrics_;
  Branch branch_ = Branch::kBegin;
  store::Walk walk_;
  bool grace_ = false;
  Millis pass_started_ = 0;
  std::optional<base::Error>
      first_error_;  // of this pass: one failing branch does not stop the others
  base::Wake wake_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_RECONCILER_H_
