// A client that sends exactly the bytes it is told to. For tests only.

#ifndef WAYBILL_HTTP_RAW_CLIENT_FOR_TEST_H_
#define WAYBILL_HTTP_RAW_CLIENT_FOR_TEST_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace waybill::http {

struct RawResponse {
  int status = 0;                              // 0: the connection ended before a whole response
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

class RawClient {
 public:
  static constexpr int kPatienceMs = 20'000;  // only reached when the test fails

  explicit RawClient(std::uint16_t port, int receive_buffer = 0) : RawClient() {
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    connect(port);
  }
  // A socket without a connection.
  RawClient() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {}
  bool connect(std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    return connected_;
  }
  ~RawClient() { close(); }
  RawClient(RawClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        connected_(other.connected_),
        bytes_(std::move(other.bytes_)) {}
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  RawClient& operator=(RawClient&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(connected_, other.connected_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] int fd() const { return fd_; }
  void half_close() const { ::shutdown(fd_, SHUT_WR); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Takes whatever arrives next; false at the end of the connection.
  bool receive(std::size_t at_most = 65'536) {
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, kPatienceMs) <= 0) return false;
    std::string piece(at_most, '\0');
    const ssize_t got = ::recv(fd_, piece.data(), piece.size(), 0);
    if (got <= 0) return false;
    bytes_.append(piece, 0, static_cast<std::size_t>(got));
    return true;
  }
  // Waits until `text` has arrived and returns everything up to its end.
  std::string read_until(std::string_view text) {
    for (;;) {
      const std::size_t at = bytes_.find(text);
      if (at != std::string::npos) return take(at + text.size());
      if (!receive()) return {};
    }
  }
  // Everything until the server closes.
  std::string read_to_end() {
    while (receive()) {
    }
    return std::exchange(bytes_, {});
  }
  // True when the server ended the connection without sending more.
  bool closed_by_server() { return bytes_.empty() && !receive(); }

  RawResponse response(bool head_only = false) {
    RawResponse out;
    const std::string head = read_until("\r\n\r\n");
    if (head.empty()) return out;
    parse_head(head, out);
    if (head_only || out.status == 304 || out.status == 100) return out;
    if (out.headers.contains("transfer-encoding")) {
      for (;;) {
        const std::string line = read_until("\r\n");
        const std::size_t size = std::strtoul(line.c_str(), nullptr, 16);
        std::string chunk;
        if (line.empty() || !read_exactly(size + 2, chunk)) return {};
        if (size == 0) return out;
        out.body.append(chunk, 0, size);
      }
    }
    const std::size_t length = std::strtoul(out.headers["content-length"].c_str(), nullptr, 10);
    if (!read_exactly(length, out.body)) return {};
    return out;
  }

  RawResponse request(std::string_view bytes) {
    send(bytes);
    return response();
  }
  RawResponse get(const std::string& target, const std::string& headers = "") {
    return request("GET " + target + " HTTP/1.1\r\nHost: t\r\n" + headers + "\r\n");
  }
  RawResponse post(const std::string& target, const std::string& body,
                   const std::string& headers = "") {
    return request("POST " + target +
                   " HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: " +
                   std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body);
  }

 private:
  static void parse_head(const std::string& head, RawResponse& out) {
    out.status = std::atoi(head.c_str() + head.find(' ') + 1);
    std::size_t at = head.find("\r\n") + 2;
    while (at < head.size() - 2) {
      const std::size_t end = head.find("\r\n", at);
      const std::size_t colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      out.headers[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
  }
  std::string take(std::size_t size) {
    std::string out = bytes_.substr(0, size);
    bytes_.erase(0, size);
    return out;
  }
  bool read_exactly(std::size_t size, std::string& out) {
    while (bytes_.size() < size) {
      if (!receive()) return false;
    }
    out += take(size);
    return true;
  }

  int fd_;
  bool connected_ = false;
  std::string bytes_;
};

}  // namespace waybill::http

#endif  // WAYBILL_HTTP_RAW_CLIENT_FOR_TEST_H_
