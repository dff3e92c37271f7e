// What the server's connections share. Internal to http/.

#ifndef WAYBILL_HTTP_SERVER_CORE_H_
#define WAYBILL_HTTP_SERVER_CORE_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "http/failure.h"
#include "http/handler_pool.h"
#include "http/router.h"
#include "http/server.h"

namespace waybill::http {

class Connection;

// The route name of requests that match no route, for metrics: names come from a closed set.
inline constexpr std::string_view kUnmatchedRoute = "unmatched";
// Connections beyond the caps that are told so (503) at one time; more are just closed.
inline constexpr std::size_t kMaxRefusals = 64;
inline constexpr int kRetryAfterSeconds = 1;

// Every open connection and how many come from each address. Thread-safe.
class ConnectionTable {
 public:
  enum class Admission : std::uint8_t { kServe, kRefuse, kDrop };

  ConnectionTable(std::size_t max_total, std::size_t max_per_address)
      : max_total_(max_total), max_per_address_(max_per_address) {}

  // Counts the connection unless it is dropped; whoever got kServe or kRefuse calls leave() with
  // the same answer.
  Admission admit(const std::string& address);
  void enter(const std::shared_ptr<Connection>& connection);
  void leave(const Connection* connection, const std::string& address, Admission admission);
  [[nodiscard]] std::vector<std::shared_ptr<Connection>> all() const;
  // Waits until nobody is left, at most `timeout_ms`. True when empty.
  bool wait_empty(base::Millis timeout_ms);

 private:
  const std::size_t max_total_;
  const std::size_t max_per_address_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<const Connection*, std::weak_ptr<Connection>> connections_;
  std::map<std::string, std::size_t, std::less<>> per_address_;
  std::size_t served_ = 0;
  std::size_t refused_ = 0;
};

struct ServerCore {
  ServerCore(ServerOptions o, std::vector<Route> routes, const base::Clock& c, base::Random& r)
      : options(std::move(o)),
        router(std::move(routes)),
        clock(c),
        random(r),
        table(options.limits.max_connections, options.limits.max_connections_per_address) {}

  const ServerOptions options;
  const Router router;
  const base::Clock& clock;
  base::Random& random;
  ConnectionTable table;
  std::unique_ptr<HandlerPool> pool;
  std::atomic<bool> stopping{false};  // no new requests on open connections, event streams end
  std::atomic<bool> killed{false};    // grace is over: queued handlers are not started

  // The answer for an error the server found itself.
  [[nodiscard]] Response error(const Failure& failure, const Request& request) const;
};

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_SERVER_CORE_H_
