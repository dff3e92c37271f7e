// The one error type of the project: a closed set of categories, a sentence for a person, and, for
// input that breaks a rule, which field broke which limit.
//
// Portable code asks for the category, never for a vendor's code; drivers translate at their own
// edge.

#ifndef WAYBILL_BASE_ERROR_H_
#define WAYBILL_BASE_ERROR_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace waybill::base {

// What kind of thing went wrong. Closed: adding one means deciding its retry and its HTTP answer.
enum class ErrorCategory : std::uint8_t {
  kInvalid,      // the input breaks a rule; the same input will break it again
  kNotFound,     // no such thing, or not visible to this caller (the two are indistinguishable on
                 // purpose)
  kDenied,       // the caller may not do this
  kConflict,     // the present state or an earlier request forbids it
  kLimit,        // a named limit is exceeded; `field`, `limit` and `unit` say which
  kUnavailable,  // the other side is away or busy; the same call may work later and had no effect
  kTimeout,      // no answer in time; treated like kUnavailable where the call has no effect
  kOutcomeUnknown,  // a commit was sent and its answer lost: it may or may not have happened
  kCancelled,       // stopped on request (abort flag, shutdown, lost lease)
  kInternal,        // a bug or a broken environment; a person has to look
};

// "invalid", "not_found", ... for logs and metrics.
std::string_view to_string(ErrorCategory category);

// True where repeating the same call later can succeed without anybody changing anything.
bool is_transient(ErrorCategory category);

// A value; copying is cheap enough for error paths.
struct Error {
  ErrorCategory category = ErrorCategory::kInternal;
  std::string message;  // one sentence for a person, no secrets, no row contents

  // For kInvalid, kLimit and kConflict, where they apply. Empty otherwise.
  std::string code;    // a stable word such as "EXPORT_USER_LIMIT"
  std::string field;   // path of the offending field, such as "parameters.status"
  std::string limit;   // the limit in force, as text
  std::string unit;    // the limit's unit: "characters", "bytes", "rows", "tasks"
  std::string actual;  // what was given, as text

  // The same error with "context: " put in front of its message.
  [[nodiscard]] Error with_context(std::string_view context) const;
};

// Short makers, so that call sites read as sentences.
Error invalid(std::string field, std::string message);
Error not_found(std::string message);
Error denied(std::string message);
Error conflict(std::string code, std::string message);
Error over_limit(std::string field, std::int64_t limit, std::string unit, std::int64_t actual,
                 std::string message);
Error unavailable(std::string message);
Error timed_out(std::string message);
Error outcome_unknown(std::string message);
Error cancelled(std::string message);
Error internal(std::string message);

}  // namespace waybill::base

#endif  // WAYBILL_BASE_ERROR_H_
