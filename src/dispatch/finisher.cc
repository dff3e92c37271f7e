#include "dispatch/finisher.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace waybill::dispatch {
namespace {

using store::FinishOutcome;

void log_execution(base::LogLevel level, std::string_view event, const Execution& execution,
                   std::string_view reason) {
  base::log(level, event,
            {{"taskId", execution.id}, {"dispatchVersion", execution.version}, {"reason", reason}});
}

// The owner still holds the lease: it says itself that the deadline has passed.
void turn_overdue(store::Finish& finish) {
  finish.event = core::Event::kOverdue;
  finish.result.reset();
}

// The database will never take this outcome as it is (a text that fits no column, say). The task
// must still end.
void turn_failed(store::Finish& finish) {
  finish.event = core::Event::kFail;
  finish.failure_class = core::FailureClass::kSystem;
  finish.failure_message = "the result could not be stored";
  finish.retry_after_ms.reset();
  finish.result.reset();
}

}  // namespace

Finisher::Finisher(const Settings& settings, store::WorkStore& store, Workbench& bench,
                   const base::Clock& clock, Metrics& metrics)
    : settings_(settings),
      store_(store),
      bench_(bench),
      clock_(clock),
      metrics_(metrics),
      backoff_(settings.finish_retry_min_ms, settings.finish_retry_max_ms) {}

Next Finisher::step() {
  const Millis now = clock_.boot_ms();
  std::vector<Item> batch = take_batch(now);
  if (!batch.empty()) commit(std::move(batch));
  const std::lock_guard lock(mutex_);
  if (now < not_before_) return Next::after(not_before_ - now);
  if (!kept_.empty() || bench_.has_ended()) return Next::at_once();
  return Next::after(settings_.poll_max_ms);
}

std::size_t Finisher::pending() const {
  const std::lock_guard lock(mutex_);
  return kept_.size() + in_flight_;
}

std::vector<Finisher::Item> Finisher::take_batch(Millis now) {
  std::vector<Item> batch;
  std::vector<Item> hopeless;
  {
    const std::lock_guard lock(mutex_);
    if (now < not_before_) return batch;
    while (!kept_.empty() && batch.size() < store::kMaxBatch) {
      if (kept_.front().alone && !batch.empty()) break;
      Item item = std::move(kept_.front());
      kept_.pop_front();
      const bool alone = item.alone;
      const auto proved = bench_.map().proved_at(item.ended.execution);
      if (item.unanswered && proved && *proved + settings_.lease_ms < now) {
        hopeless.push_back(std::move(item));
        continue;
      }
      batch.push_back(std::move(item));
      if (alone) break;
    }
    if (batch.empty() || !batch.front().alone) {
      for (Ended& ended : bench_.take_ended(store::kMaxBatch - batch.size())) {
        batch.push_back({.ended = std::move(ended), .answer = std::nullopt});
      }
    }
    in_flight_ += batch.size();
  }
  for (const Item& item : hopeless) give_up(item);
  return batch;
}

void Finisher::commit(std::vector<Item> batch) {
  const std::size_t taken = batch.size();
  // A lost lease writes nothing: not even a conditional update that is known to change nothing.
  for (const Item& item : batch) {
    if (item.ended.outcome.lost) close(item, FinishOutcome::kFenced);
  }
  std::erase_if(batch, [](const Item& item) { return item.ended.outcome.lost; });

  if (!batch.empty()) {
    std::vector<store::Finish> finishes;
    finishes.reserve(batch.size());
    for (Item& item : batch) finishes.push_back(std::move(item.ended.outcome.finish));
    const auto outcomes = store_.finish(settings_.owner, finishes);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i].ended.outcome.finish = std::move(finishes[i]);
    }
    if (outcomes.ok() && outcomes->size() == batch.size()) {
      metrics_.finish_batches.add();
      settle_all(std::move(batch), *outcomes);
    } else {
      keep(std::move(batch), outcomes.ok()
                                 ? base::internal("finish answered another number of outcomes")
                                 : outcomes.error());
    }
  }
  {
    const std::lock_guard lock(mutex_);
    in_flight_ -= taken;
  }
  bench_.announce_free();
}

