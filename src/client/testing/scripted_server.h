// A small HTTP server for tests that does exactly what it is told, also what no good server would:
// drip, hang, close early, reset, send broken chunks or endless bodies. Plain sockets on 127.0.0.1
// (or [::1]), a port of its own.
//
//   ScriptedServer server;
//   server.enqueue(Reply::json(200, R"({"code":"200"})"));
//   ... send something to server.url("/path") ...
//   EXPECT_EQ(server.requests().at(0).body, "{}");
//
// Nothing in it sleeps: pauses and hangs wait on a condition that release() or the destructor
// raises.

#ifndef WAYBILL_CLIENT_TESTING_SCRIPTED_SERVER_H_
#define WAYBILL_CLIENT_TESTING_SCRIPTED_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace waybill::client::testing {

using Headers = std::vector<std::pair<std::string, std::string>>;

// One request as it came.
struct Received {
  int connection = 0;  // 1, 2, ... in order of acceptance
  std::string method;
  std::string target;  // "/path?query"
  Headers headers;     // names in lower case, in order
  std::string body;
  // The first value, empty when absent. `name` in lower case.
  [[nodiscard]] std::string header(std::string_view name) const;
  [[nodiscard]] bool has_header(std::string_view name) const;
};

// What to do for one request: steps in order. The connection is kept for the next request unless a
// step ends it.
class Reply {
 public:
  // A well-formed answer with Content-Length.
  static Reply of(int status, const Headers& headers, std::string_view body);
  static Reply json(int status, std::string_view body);
  // A well-formed chunked answer, one chunk per part.
  static Reply chunked(int status, const Headers& headers, const std::vector<std::string>& parts);
  // Nothing yet; add steps.
  static Reply nothing() { return {}; }

  // Each adds a step and returns *this.
  Reply& send(std::string_view bytes);
  // `piece` again and again, `times` times or for ever (-1) until the peer closes.
  Reply& repeat(std::string_view piece, std::int64_t times = -1);
  // As repeat(), with a pause before each piece: a drip.
  Reply& drip(std::string_view piece, base::Millis pause_ms, std::int64_t times = -1);
  // Waits until release(), the peer closes, or the server ends.
  Reply& hang();
  Reply& close();  // orderly
  Reply& reset();  // the peer sees "connection reset"

 private:
  friend class ScriptedServer;
  enum class Kind : std::uint8_t { kSend, kRepeat, kHang, kClose, kReset };
  struct Step {
    Kind kind;
    std::string bytes;
    std::int64_t times = 1;
    base::Millis pause_ms = 0;
  };
  std::vector<Step> steps_;
};

// Thread-safe. The destructor closes everything and waits for its threads.
class ScriptedServer {
 public:
  enum class Family : std::uint8_t { kIpv4, kIpv6 };
  explicit ScriptedServer(Family family = Family::kIpv4);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] int port() const;
  // "http://127.0.0.1:PORT" + target.
  [[nodiscard]] std::string url(std::string_view target = "") const;

  // Answers for the next requests, in order.
  void enqueue(Reply reply);
  // Answers everything the queue has nothing for; without a handler that is 404. Runs on the
  // connection's thread, for several connections at once.
  void handle(std::function<Reply(const Received&)> handler);

  // Ends all present hangs, and those that begin later.
  void release();

  // Requests read completely, in order of arrival.
  [[nodiscard]] std::vector<Received> requests() const;
  [[nodiscard]] std::size_t request_count() const;
  // Connections accepted so far, and still open.
  [[nodiscard]] int connections() const;
  [[nodiscard]] int open_connections() const;

  // False when it did not happen within `timeout_ms`.
  [[nodiscard]] bool wait_for_requests(std::size_t count, base::Millis timeout_ms = 10'000) const;
  [[nodiscard]] bool wait_for_open_connections(int count, base::Millis timeout_ms = 10'000) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace waybill::client::testing

#endif  // WAYBILL_CLIENT_TESTING_SCRIPTED_SERVER_H_
