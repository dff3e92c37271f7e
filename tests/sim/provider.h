// The business services: pages of rows that follow from a task's parameters alone, and the ways in
// which a service can fail.

#ifndef WAYBILL_TESTS_SIM_PROVIDER_H_
#define WAYBILL_TESTS_SIM_PROVIDER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "client/http_client.h"
#include "tests/sim/scheduler.h"

namespace waybill::sim {

class World;
class Process;

// {"rows":120,"salt":7}: the parameters of every simulated export.
std::string parameters_of(std::int64_t rows, std::int64_t salt);
// Its rows first..end-1 as one JSON array.
std::string rows_json(std::int64_t first, std::int64_t end, std::int64_t salt);
inline constexpr std::int64_t kPageRows = 50;
inline constexpr const char* kColumnsJson =
    R"([{"key":"id","title":"No.","type":"INTEGER"},{"key":"name","title":"Name","type":"STRING"}])";

// As `process` reaches it.
std::unique_ptr<client::HttpClient> connect_provider(World& world, Process& process);

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_PROVIDER_H_
