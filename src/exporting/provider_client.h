// Asks a provider for one page, with the local retries of the contract.

#ifndef WAYBILL_EXPORTING_PROVIDER_CLIENT_H_
#define WAYBILL_EXPORTING_PROVIDER_CLIENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "base/random.h"
#include "client/http_client.h"
#include "exporting/failure.h"
#include "exporting/guard.h"
#include "exporting/observer.h"
#include "exporting/provider_page.h"
#include "exporting/settings.h"
#include "exporting/waiter.h"
#include "registry/registry.h"
#include "store/types.h"

namespace waybill::exporting {

// Where in the stream of pages a request stands.
struct PageRequest {
  bool first = true;
  std::string cursor;          // sent as null on the first page
  std::string snapshot_token;  // the first page's, untouched
};

// What stays the same for every page of one execution. Copied, so a registry reload does not reach
// into it.
struct ProviderCall {
  store::ClaimedTask task;
  std::string parameters_json;  // one JSON object; never a user's bearer token
  std::string service_name;
  ProviderService service;
  std::string path;
  std::int64_t limit = 500;  // rows per page
};

// Seams and timings; all of it must outlive the client.
struct ProviderAccess {
  client::HttpClient& http;
  Waiter& waiter;
  const base::Clock& clock;
  base::Random& random;
  ExportObserver& observer;
  const ExportSettings& settings;
  const Guard& guard;
};

// Not thread-safe.
class ProviderClient {
 public:
  ProviderClient(ProviderCall call, ProviderAccess access);

  // One page. Transient HTTP results are tried again here (settings.page_retry_ms, +0..20 %); a
  // Retry-After up to 30 s is waited for, a longer one becomes the failure's retry_after_ms. Stops
  // within 200 ms of the guard.
  std::variant<ProviderPage, Failure> fetch(const PageRequest& request);

 private:
  struct Attempt;
  Attempt attempt(const PageRequest& request);
  Attempt judge(client::Response response, const PageRequest& request);
  [[nodiscard]] Attempt judge(const base::Error& error) const;
  [[nodiscard]] std::string body_of(const PageRequest& request) const;

  const ProviderCall call_;
  const ProviderAccess access_;
  PageParser parser_;
};

// "00-{trace}-{span}-01" with a new span (W3C Trace Context). `trace_id` may be 32 hexadecimal
// digits, with or without dashes, or a whole traceparent; anything else starts a new trace.
std::string make_traceparent(std::string_view trace_id, base::Random& random);

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_PROVIDER_CLIENT_H_
