// Places for running executions, per lane. A slot is not a thread. Nothing is claimed without one
// (B10).

#ifndef WAYBILL_DISPATCH_SLOTS_H_
#define WAYBILL_DISPATCH_SLOTS_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/task.h"
#include "dispatch/settings.h"

namespace waybill::dispatch {

struct Slot {
  std::uint32_t lane = 0;  // index into the lanes given at construction
  bool reserved = false;   // one of those that serve P0 alone
};

struct FreeSlots {
  int shared = 0;
  int reserved = 0;
  [[nodiscard]] int total() const { return shared + reserved; }
  [[nodiscard]] int for_level(core::Level level) const { return level == 0 ? total() : shared; }
};

// Thread-safe.
class Slots {
 public:
  explicit Slots(std::span<const LaneSettings> lanes);

  [[nodiscard]] std::size_t lanes() const { return lanes_.size(); }
  [[nodiscard]] const std::string& name(std::size_t lane) const { return lanes_[lane].name; }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view lane) const;

  [[nodiscard]] FreeSlots free(std::size_t lane) const;
  [[nodiscard]] int used(std::size_t lane) const;
  // Takes everything that is free; give back what is not needed.
  FreeSlots take_all(std::size_t lane);
  void give_back(std::size_t lane, FreeSlots slots);
  // One slot; P0 uses a reserved one first.
  std::optional<Slot> take(std::size_t lane, core::Level level);
  void give_back(Slot slot);

 private:
  struct Lane {
    std::string name;
    FreeSlots all, free;
  };
  mutable std::mutex mutex_;
  std::vector<Lane> lanes_;  // names and `all` never change
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_SLOTS_H_
