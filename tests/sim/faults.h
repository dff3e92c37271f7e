// What goes wrong, and how often. Every seed has its own mixture: a run in which everything fails
// all the time never gets far enough to fail in an interesting way.

#ifndef WAYBILL_TESTS_SIM_FAULTS_H_
#define WAYBILL_TESTS_SIM_FAULTS_H_

#include "tests/sim/scheduler.h"
#include "transport/memory/memory_broker.h"

namespace waybill::sim {

// Probabilities, 0..1.
struct Faults {
  // Per store operation of a process.
  double crash_before = 0, crash_after = 0;
  double freeze = 0;  // afterwards, often past the lease
  // Per statement.
  double statement_retry = 0;  // deadlock, busy
  double statement_away = 0;   // connection gone
  double statement_fatal = 0;
  // Per commit.
  double unknown_lost = 0, unknown_done = 0;
  // Per deed of the operator.
  double database_outage = 0;
  double storage_outage = 0;
  double provider_outage = 0;
  double broker_trouble = 0;  // down, broken connections, a restart without its messages
  double poison = 0;          // a message that somebody else wrote
  double lost_command = 0;    // a row that vanished from the outbox
  double clock_step = 0;      // of one process, at most 5 minutes
  // Per call of the storage.
  double files_refuse = 0, files_full = 0, files_commit_lost = 0, files_commit_unknown = 0;
  double files_slow = 0, files_late = 0;  // late: visible only later
  // Per request to a provider.
  double provider_silent = 0, provider_busy = 0, provider_garbage = 0, provider_slow = 0;
  double provider_refuses = 0;
  // Per action: takes longer than a lease.
  double long_action = 0;
  transport::MemoryFaults broker;
};

// A mixture for this seed: each fault is absent, rare or frequent.
Faults draw_faults(Scheduler& dice);

}  // namespace waybill::sim

#endif  // WAYBILL_TESTS_SIM_FAULTS_H_
