// The HTTP server: strict parsing, limits and time-outs on every phase, a router that knows no
// resource. Boost.Beast stays inside the .cc files. Handlers run on a bounded pool of threads and
// may block; I/O threads never do.

#ifndef WAYBILL_HTTP_SERVER_H_
#define WAYBILL_HTTP_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/spawner.h"

namespace waybill::http {

struct Limits {
  std::size_t max_header_bytes = 16u << 10;  // 431
  std::size_t max_target_bytes = 8u << 10;   // 414
  std::size_t max_body_bytes = 64u << 10;    // 413; a route may have its own
  base::Millis header_timeout_ms =
      10'000;  // first byte of the connection / request to end of headers: 408
  base::Millis body_timeout_ms = 30'000;   // 408
  base::Millis idle_timeout_ms = 60'000;   // between requests: closed
  base::Millis write_timeout_ms = 60'000;  // no progress while sending: closed
  std::size_t max_connections = 6'000;     // in total: beyond it 503 with Retry-After
  std::size_t max_connections_per_address = 6'000;
  std::size_t max_waiting_requests = 1'024;  // for a handler thread: beyond it 503 with Retry-After
};

struct Request {
  std::string method;                                        // upper case
  std::string path;                                          // percent-decoded; no query
  std::vector<std::pair<std::string, std::string>> query;    // decoded, in order
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::map<std::string, std::string, std::less<>> path_values;  // "{id}" of the route
  std::string remote_address;                                   // without port
  std::string request_id;  // made by the server, or the caller's X-Request-Id when it is sane
  [[nodiscard]] std::string_view header(std::string_view lower_name) const;  // empty when absent
  [[nodiscard]] std::optional<std::string_view> query_value(std::string_view name) const;
};

// A body that is pulled while it is sent. Called from a handler thread, never two calls at once.
class BodySource {
 public:
  virtual ~BodySource() = default;
  // Appends at most about `want` bytes to `out`; nothing appended = the end. An error cuts the
  // connection, so that the client sees a broken transfer and never a short file that looks whole.
  virtual base::Status read(std::size_t want, std::string& out) = 0;
};

// Something that goes on for long (server-sent events): the server asks next() each time it may
// have something.
class EventSource {
 public:
  virtual ~EventSource() = default;
  enum class Next : std::uint8_t { kMore, kEnd };
  // Appends whatever is to be sent now (perhaps nothing). Called from a handler thread about every
  // `kEventPollMs`, never two calls at once; must not block for long.
  virtual Next next(std::string& out) = 0;
};
inline constexpr base::Millis kEventPollMs = 250;

struct Response {
  int status = 200;
  std::vector<std::pair<std::string, std::string>>
      headers;  // without Content-Length, Date, Connection
  std::string body;
  std::unique_ptr<BodySource> source;  // instead of body; `source_size` bytes exactly
  std::uint64_t source_size = 0;
  std::unique_ptr<EventSource> events;  // instead of body; chunked until kEnd
};

using Handler = std::function<Response(const Request&)>;

struct Route {
  std::string method;   // "GET" also answers HEAD (the server drops the body)
  std::string pattern;  // "/files/export-tasks/{id}/download"
  Handler handler;
  std::size_t max_body_bytes = 0;  // 0 = Limits::max_body_bytes
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0 = a free one
  int io_threads = 1;
  int handler_threads = 8;
  Limits limits;
  std::string server_name = "waybill";
  // Answers for errors the server finds itself (400, 404, 405, 408, 413, 414, 417, 431, 500, 503),
  // so that they wear the API's envelope. `code` is a stable word such as "NOT_FOUND".
  std::function<Response(int status, std::string_view code, std::string_view message,
                         const Request*)>
      error_response;
  // One call per finished request, for metrics and the access log. Must be quick.
  std::function<void(const Request&, const std::string& route, int status, base::Millis took_ms)>
      on_request;
};

// A bound port on which nobody answers yet: connections wait in its queue until a server takes it
// over. So a process can know that it will get its ports before it writes anything. Movable, one
// thread.
class Listener {
 public:
  // `port` 0 = a free one. kConflict (code PORT_IN_USE) when another process has it, kInvalid when
  // `address` is no IP address.
  static base::Result<Listener> bind(const std::string& address, std::uint16_t port);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;
  ~Listener();  // gives the port back, unless a server has taken it
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // The socket; whoever calls this closes it.
  int release();
  [[nodiscard]] bool v6() const { return v6_; }

 private:
  Listener(int socket, std::uint16_t port, bool v6) : socket_(socket), port_(port), v6_(v6) {}
  int socket_;
  std::uint16_t port_;
  bool v6_;
};

// Thread-safe.
class Server {
 public:
  // Starts serving on `listener`; options.address and options.port mean nothing.
  static base::Result<std::unique_ptr<Server>> start(Listener listener, ServerOptions options,
                                                     std::vector<Route> routes,
                                                     base::Spawner& spawner,
                                                     const base::Clock& clock,
                                                     base::Random& random);
  // Binds options.address and options.port itself: errors of Listener::bind().
  static base::Result<std::unique_ptr<Server>> start(ServerOptions options,
                                                     std::vector<Route> routes,
                                                     base::Spawner& spawner,
                                                     const base::Clock& clock,
                                                     base::Random& random);
  virtual ~Server() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  // Stops accepting, ends event streams, waits up to `grace_ms` for requests in flight, closes.
  // `hurry` may end that wait: it is read all the time, and may be null. Idempotent.
  virtual void stop(base::Millis grace_ms, const std::atomic<bool>* hurry) = 0;
  void stop(base::Millis grace_ms) { stop(grace_ms, nullptr); }
};

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_SERVER_H_
