#include "client/testing/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/text.h"

namespace waybill::client::testing {
namespace {

constexpr std::size_t kMaxRequestHeadBytes = 1u << 20;
constexpr std::size_t kMaxRequestBodyBytes = 256u << 20;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string head_of(int status, const Headers& headers) {
  std::string head = "HTTP/1.1 " + std::to_string(status) + " Scripted\r\n";
  for (const auto& [name, value] : headers) head += name + ": " + value + "\r\n";
  return head;
}

std::string chunk_of(std::string_view part) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string size;
  for (std::size_t rest = part.size(); rest > 0; rest /= 16) size.insert(0, 1, kHex[rest % 16]);
  return size + "\r\n" + std::string(part) + "\r\n";
}

// Splits a complete request head; the body is still to come.
Received parse_head(std::string_view head) {
  Received request;
  bool first = true;
  for (std::string_view line : base::split(head, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::exchange(first, false)) {
      const std::vector<std::string_view> parts = base::split(line, ' ');
      if (parts.size() == 3) {
        request.method = parts[0];
        request.target = parts[1];
      }
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    request.headers.emplace_back(lower(line.substr(0, colon)),
                                 std::string(base::trim(line.substr(colon + 1))));
  }
  return request;
}

}  // namespace

std::string Received::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

bool Received::has_header(std::string_view name) const {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& h) { return h.first == name; });
}

Reply Reply::of(int status, const Headers& headers, std::string_view body) {
  Reply reply;
  reply.send(head_of(status, headers) + "Content-Length: " + std::to_string(body.size()) +
             "\r\n\r\n" + std::string(body));
  return reply;
}

Reply Reply::json(int status, std::string_view body) {
  return of(status, {{"Content-Type", "application/json"}}, body);
}

Reply Reply::chunked(int status, const Headers& headers, const std::vector<std::string>& parts) {
  Reply reply;
  reply.send(head_of(status, headers) + "Transfer-Encoding: chunked\r\n\r\n");
  for (const std::string& part : parts) reply.send(chunk_of(part));
  reply.send("0\r\n\r\n");
  return reply;
}

Reply& Reply::send(std::string_view bytes) {
  steps_.push_back({.kind = Kind::kSend, .bytes = std::string(bytes)});
  return *this;
}
Reply& Reply::repeat(std::string_view piece, std::int64_t times) { return drip(piece, 0, times); }
Reply& Reply::drip(std::string_view piece, base::Millis pause_ms, std::int64_t times) {
  steps_.push_back(
      {.kind = Kind::kRepeat, .bytes = std::string(piece), .times = times, .pause_ms = pause_ms});
  return *this;
}
Reply& Reply::hang() {
  steps_.push_back({.kind = Kind::kHang, .bytes = {}});
  return *this;
}
Reply& Reply::close() {
  steps_.push_back({.kind = Kind::kClose, .bytes = {}});
  return *this;
}
Reply& Reply::reset() {
  steps_.push_back({.kind = Kind::kReset, .bytes = {}});
  return *this;
}

struct ScriptedServer::Impl {
  Family family = Family::kIpv4;
  int listener = -1;
  int stop_event = -1;     // readable once the server ends; wakes every poll()
  int release_event = -1;  // readable once hangs are over
  int bound_port = 0;
  std::thread acceptor;

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  // Guarded by mutex:
  std::deque<Reply> queue;
  std::function<Reply(const Received&)> handler;
  std::vector<Received> received;
  std::list<std::thread> threads;
  int accepted = 0;
  int open = 0;
  bool stopping = false;

  void listen_on_loopback();
  void accept_all();
  void serve(int fd, int number);
  std::optional<Received> read_request(int fd, std::string& pending);
  Reply reply_for(const Received& request);
  bool play(int fd, const Reply& reply);
  bool repeat(int fd, const Reply::Step& step);
  bool send_all(int fd, std::string_view bytes);
  bool pause(base::Millis pause_ms);
  void hang(int fd);
  bool wait_readable(int fd);
};

