// The answering half of a connection. The style note in connection.cc holds here too.

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "base/log.h"
#include "http/connection.h"
#include "http/connection_exchange.h"
#include "http/response_head.h"

namespace waybill::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

std::string chunk_size_line(std::size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (; size > 0; size >>= 4) hex.insert(hex.begin(), kDigits[size & 15]);
  return hex + "\r\n";
}

}  // namespace

Connection::Task<bool> Connection::answer(Exchange& exchange, Response& response) {
  const RequestHead& head = exchange.parser.head();
  Framing framing;
  // What was not read of a body would be taken for the next request.
  framing.keep_alive =
      exchange.head_known && head.keep_alive && exchange.body_taken && !core_.stopping.load();
  if (response.events && !exchange.is_head()) {
    framing.chunked = !head.http_1_0;
    framing.keep_alive = framing.keep_alive && framing.chunked;
  } else if (response.status != 304) {
    framing.content_length = response.source ? response.source_size : response.body.size();
  }
  std::string bytes = response_head(response, framing, core_.options.server_name,
                                    exchange.request.request_id, core_.clock.wall_ms());
  bool sent = false;
  if (exchange.is_head() || response.status == 304) {
    sent = co_await send_all(bytes);
  } else if (response.events) {
    sent = co_await send_events(exchange, response, bytes);
  } else if (response.source) {
    sent = co_await send_source(response, bytes);
    if (!sent) reset();
  } else {
    bytes += response.body;
    sent = co_await send_all(bytes);
  }
  finish(exchange, response.status);
  co_return sent&& framing.keep_alive && !core_.stopping.load();
}

// The next piece is read only when the last one is in the kernel's hands: a slow reader holds one
// piece, no more.
Connection::Task<bool> Connection::send_source(Response& response, std::string& piece) {
  std::uint64_t left = response.source_size;
  bool good = true;
  const std::function<void()> work = [&response, &piece, &good, &left] {
    try {
      good = response.source
                 ->read(static_cast<std::size_t>(std::min<std::uint64_t>(left, kPieceBytes)), piece)
                 .ok();
    } catch (const std::exception& e) {
      good = false;
      base::log(base::LogLevel::kError, "http_source_failed", {{"error", e.what()}});
    }
  };
  do {
    if (left > 0) {
      const std::size_t before = piece.size();
      co_await on_pool(HandlerPool::Kind::kContinuation, work);
      const std::size_t got = piece.size() - before;
      // Cut instead of filled up: the client sees a broken transfer.
      if (!good || got == 0 || got > left) co_return false;
      left -= got;
    }
    const bool sent = co_await send_all(piece);
    if (!sent) co_return false;
    piece.clear();
  } while (left > 0);
  co_return true;
}

Connection::Task<bool> Connection::send_events(Exchange& exchange, Response& response,
                                               const std::string& head) {
  const bool chunked = !exchange.parser.head().http_1_0;
  bool sent = co_await send_all(head);
  if (!sent) co_return false;
  std::string events;
  EventSource::Next next = EventSource::Next::kMore;
  const std::function<void()> work = [&response, &events, &next] {
    try {
      next = response.events->next(events);
    } catch (const std::exception& e) {
      base::log(base::LogLevel::kError, "http_events_failed", {{"error", e.what()}});
      next = EventSource::Next::kEnd;
    }
  };
  while (next == EventSource::Next::kMore) {
    events.clear();
    co_await on_pool(HandlerPool::Kind::kContinuation, work);
    if (!events.empty()) {
      if (chunked) events = chunk_size_line(events.size()) + events + "\r\n";
      sent = co_await send_all(events);
      if (!sent) co_return false;
    }
    if (core_.stopping.load() || peer_is_gone()) break;
    if (next == EventSource::Next::kMore) co_await pause(kEventPollMs);
    if (core_.stopping.load()) break;
  }
  if (chunked) sent = co_await send_all("0\r\n\r\n");
  co_return sent;
}

// Slow is allowed, standing still is not: the time-out runs from the last byte that the client
// acknowledged.
Connection::Task<bool> Connection::send_all(std::string_view bytes) {
  std::int64_t unsent = 0;
  while (!bytes.empty()) {
    arm(core_.options.limits.write_timeout_ms);
    unsent = unsent_bytes();
    error_code error;
    std::size_t sent = 0;
    for (;;) {
      sent = co_await socket_.async_write_some(asio::buffer(bytes.data(), bytes.size()),
                                               asio::redirect_error(asio::use_awaitable, error));
      const std::int64_t now_unsent = unsent_bytes();
      if (!timed_out_ || now_unsent >= unsent || sent > 0 || !socket_.is_open()) break;
      unsent = now_unsent;
      error = {};
      arm(core_.options.limits.write_timeout_ms);
    }
    if (error) {
      disarm();
      co_return false;
    }
    bytes.remove_prefix(sent);
  }
  disarm();
  co_return true;
}

// A broken transfer ends with a reset, so that no client takes what it got for the whole.
void Connection::reset() {
  error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

bool Connection::peer_is_gone() {
  if (!socket_.is_open()) return true;
  char byte = 0;
  return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

std::int64_t Connection::unsent_bytes() {
  int bytes = 0;
  return socket_.is_open() && ::ioctl(socket_.native_handle(), SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

void Connection::finish(const Exchange& exchange, int status) {
  if (!core_.options.on_request) return;
  const std::string route =
      exchange.route != nullptr ? exchange.route->pattern : std::string(kUnmatchedRoute);
  core_.options.on_request(exchange.request, route, status,
                           core_.clock.boot_ms() - exchange.started_ms);
}

}  // namespace waybill::http
