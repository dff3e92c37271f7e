#include "dispatch/presence.h"

#include <utility>

namespace waybill::dispatch {

Presence::Presence(store::InstanceRow row, store::AdminStore& store)
    : row_(std::move(row)), store_(store) {}

base::Result<Next> Presence::step() {
  if (registered_) {
    const base::Status renewed = store_.renew_instance(row_.name);
    if (renewed.ok()) return Next::after(kPresencePeriodMs);
    if (renewed.error().category != base::ErrorCategory::kNotFound) return renewed.error();
    registered_ = false;
  }
  WAYBILL_TRY(store_.register_instance(row_));
  registered_ = true;
  return Next::after(kPresencePeriodMs);
}

void Presence::leave() {
  if (!std::exchange(registered_, false)) return;
  static_cast<void>(store_.remove_instance(row_.name));
}

}  // namespace waybill::dispatch