void ScriptedServer::Impl::listen_on_loopback() {
  const int domain = family == Family::kIpv4 ? AF_INET : AF_INET6;
  listener = ::socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0);
  WAYBILL_CHECK(listener >= 0, "a test server needs a socket");
  sockaddr_storage address{};
  socklen_t length = 0;
  if (family == Family::kIpv4) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
    v4->sin_family = AF_INET;
    v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    length = sizeof *v4;
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
    v6->sin6_family = AF_INET6;
    v6->sin6_addr = in6addr_loopback;
    length = sizeof *v6;
  }
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  WAYBILL_CHECK(::bind(listener, generic, length) == 0, "a test server needs a loopback address");
  WAYBILL_CHECK(::listen(listener, 64) == 0, "a test server needs to listen");
  WAYBILL_CHECK(::getsockname(listener, generic, &length) == 0, "a bound socket has a name");
  bound_port =
      ntohs(family == Family::kIpv4 ? reinterpret_cast<sockaddr_in*>(&address)->sin_port
                                    : reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
}

// True when `fd` can be read (or was closed by the peer), false when the server ends.
bool ScriptedServer::Impl::wait_readable(int fd) {
  pollfd polled[] = {{fd, POLLIN, 0}, {stop_event, POLLIN, 0}};
  while (::poll(polled, 2, -1) < 0 && errno == EINTR) {
  }
  return polled[1].revents == 0;
}

void ScriptedServer::Impl::accept_all() {
  while (wait_readable(listener)) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const std::lock_guard lock(mutex);
    const int number = ++accepted;
    ++open;
    threads.emplace_back([this, fd, number] { serve(fd, number); });
    changed.notify_all();
  }
}

void ScriptedServer::Impl::serve(int fd, int number) {
  std::string pending;  // bytes of the next request that came with the last one
  for (;;) {
    std::optional<Received> request = read_request(fd, pending);
    if (!request) break;
    request->connection = number;
    {
      const std::lock_guard lock(mutex);
      received.push_back(*request);
      changed.notify_all();
    }
    if (!play(fd, reply_for(*request))) break;
  }
  ::close(fd);
  const std::lock_guard lock(mutex);
  --open;
  changed.notify_all();
}

std::optional<Received> ScriptedServer::Impl::read_request(int fd, std::string& pending) {
  std::optional<Received> request;
  std::size_t body_bytes = 0;
  for (;;) {
    if (!request) {
      const std::size_t end = pending.find("\r\n\r\n");
      if (end != std::string::npos) {
        request = parse_head(std::string_view(pending).substr(0, end));
        pending.erase(0, end + 4);
        const auto length = base::parse_int(request->header("content-length"));
        body_bytes = length && *length > 0 ? static_cast<std::size_t>(*length) : 0;
        if (body_bytes > kMaxRequestBodyBytes) return std::nullopt;
      } else if (pending.size() > kMaxRequestHeadBytes) {
        return std::nullopt;
      }
    }
    if (request && pending.size() >= body_bytes) {
      request->body = pending.substr(0, body_bytes);
      pending.erase(0, body_bytes);
      return request;
    }
    if (!wait_readable(fd)) return std::nullopt;
    char buffer[65'536];
    const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0) return std::nullopt;
    pending.append(buffer, static_cast<std::size_t>(got));
  }
}

Reply ScriptedServer::Impl::reply_for(const Received& request) {
  std::function<Reply(const Received&)> answer;
  {
    const std::lock_guard lock(mutex);
    if (!queue.empty()) {
      Reply reply = std::move(queue.front());
      queue.pop_front();
      return reply;
    }
    answer = handler;
  }
  return answer ? answer(request) : Reply::json(404, R"({"code":"404"})");
}

