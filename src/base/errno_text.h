// What a failed system call says.

#ifndef WAYBILL_BASE_ERRNO_TEXT_H_
#define WAYBILL_BASE_ERRNO_TEXT_H_

#include <string>

namespace waybill::base {

// "No such file or directory"; always English. Thread-safe, unlike strerror().
std::string errno_text(int error_number);

}  // namespace waybill::base

#endif  // WAYBILL_BASE_ERRNO_TEXT_H_
