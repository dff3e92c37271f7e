// This process's row in `instance`: what others know of it (alive, workers per lane, message schema
// it reads).

#ifndef WAYBILL_DISPATCH_PRESENCE_H_
#define WAYBILL_DISPATCH_PRESENCE_H_

#include "base/result.h"
#include "base/wake.h"
#include "dispatch/loop.h"
#include "store/store.h"

namespace waybill::dispatch {

inline constexpr Millis kPresencePeriodMs = 10'000;  // others believe a row for 60 s

// step() from one thread at a time.
class Presence {
 public:
  // `row.name` is the lease owner.
  Presence(store::InstanceRow row, store::AdminStore& store);
  // Registers, then renews. A row that somebody removed is registered again.
  base::Result<Next> step();
  // Best effort; the row is old after 60 s anyway.
  void leave();
  base::Wake& wake() { return wake_; }

 private:
  const store::InstanceRow row_;
  store::AdminStore& store_;
  bool registered_ = false;
  base::Wake wake_;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_PRESENCE_H_
