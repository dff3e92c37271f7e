#include "app/version.h"

namespace waybill::app {
const char* const kVersion = WAYBILL_VERSION;
}  // namespace waybill::app
