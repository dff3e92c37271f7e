// The demo's business service: an HTTP service of its own that speaks only the provider contract,
// as a team's service would. It checks the service token, limits every answer to the envelope's
// tenant and app code, pages by keyset and signs its snapshot tokens.

#ifndef WAYBILL_APP_DEMO_BUSINESS_H_
#define WAYBILL_APP_DEMO_BUSINESS_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/spawner.h"
#include "base/wake.h"
#include "http/server.h"

namespace waybill::app::demo {

inline constexpr std::string_view kServiceName = "demo-service";
inline constexpr int kFlakyFailures = 5;  // 503 answers per task: one attempt and a page retry
inline constexpr std::size_t kMaxFlakyTasks = 10'000;  // remembered
inline constexpr base::Millis kSlowPageMs = 1'000;
inline constexpr std::int64_t kSlowRows = 6'000;  // two hundred to a page
inline constexpr std::size_t kMaxPageRows = 1'000;

// registry.yaml of a new data folder.
std::string_view registry_yaml();

// Thread-safe.
class BusinessService {
 public:
  // `token`: what callers must send. `tenants`: whose data exist; others have no rows.
  BusinessService(std::string token, std::vector<std::string> tenants);

  // One request of the contract. Blocks kSlowPageMs for SLOW_REPORT (until stop()).
  http::Response answer(const http::Request& request);
  std::vector<http::Route> routes();
  // Ends waiting requests.
  void stop();

 private:
  struct Call;
  http::Response page(const Call& call);
  bool flaky_fails(const std::string& task_id);
  [[nodiscard]] std::string snapshot_token(const Call& call, std::int64_t upper) const;

  const std::string token_;
  const std::vector<std::string> tenants_;
  std::mutex mutex_;
  std::condition_variable stopped_condition_;
  bool stopped_ = false;
  std::map<std::string, int> flaky_;
};

}  // namespace waybill::app::demo

#endif  // WAYBILL_APP_DEMO_BUSINESS_H_
