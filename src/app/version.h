// The project's version, as CMakeLists.txt names it.

#ifndef WAYBILL_APP_VERSION_H_
#define WAYBILL_APP_VERSION_H_

namespace waybill::app {
extern const char* const kVersion;
}  // namespace waybill::app

#endif  // WAYBILL_APP_VERSION_H_
