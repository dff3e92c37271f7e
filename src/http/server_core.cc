#include "http/server_core.h"

#include <chrono>

#include "base/json_writer.h"

namespace waybill::http {

ConnectionTable::Admission ConnectionTable::admit(const std::string& address) {
  const std::lock_guard lock(mutex_);
  std::size_t& here = per_address_[address];
  Admission admission = Admission::kServe;
  if (served_ >= max_total_ || here >= max_per_address_) {
    admission = refused_ < kMaxRefusals ? Admission::kRefuse : Admission::kDrop;
  }
  if (admission == Admission::kServe) {
    ++served_;
    ++here;
  } else if (admission == Admission::kRefuse) {
    ++refused_;
  }
  if (here == 0) per_address_.erase(address);
  return admission;
}

void ConnectionTable::enter(const std::shared_ptr<Connection>& connection) {
  const std::lock_guard lock(mutex_);
  connections_.emplace(connection.get(), connection);
}

void ConnectionTable::leave(const Connection* connection, const std::string& address,
                            Admission admission) {
  const std::lock_guard lock(mutex_);
  connections_.erase(connection);
  if (admission == Admission::kRefuse) --refused_;
  if (admission == Admission::kServe) {
    --served_;
    const auto here = per_address_.find(address);
    if (--here->second == 0) per_address_.erase(here);
  }
  changed_.notify_all();
}

std::vector<std::shared_ptr<Connection>> ConnectionTable::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Connection>> out;
  out.reserve(connections_.size());
  for (const auto& [raw, weak] : connections_) {
    if (auto strong = weak.lock()) out.push_back(std::move(strong));
  }
  return out;
}

bool ConnectionTable::wait_empty(base::Millis timeout_ms) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                           [this] { return served_ + refused_ == 0; });
}

Response ServerCore::error(const Failure& failure, const Request& request) const {
  Response response;
  if (options.error_response) {
    response = options.error_response(failure.status, failure.code, failure.message, &request);
  } else {
    base::JsonWriter json;
    json.begin_object().field("code", failure.code).field("message", failure.message);
    json.field("requestId", request.request_id).end_object();
    response.headers.emplace_back("Content-Type", "application/json");
    response.body = json.take();
  }
  response.status = failure.status;
  if (failure.status == 503)
    response.headers.emplace_back("Retry-After", std::to_string(kRetryAfterSeconds));
  return response;
}

}  // namespace waybill::http
