#include "http/server.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "http/connection.h"
#include "http/server_core.h"

namespace waybill::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr base::Millis kAcceptPauseMs = 100;  // after an accept that failed for want of something
constexpr base::Millis kAcceptLogEveryMs =
    10'000;  // so that exhausted descriptors do not fill the log
// After the grace a handler may still be inside a blocking call; it is waited for in steps of this
// length.
constexpr base::Millis kKillStepMs = 50;
constexpr base::Millis kHurryCheckMs = 50;  // between two looks whether the grace is to end early

std::string address_text(const tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return {};
  const auto address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  }
  return address.to_string();
}

class AsioServer final : public Server {
 public:
  AsioServer(ServerOptions options, std::vector<Route> routes, const base::Clock& clock,
             base::Random& random)
      : core_(std::move(options), std::move(routes), clock, random),
        io_(core_.options.io_threads),
        work_(asio::make_work_guard(io_)),
        strand_(asio::make_strand(io_)),
        acceptor_(strand_),
        accept_timer_(strand_) {}

  ~AsioServer() override { stop(0); }

  base::Status take(Listener listener) {
    error_code error;
    port_ = listener.port();
    const tcp protocol = listener.v6() ? tcp::v6() : tcp::v4();
    const int socket = listener.release();
    acceptor_.assign(protocol, socket, error);
    if (!error) return {};
    ::close(socket);
    return base::unavailable("cannot serve port " + std::to_string(port_) + ": " + error.message());
  }

  base::Status run(base::Spawner& spawner) {
    auto pool = HandlerPool::start(core_.options.handler_threads,
                                   core_.options.limits.max_waiting_requests, spawner);
    if (!pool.ok()) return std::move(pool).error();
    core_.pool = std::move(pool).value();
    for (int i = 0; i < core_.options.io_threads; ++i) {
      auto thread = spawner.spawn("http-io-" + std::to_string(i), [this] { io_.run(); });
      if (thread == nullptr) return base::unavailable("no thread for the HTTP server can be had");
      io_threads_.push_back(std::move(thread));
    }
    asio::co_spawn(strand_, accept_loop(), asio::detached);
    return {};
  }

  [[nodiscard]] std::uint16_t port() const override { return port_; }

  using Server::stop;
  void stop(base::Millis grace_ms, const std::atomic<bool>* hurry) override {
    const std::lock_guard lock(stop_mutex_);
    if (stopped_) return;
    stopped_ = true;
    core_.stopping = true;
    asio::post(strand_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      accept_timer_.cancel();
    });
    if (!io_threads_.empty()) {
      for (const auto& connection : core_.table.all()) connection->stop();
      if (!drained(grace_ms, hurry)) end_connections();
    }
    if (core_.pool) core_.pool->stop();
    work_.reset();
    for (auto& thread : io_threads_) thread->join();
  }

 private:
  // Whether the connections ended by themselves within the grace.
  bool drained(base::Millis grace_ms, const std::atomic<bool>* hurry) {
    for (base::Millis left = grace_ms; left > 0; left -= kHurryCheckMs) {
      if (hurry != nullptr && hurry->load()) break;
      if (core_.table.wait_empty(std::min(left, kHurryCheckMs))) return true;
    }
    return core_.table.wait_empty(0);
  }

  void end_connections() {
    core_.killed = true;
    do {
      for (const auto& connection : core_.table.all()) connection->kill();
    } while (!core_.table.wait_empty(kKillStepMs));
  }

  asio::awaitable<void> accept_loop() {
    base::Millis logged_ms = 0;
    while (!core_.stopping.load()) {
      error_code error;
      tcp::socket socket = co_await acceptor_.async_accept(
          asio::make_strand(io_), asio::redirect_error(asio::use_awaitable, error));
      if (core_.stopping.load()) break;
      if (!error) {
        admit(std::move(socket));
        continue;
      }
      if (error == asio::error::connection_aborted) continue;
      // Descriptors or memory are used up. Accepting again at once would only spin; giving up would
      // end the service.
      const base::Millis now = core_.clock.boot_ms();
      if (logged_ms == 0 || now - logged_ms >= kAcceptLogEveryMs) {
        logged_ms = now;
        base::log(base::LogLevel::kWarn, "http_accept_failed", {{"error", error.message()}});
      }
      accept_timer_.expires_after(std::chrono::milliseconds(kAcceptPauseMs));
      co_await accept_timer_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }

  void admit(tcp::socket socket) {
    std::string address = address_text(socket);
    const auto admission = core_.table.admit(address);
    if (admission == ConnectionTable::Admission::kDrop) return;
    auto connection =
        std::make_shared<Connection>(core_, std::move(socket), std::move(address), admission);
    core_.table.enter(connection);
    connection->start();
  }

  ServerCore core_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::strand<asio::io_context::executor_type> strand_;
  tcp::acceptor acceptor_;
  asio::steady_timer accept_timer_;
  std::uint16_t port_ = 0;
  std::mutex stop_mutex_;
  bool stopped_ = false;
  std::vector<std::unique_ptr<base::Spawned>> io_threads_;
};

}  // namespace

base::Result<Listener> Listener::bind(const std::string& address, std::uint16_t port) {
  error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  if (error) return base::invalid("listen", "'" + address + "' is not an IP address");
  const tcp::endpoint endpoint(parsed, port);
  const std::string where = address + ":" + std::to_string(port);
  asio::io_context unused;
  tcp::acceptor acceptor(unused);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error == asio::error::address_in_use) {
    return base::conflict("PORT_IN_USE", "another process listens on " + where);
  }
  std::uint16_t bound = 0;
  if (!error) bound = acceptor.local_endpoint(error).port();
  int socket = -1;
  if (!error) socket = acceptor.release(error);
  if (error) return base::unavailable("cannot listen on " + where + ": " + error.message());
  return Listener(socket, bound, parsed.is_v6());
}

Listener::Listener(Listener&& other) noexcept
    : socket_(other.release()), port_(other.port_), v6_(other.v6_) {}

Listener& Listener::operator=(Listener&& other) noexcept {
  if (this == &other) return *this;
  if (socket_ >= 0) ::close(socket_);
  socket_ = other.release();
  port_ = other.port_;
  v6_ = other.v6_;
  return *this;
}

Listener::~Listener() {
  if (socket_ >= 0) ::close(socket_);
}

int Listener::release() { return std::exchange(socket_, -1); }

base::Result<std::unique_ptr<Server>> Server::start(ServerOptions options,
                                                    std::vector<Route> routes,
                                                    base::Spawner& spawner,
                                                    const base::Clock& clock,
                                                    base::Random& random) {
  WAYBILL_ASSIGN(Listener listener, Listener::bind(options.address, options.port));
  return start(std::move(listener), std::move(options), std::move(routes), spawner, clock, random);
}

base::Result<std::unique_ptr<Server>> Server::start(Listener listener, ServerOptions options,
                                                    std::vector<Route> routes,
                                                    base::Spawner& spawner,
                                                    const base::Clock& clock,
                                                    base::Random& random) {
  auto server = std::make_unique<AsioServer>(std::move(options), std::move(routes), clock, random);
  WAYBILL_TRY(server->take(std::move(listener)));
  WAYBILL_TRY(server->run(spawner));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace waybill::http
