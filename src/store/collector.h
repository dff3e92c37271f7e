// Gathers requests that wait at the same moment into batches: whoever finds no batch in flight
// takes all that wait (his own included) and runs them; the others sleep until they have their
// answer. No timer: alone, a request runs at once.

#ifndef WAYBILL_STORE_COLLECTOR_H_
#define WAYBILL_STORE_COLLECTOR_H_

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "store/signal.h"

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
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(&mine);
      if (!busy_) mine.woken.raise();  // nobody leads: this thread does
      busy_ = true;
    }
    // Woken once: with an answer, or as the first of the queue to lead the next batch. Each waits
    // on its own word, so a batch of 64 does not wake 64 threads into one lock.
    mine.woken.wait();
    if (!mine.answer) lead();
    return *std::move(mine.answer);
  }

 private:
  struct Waiting {
    const Request* request;
    std::optional<Answer> answer;
    Signal woken{};
  };

  // Runs one batch. Its first element is this thread's own.
  void lead() {
    std::vector<Waiting*> batch;
    {
      const std::lock_guard lock(mutex_);
      const auto end =
          queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), max_batch_));
      batch.assign(queue_.begin(), end);
      queue_.erase(queue_.begin(), end);
    }
    std::vector<const Request*> requests;
    requests.reserve(batch.size());
    for (const Waiting* waiting : batch) requests.push_back(waiting->request);
    std::vector<Answer> answers = run_(requests);
    {
      const std::lock_guard lock(mutex_);
      busy_ = !queue_.empty();
      if (busy_) queue_.front()->woken.raise();
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i]->answer.emplace(std::move(answers[i]));
      if (i > 0) batch[i]->woken.raise();
    }
  }

  const std::size_t max_batch_;
  const RunBatch run_;
  std::mutex mutex_;
  std::deque<Waiting*> queue_;
  bool busy_ = false;
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_COLLECTOR_H_
