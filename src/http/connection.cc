#include "http/connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <utility>
#include <variant>

#include "base/log.h"
#include "http/connection_exchange.h"
#include "http/target.h"

namespace waybill::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 4u << 10;  // grown by this much for each read
constexpr base::Millis kLingerMs = 2'000;     // a refused client may finish sending
constexpr std::size_t kLingerBytes = 1u << 20;
constexpr std::size_t kMaxRequestId = 64;  // characters

bool sane_request_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxRequestId && std::ranges::all_of(id, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

Connection::Connection(ServerCore& core, asio::ip::tcp::socket socket, std::string address,
                       ConnectionTable::Admission admission)
    : core_(core),
      socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      address_(std::move(address)),
      admission_(admission) {}

Connection::~Connection() {
  close();
  core_.table.leave(this, address_, admission_);
}

void Connection::start() {
  auto self = shared_from_this();
  asio::co_spawn(
      socket_.get_executor(),
      [self]() -> Task<void> {
        try {
          co_await self->run();
        } catch (const std::exception& e) {
          base::log(base::LogLevel::kError, "http_connection_failed", {{"error", e.what()}});
        }
        self->disarm();
        self->close();
      },
      asio::detached);
}

void Connection::stop() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (!self->interruptible_) return;
    self->timer_.cancel();
    error_code ignored;
    self->socket_.cancel(ignored);
  });
}

void Connection::kill() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->disarm();
    self->close();
  });
}

void Connection::close() {
  error_code ignored;
  socket_.close(ignored);
}

Connection::Task<void> Connection::run() {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  // The kernel holds what is on its way, not a second copy of the file for every slow reader.
  const int unsent = static_cast<int>(kPieceBytes);
  ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
  if (admission_ == ConnectionTable::Admission::kRefuse) {
    co_await refuse();
  } else {
    bool first = true;
    while (!core_.stopping.load()) {
      if (!co_await wait_for_request(first)) break;
      first = false;
      if (!co_await serve()) break;
    }
  }
  if (linger_) co_await linger();
}

Connection::Task<void> Connection::refuse() {
  Exchange exchange(core_.options.limits);
  exchange.request.request_id = base::make_uuid(core_.random);
  exchange.request.remote_address = address_;
  exchange.started_ms = core_.clock.boot_ms();
  linger_ = true;
  Response response = core_.error({503, "OVERLOADED", "too many connections"}, exchange.request);
  co_await answer(exchange, response);
}

// Style of the coroutines below: nothing but references and plain values is passed into an awaited
// call, and no temporary with a destructor lives in an awaited expression; g++ 12 destroys such
// temporaries twice.

// Waits without a buffer, so that an idle connection costs little. A new connection has the
// header's time for its first byte: one that never speaks does not get the longer idle time.
Connection::Task<bool> Connection::wait_for_request(bool first) {
  if (!buffer_.empty()) {
    arm(core_.options.limits.header_timeout_ms);
    co_return true;
  }
  buffer_.shrink_to_fit();
  arm(first ? core_.options.limits.header_timeout_ms : core_.options.limits.idle_timeout_ms);
  interruptible_ = true;
  error_code error;
  co_await socket_.async_wait(asio::ip::tcp::socket::wait_read,
                              asio::redirect_error(asio::use_awaitable, error));
  interruptible_ = false;
  if (error || timed_out_ || core_.stopping.load()) co_return false;
  if (!first) arm(core_.options.limits.header_timeout_ms);
  co_return co_await read_more();
}

Connection::Task<bool> Connection::serve() {
  Exchange exchange(core_.options.limits);
  exchange.started_ms = core_.clock.boot_ms();
  exchange.request.remote_address = address_;
  exchange.request.request_id = base::make_uuid(core_.random);
  bool whole = co_await read_head(exchange);
  if (whole) whole = choose_route(exchange);
  if (whole) whole = co_await read_body(exchange);
  disarm();
  if (whole) co_return co_await handle(exchange);
  if (!exchange.early) co_return false;  // the client went away
  linger_ = !exchange.body_taken;
  co_return co_await answer(exchange, *exchange.early);
}

Connection::Task<bool> Connection::read_head(Exchange& exchange) {
  RequestParser::State state = exchange.parser.feed_head(buffer_);
  while (state == RequestParser::State::kNeedMore) {
    const bool more = co_await read_more();
    if (!more) {
      if (timed_out_) {
        exchange.early = core_.error(
            {408, "REQUEST_TIMEOUT", "the request head did not arrive in time"}, exchange.request);
      }
      co_return false;
    }
    state = exchange.parser.feed_head(buffer_);
  }
  if (state == RequestParser::State::kFailed) {
    exchange.early = core_.error(exchange.parser.failure(), exchange.request);
    co_return false;
  }
  exchange.head_known = true;
  co_return true;
}

