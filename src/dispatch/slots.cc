#include "dispatch/slots.h"

#include <utility>

#include "base/check.h"

namespace waybill::dispatch {

Slots::Slots(std::span<const LaneSettings> lanes) {
  lanes_.reserve(lanes.size());
  for (const auto& lane : lanes) {
    const FreeSlots all{.shared = lane.workers, .reserved = core::reserved_p0_slots(lane.workers)};
    lanes_.push_back({.name = lane.name, .all = all, .free = all});
  }
}

std::optional<std::size_t> Slots::find(std::string_view lane) const {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].name == lane) return i;
  }
  return std::nullopt;
}

FreeSlots Slots::free(std::size_t lane) const {
  const std::lock_guard lock(mutex_);
  return lanes_[lane].free;
}

int Slots::used(std::size_t lane) const {
  const std::lock_guard lock(mutex_);
  return lanes_[lane].all.total() - lanes_[lane].free.total();
}

FreeSlots Slots::take_all(std::size_t lane) {
  const std::lock_guard lock(mutex_);
  return std::exchange(lanes_[lane].free, FreeSlots{});
}

void Slots::give_back(std::size_t lane, FreeSlots slots) {
  const std::lock_guard lock(mutex_);
  Lane& l = lanes_[lane];
  l.free.shared += slots.shared;
  l.free.reserved += slots.reserved;
  WAYBILL_CHECK(l.free.shared <= l.all.shared && l.free.reserved <= l.all.reserved,
                "a slot came back twice");
}

std::optional<Slot> Slots::take(std::size_t lane, core::Level level) {
  const std::lock_guard lock(mutex_);
  FreeSlots& free = lanes_[lane].free;
  const auto index = static_cast<std::uint32_t>(lane);
  if (level == 0 && free.reserved > 0) {
    --free.reserved;
    return Slot{.lane = index, .reserved = true};
  }
  if (free.shared == 0) return std::nullopt;
  --free.shared;
  return Slot{.lane = index, .reserved = false};
}

void Slots::give_back(Slot slot) {
  give_back(slot.lane, slot.reserved ? FreeSlots{.shared = 0, .reserved = 1}
                                     : FreeSlots{.shared = 1, .reserved = 0});
}

}  // namespace waybill::dispatch
