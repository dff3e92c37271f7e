// What a store takes from outside: clock, randomness, rules' numbers, and a hook for tests.

#ifndef WAYBILL_STORE_SEAMS_H_
#define WAYBILL_STORE_SEAMS_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "core/decide.h"

namespace waybill::store {

// What the hook wants to happen instead of the statement.
enum class Injected : std::uint8_t {
  kNone,
  kRetry,        // a deadlock or a busy database: the transaction is rolled back and tried again
  kAway,         // the database cannot be reached
  kFatal,        // an error that no repetition mends
  kUnknownLost,  // at "commit" only: the answer is lost and the transaction did not commit
  kUnknownDone,  // at "commit" only: the answer is lost and the transaction did commit
};

struct StatementPoint {
  std::string_view operation;  // the store operation, such as "claim_next"
  std::string_view statement;  // a statement's name, or "begin", "commit"
};

// For tests and the simulator: called before every statement, on the thread that runs it. It may
// block.
using BeforeStatement = std::function<Injected(const StatementPoint&)>;

struct Seams {
  base::Clock& database_clock;  // waybill_now() where the database has no clock of its own
  base::Random& random;         // event ids, jitter
  core::RetryPolicy retry{};
  base::Millis instance_alive_ms = 60'000;  // an instance renewed within this time counts as alive
  BeforeStatement before_statement{};
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_SEAMS_H_
