// docs/openapi.yaml, put into the program by the build.

#ifndef WAYBILL_API_OPENAPI_H_
#define WAYBILL_API_OPENAPI_H_

#include <string_view>

namespace waybill::api {

std::string_view openapi_yaml();

}  // namespace waybill::api

#endif  // WAYBILL_API_OPENAPI_H_
