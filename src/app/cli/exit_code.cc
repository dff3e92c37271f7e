#include "app/cli/exit_code.h"

namespace waybill::app::cli {

ExitCode exit_code_of(const base::Error& error) {
  switch (error.category) {
    case base::ErrorCategory::kInvalid:
      return kInvalidInput;
    case base::ErrorCategory::kNotFound:
      return kNotFound;
    case base::ErrorCategory::kDenied:
      return kNotAllowed;
    case base::ErrorCategory::kConflict:
    case base::ErrorCategory::kLimit:
      return kLimitOrConflict;
    case base::ErrorCategory::kUnavailable:
    case base::ErrorCategory::kTimeout:
    case base::ErrorCategory::kOutcomeUnknown:
      return kUnreachable;
    case base::ErrorCategory::kCancelled:
      return kInterrupted;
    case base::ErrorCategory::kInternal:
      return kInternal;
  }
  return kInternal;
}

ExitCode exit_code_of_answer(int http_status, long number) {
  // The envelope's number begins with the HTTP status that it stands for.
  const long status = number >= 10'000 ? number / 100 : http_status;
  switch (status) {
    case 401:
    case 403:
      return kNotAllowed;
    case 404:
      return kNotFound;
    case 410:
      return kTaskExpired;
    case 409:
    case 429:
      return kLimitOrConflict;
    case 502:
    case 503:
    case 504:
      return kUnreachable;
    default:
      return status >= 400 && status < 500 ? kInvalidInput : kInternal;
  }
}

}  // namespace waybill::app::cli
