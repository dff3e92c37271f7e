// How one execution fails: what the task does next, and the sentence its user reads.

#ifndef WAYBILL_EXPORTING_FAILURE_H_
#define WAYBILL_EXPORTING_FAILURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "core/task.h"

namespace waybill::exporting {

struct Failure {
  enum class Kind : std::uint8_t {
    kPermanent,  // the same input fails again: FAILED at once
    kTransient,  // the task is tried again while it has attempts
    kStopped,    // the stop flag or the deadline says why
    kFenced,     // the task belongs to somebody else now: write nothing
    kReleased,   // never begun: back to the queue, perhaps for later; the attempt is not counted
  };
  Kind kind = Kind::kTransient;
  core::FailureClass failure_class = core::FailureClass::kSystem;
  std::string message;  // one printable sentence, ends with a full stop
  std::optional<base::Millis> retry_after_ms;
};

Failure permanent(core::FailureClass failure_class, std::string message);
Failure transient(core::FailureClass failure_class, std::string message);
Failure stopped();
Failure fenced();
Failure released();
// The same with a reason for its user, and not due before `delay_ms`.
Failure postponed(std::string message, base::Millis delay_ms);

// An error of database, storage or writer while `doing` ("writing the file"): limits and broken
// input are permanent, kCancelled is a stop, everything else may work next time.
Failure failure_of(const base::Error& error, std::string_view doing);

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_FAILURE_H_
