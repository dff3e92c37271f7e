// One client connection from accept to close. Internal to http/.

#ifndef WAYBILL_HTTP_CONNECTION_H_
#define WAYBILL_HTTP_CONNECTION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/request_parser.h"
#include "http/server_core.h"

namespace waybill::http {

// Of a file or body, in memory and in the kernel's hands at one time.
inline constexpr std::size_t kPieceBytes = 128u << 10;

// Lives in its own strand: everything but stop() and kill() runs there. It keeps itself alive until
// it is closed.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ServerCore& core, boost::asio::ip::tcp::socket socket, std::string address,
             ConnectionTable::Admission admission);
  ~Connection();

  void start();
  // Any thread. No further request; an idle connection or an event stream ends now.
  void stop();
  // Any thread. Closes whatever is going on.
  void kill();

 private:
  template <class T>
  using Task = boost::asio::awaitable<T>;

  // What is known about the request being served.
  struct Exchange;

  Task<void> run();
  Task<void> refuse();
  Task<bool> wait_for_request(bool first);
  Task<bool> serve();  // true: the connection may carry another request
  Task<bool> read_head(Exchange& exchange);
  bool choose_route(Exchange& exchange);
  Task<bool> read_body(Exchange& exchange);
  Task<bool> handle(Exchange& exchange);
  Task<bool> answer(Exchange& exchange, Response& response);
  Task<bool> send_source(Response& response, std::string& piece);
  Task<bool> send_events(Exchange& exchange, Response& response, const std::string& head);
  Task<bool> send_all(std::string_view bytes);
  Task<bool> read_more();
  Task<bool> on_pool(HandlerPool::Kind kind, const std::function<void()>& work);
  Task<void> pause(base::Millis ms);
  Task<void> linger();

  void arm(base::Millis ms);
  void disarm();
  void close();
  void reset();
  [[nodiscard]] bool peer_is_gone();
  [[nodiscard]] std::int64_t unsent_bytes();
  void finish(const Exchange& exchange, int status);

  ServerCore& core_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  const std::string address_;
  const ConnectionTable::Admission admission_;
  std::string buffer_;            // bytes received and not yet taken
  std::uint64_t generation_ = 0;  // of the armed timer: an old one has no effect
  bool timed_out_ = false;
  bool interruptible_ = false;  // idle, or between two events: stop() may end it
  bool linger_ = false;         // bytes of the client may still be on their way: do not reset it
};

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_CONNECTION_H_
