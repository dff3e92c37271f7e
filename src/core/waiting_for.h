// "Why is it waiting?": turns facts about an unfinished task into one answer for its user. Derived,
// never stored.

#ifndef WAYBILL_CORE_WAITING_FOR_H_
#define WAYBILL_CORE_WAITING_FOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/time_zone.h"
#include "core/task.h"

namespace waybill::core {

// DO NOT CHANGE the words: clients compare them.
enum class WaitCode : std::uint8_t {
  kQueued,       // behind other commands of its lane, or about to start
  kBackoff,      // until its next attempt
  kSerialKey,    // another task holds its key
  kLease,        // running; or its instance was lost and the lease has to run out
  kNotSent,      // its command could not be handed to the broker yet
  kLanePaused,   // somebody paused the lane
  kUnknownType,  // no instance knows the type at present
  kServiceDown,  // the business service is away
};
std::string_view to_string(WaitCode code);  // "QUEUED", ...

struct WaitFacts {
  TaskStatus status = TaskStatus::kPending;
  base::Millis now = 0;  // the database's
  base::Millis due_at = 0;
  bool unknown_type = false;
  bool lane_paused = false;
  bool service_down = false;
  bool has_command = false;
  CommandStatus command_status = CommandStatus::kPending;
  std::int32_t command_fail_count = 0;  // failed sends in a row
  std::optional<base::Millis> command_next_send_at;
  std::int64_t ahead = 0;  // commands before it, counted up to ahead_shown
  std::int64_t ahead_shown = 1'000;
  std::optional<TaskId> key_holder;
  std::string lease_owner;
  std::optional<base::Millis> lease_until;
};

struct WaitingFor {
  WaitCode code = WaitCode::kQueued;
  std::string message_zh, message_en;  // one sentence, times in `zone`
  std::optional<base::Millis> until;   // when it ends by itself, where that is known
  std::optional<std::int64_t> ahead;   // kQueued; equal to ahead_shown = "that many or more"
};

// nullopt for a task that has ended. Where several reasons hold, the one that has to go first is
// named: unknown type, paused lane, back-off, unsent command, service away, queue.
std::optional<WaitingFor> waiting_for(const WaitFacts& facts, const base::TimeZone& zone);

}  // namespace waybill::core

#endif  // WAYBILL_CORE_WAITING_FOR_H_
