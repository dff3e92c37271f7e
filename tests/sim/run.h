// One run of the simulation: a while with faults, then none, then everything must have ended well.

#ifndef WAYBILL_TESTS_SIM_RUN_H_
#define WAYBILL_TESTS_SIM_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace waybill::sim {

inline constexpr std::int64_t kDefaultSteps = 4'000;  // turns with faults

struct RunReport {
  std::optional<Violation> violation;
  std::vector<std::string> story;  // of the violated task, or the last lines of the run
  Millis virtual_ms = 0;
  std::int64_t steps = 0;
  std::int64_t tasks = 0;
  std::uint64_t fingerprint = 0;  // of every state change: equal runs have equal ones
};

RunReport run(std::uint64_t seed, std::int64_t steps, bool follow);

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_RUN_H_
