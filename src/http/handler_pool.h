// A bounded pool of threads for handlers. Requests wait in a queue of limited length; pieces of
// answers that are already under way (file parts, events) always get in: there is at most one per
// connection.

#ifndef WAYBILL_HTTP_HANDLER_POOL_H_
#define WAYBILL_HTTP_HANDLER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "base/spawner.h"

namespace waybill::http {

// Thread-safe. stop() or the destructor run what is still queued, then join.
class HandlerPool {
 public:
  enum class Kind : std::uint8_t { kRequest, kContinuation };

  // kUnavailable where the threads cannot be had.
  static base::Result<std::unique_ptr<HandlerPool>> start(int threads, std::size_t max_waiting,
                                                          base::Spawner& spawner);
  ~HandlerPool();
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  // False, and nothing queued, when `max_waiting` requests wait already. Jobs must not throw.
  bool submit(Kind kind, std::function<void()> job);
  // True when a request submitted now would be refused.
  [[nodiscard]] bool full() const;
  void stop();

 private:
  explicit HandlerPool(std::size_t max_waiting) : max_waiting_(max_waiting) {}
  void run();

  struct Job {
    Kind kind;
    std::function<void()> body;
  };
  const std::size_t max_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  std::size_t waiting_requests_ = 0;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::unique_ptr<base::Spawned>> threads_;
};

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_HANDLER_POOL_H_
