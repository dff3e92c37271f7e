#include "tests/sim/faults.h"

namespace waybill::sim {

Faults draw_faults(Scheduler& dice) {
  const auto rate = [&dice](double rare, double frequent) {
    const double kind = dice.random.unit();
    if (kind < 0.4) return 0.0;
    return kind < 0.8 ? rare : frequent;
  };
  Faults f;
  f.crash_before = rate(0.001, 0.008);
  f.crash_after = rate(0.001, 0.008);
  f.freeze = rate(0.001, 0.008);
  f.statement_retry = rate(0.001, 0.02);
  f.statement_away = rate(0.001, 0.01);
  f.statement_fatal = rate(0.0001, 0.001);
  f.unknown_lost = rate(0.01, 0.08);
  f.unknown_done = rate(0.01, 0.08);
  f.database_outage = rate(0.01, 0.05);
  f.storage_outage = rate(0.01, 0.05);
  f.provider_outage = rate(0.01, 0.05);
  f.broker_trouble = rate(0.03, 0.15);
  f.poison = rate(0.03, 0.15);
  f.lost_command = rate(0.03, 0.15);
  f.clock_step = rate(0.01, 0.05);
  f.files_refuse = rate(0.002, 0.03);
  f.files_full = rate(0.002, 0.03);
  f.files_commit_lost = rate(0.005, 0.08);
  f.files_commit_unknown = rate(0.005, 0.08);
  f.files_slow = rate(0.01, 0.1);
  f.files_late = rate(0.01, 0.1);
  f.provider_silent = rate(0.005, 0.05);
  f.provider_busy = rate(0.01, 0.1);
  f.provider_garbage = rate(0.005, 0.05);
  f.provider_slow = rate(0.01, 0.1);
  f.provider_refuses = rate(0.002, 0.02);
  f.long_action = rate(0.03, 0.4);
  f.broker = {.refuse = rate(0.01, 0.2),
              .lose = rate(0.01, 0.2),
              .drop_confirm = rate(0.01, 0.2),
              .repeat = rate(0.01, 0.2),
              .reorder = rate(0.05, 0.5),
              .delay = rate(0.02, 0.3),
              .max_delay_ms = dice.chance(0.3) ? 4 * 3'600'000 : 60'000,
              .poison = rate(0.005, 0.05)};
  return f;
}

}  // namespace waybill::sim