// False when the connection is over.
bool ScriptedServer::Impl::play(int fd, const Reply& reply) {
  for (const Reply::Step& step : reply.steps_) {
    switch (step.kind) {
      case Reply::Kind::kSend:
        if (!send_all(fd, step.bytes)) return false;
        break;
      case Reply::Kind::kRepeat:
        if (!repeat(fd, step)) return false;
        break;
      case Reply::Kind::kHang:
        hang(fd);
        break;
      case Reply::Kind::kClose:
        return false;
      case Reply::Kind::kReset: {
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        return false;
      }
    }
  }
  return true;
}

bool ScriptedServer::Impl::repeat(int fd, const Reply::Step& step) {
  for (std::int64_t i = 0; step.times < 0 || i < step.times; ++i) {
    if (step.pause_ms > 0 && !pause(step.pause_ms)) return false;
    if (!send_all(fd, step.bytes)) return false;
  }
  return true;
}

bool ScriptedServer::Impl::send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd polled[] = {{fd, POLLOUT, 0}, {stop_event, POLLIN, 0}};
    while (::poll(polled, 2, -1) < 0 && errno == EINTR) {
    }
    if (polled[1].revents != 0) return false;
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool ScriptedServer::Impl::pause(base::Millis pause_ms) {
  std::unique_lock lock(mutex);
  return !changed.wait_for(lock, std::chrono::milliseconds(pause_ms), [this] { return stopping; });
}

void ScriptedServer::Impl::hang(int fd) {
  pollfd polled[] = {{fd, POLLRDHUP, 0}, {stop_event, POLLIN, 0}, {release_event, POLLIN, 0}};
  while (::poll(polled, 3, -1) < 0 && errno == EINTR) {
  }
}

ScriptedServer::ScriptedServer(Family family) : impl_(std::make_unique<Impl>()) {
  impl_->family = family;
  impl_->stop_event = ::eventfd(0, EFD_CLOEXEC);
  impl_->release_event = ::eventfd(0, EFD_CLOEXEC);
  WAYBILL_CHECK(impl_->stop_event >= 0 && impl_->release_event >= 0, "a test server needs events");
  impl_->listen_on_loopback();
  impl_->acceptor = std::thread([impl = impl_.get()] { impl->accept_all(); });
}

ScriptedServer::~ScriptedServer() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->changed.notify_all();
  }
  ::eventfd_write(impl_->stop_event, 1);
  impl_->acceptor.join();
  // After the acceptor nobody adds to the list.
  for (std::thread& thread : impl_->threads) thread.join();
  ::close(impl_->listener);
  ::close(impl_->stop_event);
  ::close(impl_->release_event);
}

int ScriptedServer::port() const { return impl_->bound_port; }

std::string ScriptedServer::url(std::string_view target) const {
  const char* host = impl_->family == Family::kIpv4 ? "127.0.0.1" : "[::1]";
  return "http://" + std::string(host) + ":" + std::to_string(port()) + std::string(target);
}

void ScriptedServer::enqueue(Reply reply) {
  const std::lock_guard lock(impl_->mutex);
  impl_->queue.push_back(std::move(reply));
}

void ScriptedServer::handle(std::function<Reply(const Received&)> handler) {
  const std::lock_guard lock(impl_->mutex);
  impl_->handler = std::move(handler);
}

void ScriptedServer::release() { ::eventfd_write(impl_->release_event, 1); }

std::vector<Received> ScriptedServer::requests() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->received;
}

std::size_t ScriptedServer::request_count() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->received.size();
}

int ScriptedServer::connections() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->accepted;
}

int ScriptedServer::open_connections() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->open;
}

bool ScriptedServer::wait_for_requests(std::size_t count, base::Millis timeout_ms) const {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                 [&] { return impl_->received.size() >= count; });
}

bool ScriptedServer::wait_for_open_connections(int count, base::Millis timeout_ms) const {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                 [&] { return impl_->open == count; });
}

}  // namespace waybill::client::testing
