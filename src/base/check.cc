#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace waybill::base {
void check_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: %s (%s)\n", file, line, why, condition);
  std::abort();
}
}  // namespace waybill::base
