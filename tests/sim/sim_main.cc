// waybill_sim: years of faults in minutes. See docs/SIMULATION.md.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>

#include "tests/sim/run.h"

namespace {

using waybill::sim::RunReport;

void print_violation(std::uint64_t seed, std::int64_t steps, const RunReport& report) {
  std::printf("seed %llu breaks %s%s: %s\n", static_cast<unsigned long long>(seed),
              report.violation->invariant.c_str(),
              report.violation->task == 0
                  ? ""
                  : (" (task " + std::to_string(report.violation->task) + ")").c_str(),
              report.violation->what.c_str());
  for (const std::string& line : report.story) std::printf("  %s\n", line.c_str());
  std::printf("replay: waybill_sim --seed %llu --steps %lld --trace\n",
              static_cast<unsigned long long>(seed), static_cast<long long>(steps));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs the dispatch core and exports against simulated faults, one seed after another.");
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  std::int64_t steps = waybill::sim::kDefaultSteps;
  bool trace = false;
  app.add_option("--seed", seed, "First seed")->capture_default_str();
  app.add_option("--seeds", seeds, "Number of seeds")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
  app.add_option("--steps", steps, "Turns with faults in each run")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  app.add_flag("--trace", trace, "Print everything as it happens");
  CLI11_PARSE(app, argc, argv);

  const auto began = std::chrono::steady_clock::now();
  double days = 0;
  std::int64_t tasks = 0, turns = 0;
  for (std::uint64_t i = seed; i < seed + seeds; ++i) {
    const RunReport report = waybill::sim::run(i, steps, trace);
    days += static_cast<double>(report.virtual_ms) / 86'400'000;
    tasks += report.tasks;
    turns += report.steps;
    if (!report.violation) continue;
    print_violation(i, steps, report);
    return 1;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf(
      "%llu seeds, %.1f simulated days, %lld tasks, %lld turns in %.1f s: every invariant held\n",
      static_cast<unsigned long long>(seeds), days, static_cast<long long>(tasks),
      static_cast<long long>(turns), seconds);
  return 0;
}
