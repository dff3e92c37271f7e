// WAYBILL_CHECK(condition, "why"): programmer errors end the process, in release builds too. Never
// used on input, network, disk or database results: those are Errors.

#ifndef WAYBILL_BASE_CHECK_H_
#define WAYBILL_BASE_CHECK_H_

namespace waybill::base {
[[noreturn]] void check_failed(const char* condition, const char* why, const char* file, int line);
}  // namespace waybill::base

#define WAYBILL_CHECK(condition, why) \
  (__builtin_expect(!!(condition), 1) \
       ? static_cast<void>(0)         \
       : ::waybill::base::check_failed(#condition, why, __FILE__, __LINE__))

#endif  // WAYBILL_BASE_CHECK_H_
