#include "base/error.h"

namespace waybill::base {

std::string_view to_string(ErrorCategory category) {
  switch (category) {
    case ErrorCategory::kInvalid:
      return "invalid";
    case ErrorCategory::kNotFound:
      return "not_found";
    case ErrorCategory::kDenied:
      return "denied";
    case ErrorCategory::kConflict:
      return "conflict";
    case ErrorCategory::kLimit:
      return "limit";
    case ErrorCategory::kUnavailable:
      return "unavailable";
    case ErrorCategory::kTimeout:
      return "timeout";
    case ErrorCategory::kOutcomeUnknown:
      return "outcome_unknown";
    case ErrorCategory::kCancelled:
      return "cancelled";
    case ErrorCategory::kInternal:
      return "internal";
  }
  return "internal";
}

bool is_transient(ErrorCategory category) {
  return category == ErrorCategory::kUnavailable || category == ErrorCategory::kTimeout ||
         category == ErrorCategory::kOutcomeUnknown;
}

Error Error::with_context(std::string_view context) const {
  Error copy = *this;
  copy.message = std::string(context) + ": " + message;
  return copy;
}

namespace {
Error make(ErrorCategory category, std::string message) {
  Error error;
  error.category = category;
  error.message = std::move(message);
  return error;
}
}  // namespace

Error invalid(std::string field, std::string message) {
  Error error = make(ErrorCategory::kInvalid, std::move(message));
  error.field = std::move(field);
  return error;
}
Error not_found(std::string message) { return make(ErrorCategory::kNotFound, std::move(message)); }
Error denied(std::string message) { return make(ErrorCategory::kDenied, std::move(message)); }
Error conflict(std::string code, std::string message) {
  Error error = make(ErrorCategory::kConflict, std::move(message));
  error.code = std::move(code);
  return error;
}
Error over_limit(std::string field, std::int64_t limit, std::string unit, std::int64_t actual,
                 std::string message) {
  Error error = make(ErrorCategory::kLimit, std::move(message));
  error.field = std::move(field);
  error.limit = std::to_string(limit);
  error.unit = std::move(unit);
  error.actual = std::to_string(actual);
  return error;
}
Error unavailable(std::string message) {
  return make(ErrorCategory::kUnavailable, std::move(message));
}
Error timed_out(std::string message) { return make(ErrorCategory::kTimeout, std::move(message)); }
Error outcome_unknown(std::string message) {
  return make(ErrorCategory::kOutcomeUnknown, std::move(message));
}
Error cancelled(std::string message) { return make(ErrorCategory::kCancelled, std::move(message)); }
Error internal(std::string message) { return make(ErrorCategory::kInternal, std::move(message)); }

}  // namespace waybill::base
