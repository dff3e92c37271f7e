#include "http/handler_pool.h"

#include <string>
#include <utility>

namespace waybill::http {

base::Result<std::unique_ptr<HandlerPool>> HandlerPool::start(int threads, std::size_t max_waiting,
                                                              base::Spawner& spawner) {
  std::unique_ptr<HandlerPool> pool(new HandlerPool(max_waiting));
  for (int i = 0; i < threads; ++i) {
    auto thread = spawner.spawn("http-" + std::to_string(i), [raw = pool.get()] { raw->run(); });
    if (thread == nullptr) return base::unavailable("no thread for the HTTP server can be had");
    pool->threads_.push_back(std::move(thread));
  }
  return pool;
}

HandlerPool::~HandlerPool() { stop(); }

bool HandlerPool::submit(Kind kind, std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (kind == Kind::kRequest) {
      // Idle threads take what is queued first, so only what exceeds them really waits.
      if (waiting_requests_ >= max_waiting_ + idle_) return false;
      ++waiting_requests_;
    }
    jobs_.push_back({kind, std::move(job)});
  }
  wake_.notify_one();
  return true;
}

bool HandlerPool::full() const {
  const std::lock_guard lock(mutex_);
  return waiting_requests_ >= max_waiting_ + idle_;
}

void HandlerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread->join();
}

void HandlerPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    if (job.kind == Kind::kRequest) --waiting_requests_;
    lock.unlock();
    job.body();
    job.body = nullptr;  // its captures end here, outside the lock
    lock.lock();
  }
}

}  // namespace waybill::http
