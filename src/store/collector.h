// Gathers requests that wait at the same moment into batches: whoever finds no batch in flight
// takes all that wait (his own included) and runs them; the others sleep until they have their
// answer. No timer: alone, a request runs at once.

#ifndef WAYBILL_STORE_COLLECTOR_H_
#define WAYBILL_STORE_COLLECTOR_H_

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace waybill::store {

// Thread-safe.
template <class Request, class Answer>
class Collector {
 public:
  // Answers in the order of the requests.
  using RunBatch = std::function<std::vector<Answer>(std::span<const Request* const>)>;
  Collector(std::size_t max_batch, RunBatch run) : max_batch_(max_batch), run_(std::move(run)) {}

  Answer submit(const Request& request) {
    Waiting mine{.request = &request, .answer = {}};
    std::unique_lock lock(mutex_);
    queue_.push_back(&mine);
    while (!mine.answer) {
      if (busy_) {
        answered_.wait(lock);
        continue;
      }
      busy_ = true;
      const std::size_t n = std::min(queue_.size(), max_batch_);
      const std::vector<Waiting*> batch(queue_.begin(),
                                        queue_.begin() + static_cast<std::ptrdiff_t>(n));
      queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(n));
      lock.unlock();
      std::vector<const Request*> requests;
      requests.reserve(n);
      for (const Waiting* waiting : batch) requests.push_back(waiting->request);
      std::vector<Answer> answers = run_(requests);
      lock.lock();
      for (std::size_t i = 0; i < n; ++i) batch[i]->answer.emplace(std::move(answers[i]));
      busy_ = false;
      answered_.notify_all();
    }
    return *std::move(mine.answer);
  }

 private:
  struct Waiting {
    const Request* request;
    std::optional<Answer> answer;
  };
  const std::size_t max_batch_;
  const RunBatch run_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::deque<Waiting*> queue_;
  bool busy_ = false;
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_COLLECTOR_H_