void Finisher::settle_all(std::vector<Item> batch, const std::vector<FinishOutcome>& outcomes) {
  std::vector<Item> again;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Item& item = batch[i];
    store::Finish& finish = item.ended.outcome.finish;
    switch (outcomes[i]) {
      case FinishOutcome::kCommitted:
        metrics_.finished.add();
        close(item, item.answer.value_or(FinishOutcome::kCommitted));
        break;
      case FinishOutcome::kFenced:
        // After a lost answer "nothing changed" usually means that the first try did it, or the
        // reconciler: for everything but a success that is the same (09 section 2).
        if (!item.replayed || finish.event == core::Event::kSucceed) {
          metrics_.fenced_finish.add();
          log_execution(base::LogLevel::kWarn, "execution.fenced", item.ended.execution,
                        core::to_string(finish.event));
        }
        if (item.refused && item.replayed) {
          // Told as a failure now, but the try whose answer was lost told what really happened, and
          // it may be what stands in the database.
          leave(item);
        } else {
          close(item, FinishOutcome::kFenced);
        }
        break;
      case FinishOutcome::kCancelled:
        metrics_.fenced_cancelled.add();
        close(item, FinishOutcome::kCancelled);
        break;
      case FinishOutcome::kOverdue:
        metrics_.fenced_overdue.add();
        log_execution(base::LogLevel::kWarn, "execution.overdue", item.ended.execution,
                      "the deadline passed before the result could be committed");
        turn_overdue(finish);
        item.unanswered = false;
        item.answer = FinishOutcome::kOverdue;
        again.push_back(std::move(item));
        break;
    }
  }
  const std::lock_guard lock(mutex_);
  backoff_.reset();
  not_before_ = 0;
  for (Item& item : again) kept_.push_back(std::move(item));
}

void Finisher::keep(std::vector<Item> batch, const base::Error& error) {
  const bool unknown = error.category == base::ErrorCategory::kOutcomeUnknown;
  const bool refused = !unknown && !base::is_transient(error.category);
  if (unknown) metrics_.commit_outcome_unknown.add();
  const bool whole = batch.size() > 1;
  for (Item& item : batch) {
    item.unanswered = true;
    item.replayed = item.replayed || unknown;
    if (!refused) continue;
    item.alone = true;
    if (!whole && !item.refused) {
      log_execution(base::LogLevel::kError, "execution.result_refused", item.ended.execution,
                    error.message);
      turn_failed(item.ended.outcome.finish);
      item.refused = true;
      item.answer = FinishOutcome::kFenced;
    }
  }
  const std::lock_guard lock(mutex_);
  if (!backoff_.active()) {
    base::log(base::LogLevel::kError, "finish.failed",
              {{"executions", static_cast<std::int64_t>(batch.size())},
               {"category", base::to_string(error.category)},
               {"message", error.message}});
  }
  // A refusal of a whole batch says nothing about the database's health: its elements are tried one
  // by one at once.
  if (!refused || !whole) not_before_ = clock_.boot_ms() + backoff_.next();
  for (auto it = batch.rbegin(); it != batch.rend(); ++it) kept_.push_front(std::move(*it));
}

void Finisher::give_up(const Item& item) {
  metrics_.finish_given_up.add();
  log_execution(base::LogLevel::kError, "execution.given_up", item.ended.execution,
                "the lease ran out before the database took the result");
  leave(item);
}

void Finisher::close(const Item& item, FinishOutcome answer) {
  if (item.ended.outcome.settled) item.ended.outcome.settled(answer);
  if (item.ended.outcome.lost) return leave(item);
  bench_.map().remove(item.ended.execution);
  if (item.ended.slot) bench_.slots().give_back(*item.ended.slot);
}

void Finisher::leave(const Item& item) {
  bench_.map().abandon(item.ended.execution);
  if (item.ended.slot) bench_.slots().give_back(*item.ended.slot);
}

}  // namespace waybill::dispatch
