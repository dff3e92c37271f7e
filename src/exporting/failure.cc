#include "exporting/failure.h"

#include <utility>

#include "base/text.h"

namespace waybill::exporting {

Failure permanent(core::FailureClass failure_class, std::string message) {
  return {Failure::Kind::kPermanent, failure_class, std::move(message), std::nullopt};
}

Failure transient(core::FailureClass failure_class, std::string message) {
  return {Failure::Kind::kTransient, failure_class, std::move(message), std::nullopt};
}

Failure stopped() { return {Failure::Kind::kStopped, core::FailureClass::kNone, {}, {}}; }
Failure fenced() { return {Failure::Kind::kFenced, core::FailureClass::kNone, {}, {}}; }
Failure released() { return {Failure::Kind::kReleased, core::FailureClass::kNone, {}, {}}; }

Failure postponed(std::string message, base::Millis delay_ms) {
  return {Failure::Kind::kReleased, core::FailureClass::kSystem, std::move(message), delay_ms};
}

Failure failure_of(const base::Error& error, std::string_view doing) {
  std::string message = "A problem while " + std::string(doing) + ": ";
  message += base::printable(error.message, 500) + ".";
  switch (error.category) {
    case base::ErrorCategory::kCancelled:
      return stopped();
    case base::ErrorCategory::kLimit:
      return permanent(core::FailureClass::kLimit, std::move(message));
    case base::ErrorCategory::kInvalid:
      return permanent(core::FailureClass::kValidation, std::move(message));
    case base::ErrorCategory::kTimeout:
      return transient(core::FailureClass::kTimeout, std::move(message));
    case base::ErrorCategory::kNotFound:
    case base::ErrorCategory::kDenied:
    case base::ErrorCategory::kConflict:
    case base::ErrorCategory::kUnavailable:
    case base::ErrorCategory::kOutcomeUnknown:
    case base::ErrorCategory::kInternal:
      break;
  }
  return transient(core::FailureClass::kSystem, std::move(message));
}

}  // namespace waybill::exporting
