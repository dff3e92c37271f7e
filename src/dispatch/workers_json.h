// instance.workers_json: how many workers a process has per lane, as others read it.

#ifndef WAYBILL_DISPATCH_WORKERS_JSON_H_
#define WAYBILL_DISPATCH_WORKERS_JSON_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "dispatch/settings.h"

namespace waybill::dispatch {

using WorkersPerLane = std::map<std::string, std::int64_t, std::less<>>;

// {"export":4}
std::string format_workers(std::span<const LaneSettings> lanes);
// What another build may have written: everything that is not a lane with a sensible number is left
// out.
WorkersPerLane parse_workers(std::string_view json);

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_WORKERS_JSON_H_
