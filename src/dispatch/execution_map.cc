#include "dispatch/execution_map.h"

#include <algorithm>

#include "core/timing.h"

namespace waybill::dispatch {

std::optional<ExecutionMap::Ticket> ExecutionMap::enter(const Execution& execution) {
  const std::lock_guard lock(mutex_);
  if (abandoned_.contains(execution)) return std::nullopt;
  const auto [it, fresh] = items_.try_emplace(execution);
  if (!fresh) return std::nullopt;
  it->second.flag = std::make_shared<StopFlag>();
  it->second.ticket = ++last_ticket_;
  return it->second.ticket;
}

void ExecutionMap::leave(const Execution& execution, Ticket ticket) {
  bool empty = false;
  {
    const std::lock_guard lock(mutex_);
    const auto it = items_.find(execution);
    if (it == items_.end() || it->second.ticket != ticket) return;
    items_.erase(it);
    empty = items_.empty();
  }
  if (empty) drained_.raise();
}

std::shared_ptr<const StopFlag> ExecutionMap::begin(Item& item, Millis request_started) {
  item.state = State::kRunning;
  item.proved_at = request_started;
  if (!guarded_) item.flag->request(StopReason::kLostLease);
  return item.flag;
}

std::shared_ptr<const StopFlag> ExecutionMap::confirm(const Execution& execution, Ticket ticket,
                                                      Millis request_started) {
  const std::lock_guard lock(mutex_);
  const auto it = items_.find(execution);
  if (it == items_.end() || it->second.ticket != ticket) return nullptr;
  return begin(it->second, request_started);
}

std::shared_ptr<const StopFlag> ExecutionMap::adopt(const Execution& execution,
                                                    Millis request_started) {
  const std::lock_guard lock(mutex_);
  Item& item = items_[execution];
  // An entry that is running already would mean two successful claims of one version: the database
  // rules that out, except for a claim that a late answer repeats. The older execution keeps the
  // entry then.
  if (item.flag != nullptr && item.state != State::kClaiming) return nullptr;
  if (item.flag == nullptr) item.flag = std::make_shared<StopFlag>();
  item.ticket = ++last_ticket_;
  return begin(item, request_started);
}

bool ExecutionMap::end(const Execution& execution) {
  const std::lock_guard lock(mutex_);
  const auto it = items_.find(execution);
  if (it == items_.end() || it->second.state != State::kRunning) return false;
  it->second.state = State::kEnding;
  return true;
}

void ExecutionMap::remove(const Execution& execution) {
  bool empty = false;
  {
    const std::lock_guard lock(mutex_);
    items_.erase(execution);
    empty = items_.empty();
  }
  if (empty) drained_.raise();
}

void ExecutionMap::abandon(const Execution& execution) {
  {
    const std::lock_guard lock(mutex_);
    if (abandoned_.insert(execution).second) abandoned_order_.push_back(execution);
    if (abandoned_order_.size() > kAbandonedKept) {
      abandoned_.erase(abandoned_order_.front());
      abandoned_order_.pop_front();
    }
  }
  remove(execution);
}

std::vector<ExecutionMap::Entry> ExecutionMap::leased() const {
  std::vector<Entry> entries;
  {
    const std::lock_guard lock(mutex_);
    entries.reserve(items_.size());
    for (const auto& [execution, item] : items_) {
      if (item.state == State::kClaiming) continue;
      // Its lease is given up: renewing it would only keep the reconciler from it.
      if (item.flag->reason() == StopReason::kLostLease) continue;
      entries.push_back({.execution = execution,
                         .proved_at = item.proved_at,
                         .ending = item.state == State::kEnding});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.execution < b.execution; });
  return entries;
}

bool ExecutionMap::contains(const Execution& execution) const {
  const std::lock_guard lock(mutex_);
  return items_.contains(execution);
}

std::optional<Millis> ExecutionMap::proved_at(const Execution& execution) const {
  const std::lock_guard lock(mutex_);
  const auto it = items_.find(execution);
  if (it == items_.end() || it->second.state == State::kClaiming) return std::nullopt;
  return it->second.proved_at;
}

std::size_t ExecutionMap::size() const {
  const std::lock_guard lock(mutex_);
  return items_.size();
}

void ExecutionMap::prove(const Execution& execution, Millis request_started) {
  const std::lock_guard lock(mutex_);
  const auto it = items_.find(execution);
  if (it == items_.end()) return;
  it->second.proved_at = std::max(it->second.proved_at, request_started);
}

bool ExecutionMap::request(const Execution& execution, StopReason reason) {
  const std::lock_guard lock(mutex_);
  const auto it = items_.find(execution);
  if (it == items_.end() || it->second.flag->requested()) return false;
  it->second.flag->request(reason);
  return true;
}

void ExecutionMap::request_all(StopReason reason) {
  const std::lock_guard lock(mutex_);
  for (auto& [execution, item] : items_) item.flag->request(reason);
}

std::size_t ExecutionMap::stop_unproved(Millis now, Millis lease_ms,
                                        std::optional<Millis>* next_in) {
  std::size_t raised = 0;
  std::optional<Millis> nearest;
  const std::lock_guard lock(mutex_);
  for (auto& [execution, item] : items_) {
    if (item.state != State::kRunning || item.flag->requested()) continue;
    const Millis left = core::local_stop_at_ms(item.proved_at, lease_ms) - now;
    if (left <= 0) {
      item.flag->request(StopReason::kLostLease);
      ++raised;
    } else if (!nearest || left < *nearest) {
      nearest = left;
    }
  }
  if (next_in != nullptr) *next_in = nearest;
  return raised;
}

bool ExecutionMap::guarded() const {
  const std::lock_guard lock(mutex_);
  return guarded_;
}

void ExecutionMap::set_guarded(bool guarded) {
  {
    const std::lock_guard lock(mutex_);
    guarded_ = guarded;
  }
  if (!guarded) request_all(StopReason::kLostLease);
}

}  // namespace waybill::dispatch
