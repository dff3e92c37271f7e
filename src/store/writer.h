// Runs the store's transactions: who writes when, what is tried again, and what an error becomes.

#ifndef WAYBILL_STORE_WRITER_H_
#define WAYBILL_STORE_WRITER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/session.h"
#include "store/signal.h"

namespace waybill::store {

// Thrown by a transaction's body: rolls back, and `error` is the operation's answer.
struct Abort {
  base::Error error;
};

// A body may run several times (retries, a shared transaction that failed), so it starts by
// clearing what it hands out.
using Body = std::function<void(Session&)>;

enum class Urgency : std::uint8_t {
  kNormal,
  kUrgent,  // overtakes every waiting transaction: lease renewals
};

base::Error to_error(const SqlFault& fault, std::string_view operation);

// One writing session for everybody. Operations that wait together share one transaction: each is
// complete in itself, and when anything fails all is rolled back and each runs alone. Thread-safe.
class Writer {
 public:
  explicit Writer(const SessionContext& context);

  // Returns after COMMIT, or with an error: kUnavailable (nothing changed), kOutcomeUnknown, what
  // Abort carries, or kInternal / kConflict from the database.
  base::Status run(std::string_view operation, const Body& body,
                   Urgency urgency = Urgency::kNormal);
  // The same session without a transaction: for reads where there is no other session.
  base::Status read(std::string_view operation, const Body& body);

 private:
  struct Job {
    std::string_view operation;
    const Body* body;
    bool in_transaction = true;
    base::Status result{};
    bool done = false;
    Signal woken{};  // once: done, or to lead
  };
  base::Status submit(Job& job, Urgency urgency);
  void lead(Job& own);
  std::vector<Job*> take_group();
  void run_group(std::span<Job* const> jobs);
  bool run_together(std::span<Job* const> jobs);
  base::Status run_alone(Job& job);
  base::Status try_once(std::span<Job* const> jobs, bool& again);

  const SessionContext& context_;
  std::unique_ptr<Session> session_;  // used by the leader only
  std::mutex mutex_;
  std::deque<Job*> urgent_;
  std::deque<Job*> normal_;
  bool busy_ = false;
};

// A few sessions for reads, each statement its own snapshot. Thread-safe.
class Readers {
 public:
  Readers(const SessionContext& context, Writer& writer);
  base::Status run(std::string_view operation, const Body& body);

 private:
  const SessionContext& context_;
  Writer& writer_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Session>> free_;
  int made_ = 0;
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_WRITER_H_
