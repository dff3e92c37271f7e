#include "app/service_limits.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace waybill::app {
namespace {

constexpr base::Millis kStopCheckMs = 100;  // request.stop is asked at least this often

// The turns of one service.
class Gate {
 public:
  Gate(ServiceLimit limit, const base::Clock& clock) : limit_(std::move(limit)), clock_(clock) {}

  [[nodiscard]] bool covers(std::string_view url) const {
    const std::string& base = limit_.base_url;
    return url.starts_with(base) &&
           (url.size() == base.size() || base.ends_with('/') || url[base.size()] == '/');
  }

  base::Status enter(const std::function<bool()>& stop) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (stop && stop())
        return base::cancelled("stopped while waiting for a turn at " + limit_.base_url);
      const base::Millis now = clock_.boot_ms();
      base::Millis wait = kStopCheckMs;
      if (limit_.max_concurrent == 0 || running_ < limit_.max_concurrent) {
        if (next_at_ms_ <= static_cast<double>(now)) break;
        wait =
            std::min(wait, static_cast<base::Millis>(next_at_ms_ - static_cast<double>(now)) + 1);
      }
      freed_.wait_for(lock, std::chrono::milliseconds(wait));
    }
    ++running_;
    if (limit_.rate_per_second > 0) {
      next_at_ms_ = std::max(next_at_ms_, static_cast<double>(clock_.boot_ms())) +
                    1'000 / limit_.rate_per_second;
    }
    return {};
  }

  void leave() {
    {
      const std::lock_guard lock(mutex_);
      --running_;
    }
    freed_.notify_one();
  }

 private:
  const ServiceLimit limit_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::int64_t running_ = 0;
  double next_at_ms_ = 0;  // boot clock: when the next request may leave
};

class LimitedClient final : public client::HttpClient {
 public:
  LimitedClient(std::unique_ptr<client::HttpClient> inner, std::vector<std::unique_ptr<Gate>> gates)
      : inner_(std::move(inner)), gates_(std::move(gates)) {}

  base::Result<client::Response> send(const client::Request& request) override {
    for (const auto& gate : gates_) {
      if (!gate->covers(request.url)) continue;
      WAYBILL_TRY(gate->enter(request.stop));
      auto response = inner_->send(request);
      gate->leave();
      return response;
    }
    return inner_->send(request);
  }

 private:
  const std::unique_ptr<client::HttpClient> inner_;
  const std::vector<std::unique_ptr<Gate>> gates_;
};

}  // namespace

std::unique_ptr<client::HttpClient> limit_services(std::unique_ptr<client::HttpClient> inner,
                                                   const std::vector<ServiceLimit>& services,
                                                   const base::Clock& clock) {
  std::vector<std::unique_ptr<Gate>> gates;
  for (const ServiceLimit& service : services) {
    if (service.max_concurrent > 0 || service.rate_per_second > 0) {
      gates.push_back(std::make_unique<Gate>(service, clock));
    }
  }
  if (gates.empty()) return inner;
  return std::make_unique<LimitedClient>(std::move(inner), std::move(gates));
}

}  // namespace waybill::app
