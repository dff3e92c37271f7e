// Deletes what is old enough: sent commands, idempotency keys, ended tasks. In small batches, at
// most half of the time.

#ifndef WAYBILL_DISPATCH_RETENTION_H_
#define WAYBILL_DISPATCH_RETENTION_H_

#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "base/wake.h"
#include "dispatch/loop.h"
#include "dispatch/settings.h"
#include "store/store.h"

namespace waybill::dispatch {

// step() from one thread at a time.
class Retention {
 public:
  Retention(const Settings& settings, store::RepairStore& store, const base::Clock& clock,
            Metrics& metrics);
  // One batch; then waits at least as long as it took.
  base::Result<Next> step();
  base::Wake& wake() { return wake_; }

 private:
  const Settings& settings_;
  store::RepairStore& store_;
  const base::Clock& clock_;
  Metrics& metrics_;
  int kind_ = 0;  // which of the three is next
  base::Wake wake_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_RETENTION_H_
