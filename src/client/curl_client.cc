// The pool: each call takes a slot with its own connections and gives it back.

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "client/http_client.h"
#include "client/transfer.h"
#include "client/url.h"

namespace waybill::client {
namespace {

// Slots kept between calls; more are made while more calls run at once, which the callers bound.
constexpr std::size_t kMaxIdleSlots = 32;
constexpr long kConnectionsPerSlot = 2;

// Both handles are void to the compiler, hence two types.
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

// A multi handle owns the connections; an easy handle is the exchange. Used by one thread at a
// time.
struct Slot {
  std::unique_ptr<CURLM, FreeMulti> multi;
  std::unique_ptr<CURL, FreeEasy> easy;
  std::string origin;  // last contacted, where a connection is probably open
};

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(AllowList allow_list) : allow_list_(std::move(allow_list)) {
    // Counted by libcurl; needs no lock of ours since 7.84.
    WAYBILL_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "the HTTP library starts");
  }
  ~CurlClient() override {
    idle_.clear();
    curl_global_cleanup();
  }
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;

  base::Result<Response> send(const Request& request) override {
    WAYBILL_ASSIGN(const Url url, parse_url(request.url, "url"));
    WAYBILL_TRY(check_request(request));
    if (!allow_list_.allows(request.url)) {
      return base::denied(url.place() + " is not among the services that may be contacted");
    }
    Slot slot = take_slot(url.origin());
    if (!slot.multi || !slot.easy)
      return base::unavailable("the HTTP library has no memory for another request");
    auto result = Transfer(request, url, slot.multi.get(), slot.easy.get()).run();
    give_back(std::move(slot));
    return result;
  }

 private:
  Slot take_slot(const std::string& origin) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        // The most recent one that knows this origin, or else the one unused for the longest time.
        auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                  [&](const Slot& slot) { return slot.origin == origin; });
        auto chosen = found != idle_.rend() ? std::prev(found.base()) : idle_.begin();
        Slot slot = std::move(*chosen);
        idle_.erase(chosen);
        slot.origin = origin;
        return slot;
      }
    }
    Slot slot;
    slot.multi.reset(curl_multi_init());
    slot.easy.reset(curl_easy_init());
    slot.origin = origin;
    if (slot.multi) curl_multi_setopt(slot.multi.get(), CURLMOPT_MAXCONNECTS, kConnectionsPerSlot);
    return slot;
  }

  void give_back(Slot slot) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMaxIdleSlots) idle_.push_back(std::move(slot));
  }

  const AllowList allow_list_;
  std::mutex mutex_;
  std::vector<Slot> idle_;  // guarded by mutex_; the most recently used last
};

}  // namespace

std::unique_ptr<HttpClient> make_http_client(AllowList allow_list) {
  return std::make_unique<CurlClient>(std::move(allow_list));
}

}  // namespace waybill::client
