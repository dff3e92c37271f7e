// One parameter value as a request or a registry file gives it: checked against its schema and
// brought into its one normal form (docs/formats.md).

#ifndef WAYBILL_REGISTRY_PARAMETER_VALUE_H_
#define WAYBILL_REGISTRY_PARAMETER_VALUE_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "registry/registry.h"

namespace waybill::registry {

inline constexpr std::size_t kMaxPatternLength = 256;  // characters

// kInvalid where the pattern is no regular expression or too long. Field empty.
base::Status check_pattern(std::string_view pattern);

// The normal form of one JSON value for a parameter. kInvalid or kLimit with field
// "parameters.NAME".
base::Result<std::string> normalise_value(const Parameter& parameter, std::string_view json);

}  // namespace waybill::registry

#endif  // WAYBILL_REGISTRY_PARAMETER_VALUE_H_
