// Counters of dispatch: plain numbers that only grow. ops turns them into metrics by these names;
// nothing here knows how they are shown.

#ifndef WAYBILL_DISPATCH_METRICS_H_
#define WAYBILL_DISPATCH_METRICS_H_

#include <atomic>
#include <cstdint>

namespace waybill::dispatch {

// Relaxed: a counter orders nothing.
class Counter {
 public:
  void add(std::int64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// Thread-safe. One per process.
struct Metrics {
  // export_reconciler_action_total{action}; `expire` and `orphan_clean` are counted by the file
  // sweep.
  Counter redispatch, lease_recover, outbox_release, unblock;
  Counter
      fenced_alive;  // leases recovered although the owner's instance row is still being renewed

  // fenced_writes_total{what}
  Counter fenced_finish, fenced_overdue, fenced_cancelled, fenced_settle;
  Counter commit_outcome_unknown;  // commit_outcome_unknown_total
  Counter unknown_kind;            // unknown_kind_total: left alone (I14)

  // Claims.
  Counter claimed, released, duplicate_deliveries, not_claimed;
  Counter finished, finish_batches,
      finish_given_up;  // given up: the lease ran out before the database answered

  // Watchdog.
  Counter renewals, renewal_failures, leases_lost, leases_overdue, leases_unproved, strays_released;

  // Publisher and broker.
  Counter sent, send_failures, poison_rejected, holds;
  Counter dead_letters;  // export_dlq_messages_total
  Counter dead_letters_quarantined, dead_letters_malformed;

  Counter loop_errors, retention_deleted, objects_removed, object_remove_failures;
};

}  // namespace waybill::dispatch

#endif  // WAYBILL_DISPATCH_METRICS_H_