bool Connection::choose_route(Exchange& exchange) {
  RequestHead& head = exchange.parser.head();
  Request& request = exchange.request;
  exchange.body_taken = !head.has_body;
  request.method = head.method;
  request.headers = std::move(head.headers);
  if (const std::string_view id = request.header("x-request-id"); sane_request_id(id))
    request.request_id = id;
  auto target = parse_target(head.target);
  if (const auto* failure = std::get_if<Failure>(&target)) {
    exchange.early = core_.error(*failure, request);
    return false;
  }
  request.path = std::move(std::get<Target>(target).path);
  request.query = std::move(std::get<Target>(target).query);
  Router::Match match = core_.router.find(request.method, request.path);
  if (match.route == nullptr) {
    if (match.allow.empty()) {
      exchange.early = core_.error({404, "NOT_FOUND", "there is nothing at this address"}, request);
    } else {
      exchange.early =
          core_.error({405, "METHOD_NOT_ALLOWED", "this address takes " + match.allow}, request);
      exchange.early->headers.emplace_back("Allow", match.allow);
    }
    return false;
  }
  exchange.route = match.route;
  request.path_values = std::move(match.values);
  return true;
}

Connection::Task<bool> Connection::read_body(Exchange& exchange) {
  const RequestHead& head = exchange.parser.head();
  if (!head.has_body) co_return true;
  const Limits& limits = core_.options.limits;
  const std::size_t own = exchange.route->max_body_bytes;
  const std::size_t limit = own > 0 ? own : limits.max_body_bytes;
  std::optional<Failure> failure;
  if (head.content_length.value_or(0) > limit) failure = body_too_large(limit);
  // Said before the body is read, so that overload does not fill the memory with bodies.
  else if (core_.pool->full())
    failure = Failure{503, "OVERLOADED", "too many requests are waiting"};
  if (!failure && head.expects_continue) {
    const bool told = co_await send_all("HTTP/1.1 100 Continue\r\n\r\n");
    if (!told) co_return false;
  }
  arm(limits.body_timeout_ms);
  while (!failure) {
    const RequestParser::State state = exchange.parser.feed_body(buffer_, limit);
    if (state == RequestParser::State::kDone) {
      exchange.body_taken = true;
      exchange.request.body = exchange.parser.take_body();
      co_return true;
    }
    if (state == RequestParser::State::kFailed) {
      failure = exchange.parser.failure();
      break;
    }
    const bool more = co_await read_more();
    if (!more && !timed_out_) co_return false;
    if (!more) failure = Failure{408, "REQUEST_TIMEOUT", "the request body did not arrive in time"};
  }
  exchange.early = core_.error(*failure, exchange.request);
  co_return false;
}

Connection::Task<bool> Connection::handle(Exchange& exchange) {
  Response response;
  const std::function<void()> work = [this, &exchange, &response] {
    if (core_.killed.load()) return;  // nobody waits for the answer any more
    try {
      response = exchange.route->handler(exchange.request);
    } catch (const std::exception& e) {
      base::log(base::LogLevel::kError, "http_handler_failed",
                {{"route", exchange.route->pattern},
                 {"requestId", exchange.request.request_id},
                 {"error", e.what()}});
      response = core_.error({500, "INTERNAL", "an internal error"}, exchange.request);
    }
  };
  const bool accepted = co_await on_pool(HandlerPool::Kind::kRequest, work);
  if (!accepted) {
    response = core_.error({503, "OVERLOADED", "too many requests are waiting"}, exchange.request);
  }
  co_return co_await answer(exchange, response);
}

Connection::Task<bool> Connection::read_more() {
  if (timed_out_) co_return false;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  error_code error;
  const std::size_t got =
      co_await socket_.async_read_some(asio::buffer(buffer_.data() + before, kReadBytes),
                                       asio::redirect_error(asio::use_awaitable, error));
  buffer_.resize(before + got);
  co_return !error && got > 0;
}

Connection::Task<bool> Connection::on_pool(HandlerPool::Kind kind,
                                           const std::function<void()>& work) {
  auto initiate = [this, kind, &work](auto handler) {
    // The pool's jobs are copyable, a coroutine's continuation is not.
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    auto resume = [executor = socket_.get_executor(), shared](bool accepted) {
      asio::post(executor, [shared, accepted] {
        auto continuation = std::move(*shared);
        continuation(accepted);
      });
    };
    const bool accepted = core_.pool->submit(kind, [&work, resume] {
      work();
      resume(true);
    });
    if (!accepted) resume(false);
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(bool)>(
      initiate, asio::use_awaitable);
}

Connection::Task<void> Connection::pause(base::Millis ms) {
  ++generation_;
  timer_.expires_after(std::chrono::milliseconds(ms));
  interruptible_ = true;
  error_code ignored;
  co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  interruptible_ = false;
}

// Closing a socket with unread bytes resets it, and a reset can destroy the answer before the
// client has read it.
Connection::Task<void> Connection::linger() {
  error_code error;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  arm(kLingerMs);
  std::size_t drained = 0;
  while (!error && drained < kLingerBytes && !core_.stopping.load()) {
    buffer_.clear();
    if (!co_await read_more()) break;
    drained += buffer_.size();
  }
  disarm();
}

void Connection::arm(base::Millis ms) {
  timed_out_ = false;
  const std::uint64_t mine = ++generation_;
  timer_.expires_after(std::chrono::milliseconds(ms));
  timer_.async_wait([self = shared_from_this(), mine](error_code error) {
    if (error || mine != self->generation_) return;
    self->timed_out_ = true;
    error_code ignored;
    self->socket_.cancel(ignored);
  });
}

void Connection::disarm() {
  ++generation_;
  timer_.cancel();
}

}  // namespace waybill::http
