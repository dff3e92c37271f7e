#include "dispatch/workers_json.h"

#include <boost/json.hpp>

#include "base/json_writer.h"

namespace waybill::dispatch {

std::string format_workers(std::span<const LaneSettings> lanes) {
  base::JsonWriter json;
  json.begin_object();
  for (const LaneSettings& lane : lanes) json.field(lane.name, lane.workers);
  json.end_object();
  return json.take();
}

WorkersPerLane parse_workers(std::string_view json) {
  WorkersPerLane workers;
  boost::system::error_code error;
  const boost::json::value root = boost::json::parse(json, error);
  if (error || !root.is_object()) return workers;
  for (const auto& [lane, count] : root.get_object()) {
    const std::int64_t* number = count.if_int64();
    if (number != nullptr && *number > 0 && *number <= kMaxWorkersPerLane)
      workers[std::string(lane)] = *number;
  }
  return workers;
}

}  // namespace waybill::dispatch
