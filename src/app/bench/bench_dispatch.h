// waybill bench dispatch: what the dispatch core reaches on this machine, with tasks that do
// nothing. The figures in docs are made by it.

#ifndef WAYBILL_APP_BENCH_BENCH_DISPATCH_H_
#define WAYBILL_APP_BENCH_BENCH_DISPATCH_H_

#include <cstdint>
#include <string>

#include "app/cli/arguments.h"
#include "app/cli/console.h"
#include "base/result.h"

namespace waybill::app::bench {

inline constexpr const char* kBenchLane = "bench";  // its rows are removed afterwards
inline constexpr int kLatencySamples = 200;

struct BenchOptions {
  std::string database_path;
  std::int64_t tasks = 20'000;
  std::int64_t slots = 512;
  std::int64_t producers = 64;
  std::int64_t finished = 0;
  bool force = false;
};

struct BenchReport {
  double lives_per_second_one_by_one =
      0;  // create -> claimed -> succeeded, each task created by itself
  double lives_per_second_batches = 0;  // the same, created five hundred at a time
  double claims_per_second = 0;         // claim + complete of a backlog that stood before
  double start_p50_ms = 0;              // create committed -> execution starts, on an idle server
  double start_p99_ms = 0;
};

// kConflict when the database holds tasks or live instances and `force` is not set, or when it is
// being served.
base::Result<BenchReport> bench_dispatch(const BenchOptions& options);

int run_bench_dispatch(const cli::Arguments& arguments, cli::Console& console);

}  // namespace waybill::app::bench

#endif  // WAYBILL_APP_BENCH_BENCH_DISPATCH_H_
