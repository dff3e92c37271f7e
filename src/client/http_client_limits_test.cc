// The client against peers that are slow, broken or hostile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "client/address.h"
#include "client/http_client.h"
#include "client/testing/scripted_server.h"

namespace waybill::client {
namespace {

using base::ErrorCategory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Received;
using testing::Reply;
using testing::ScriptedServer;

constexpr const char* kEndless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

class HttpClientLimits : public ::testing::Test {
 protected:
  HttpClientLimits() {
    AllowList list;
    EXPECT_TRUE(list.allow(server_.url()).ok());
    client_ = make_http_client(list);
    request_.url = server_.url("/page?token=secret");
    request_.body = "{}";
  }

  base::Error failure() {
    const auto response = client_->send(request_);
    EXPECT_FALSE(response.ok());
    if (response.ok()) return base::internal("no failure");
    EXPECT_THAT(response.error().message, Not(HasSubstr("secret")));
    EXPECT_THAT(response.error().message, HasSubstr("127.0.0.1:" + std::to_string(server_.port())));
    return response.error();
  }

  // The client still works, and not over the connection of the failure.
  void expect_recovery() {
    server_.enqueue(Reply::json(200, R"({"ok":1})"));
    const auto response = client_->send(request_);
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->body, R"({"ok":1})");
  }

  ScriptedServer server_;
  std::unique_ptr<HttpClient> client_;
  Request request_;
};

TEST_F(HttpClientLimits, ShortBodiesAreNoAnswers) {
  const Reply replies[] = {
      Reply::nothing().send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":").close(),
      Reply::nothing().send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n").close(),
      Reply::nothing().send(std::string(kEndless) + "64\r\n{\"half\":").close(),  // inside a chunk
      Reply::nothing()
          .send(std::string(kEndless) + "2\r\n{}\r\n")
          .close(),  // before the last chunk
      Reply::nothing().send(std::string(kEndless) + "2\r\n{}").close(),
      Reply::nothing().send(kEndless).close(),
      Reply::nothing().send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":").reset(),
  };
  for (const Reply& reply : replies) {
    server_.enqueue(reply);
    EXPECT_EQ(failure().category, ErrorCategory::kUnavailable);
  }
  expect_recovery();
}

TEST_F(HttpClientLimits, BrokenProtocolIsUnavailable) {
  const Reply replies[] = {
      Reply::nothing().close(),
      Reply::nothing().reset(),
      Reply::nothing().send("SSH-2.0-OpenSSH_9.2\r\n").close(),
      Reply::nothing().send("hello").close(),
      Reply::nothing().send("HTTP/1.1 200 OK\r\nConte").close(),
      Reply::nothing().send("HTTP/1.1 200 OK\r\nX-Whole: line\r\n").close(),
      Reply::nothing().send(std::string(kEndless) + "zz\r\n{}\r\n0\r\n\r\n").close(),
      Reply::nothing().send(std::string(kEndless) + "ffffffffffffffffff\r\n{}").close(),
      Reply::nothing().send("HTTP/1.1 200 OK\r\nContent-Length: nonsense\r\n\r\n{}").close(),
  };
  int number = 0;
  for (const Reply& reply : replies) {
    server_.enqueue(reply);
    EXPECT_EQ(failure().category, ErrorCategory::kUnavailable) << number;
    ++number;
  }
  expect_recovery();
}

TEST_F(HttpClientLimits, ABodyThatEndsWithTheConnectionIsComplete) {
  // HTTP/1.0 style: nothing says how long it is, so only its reader can tell whether it was cut.
  server_.enqueue(Reply::nothing().send("HTTP/1.0 200 OK\r\n\r\n{\"a\":1}").close());
  const auto response = client_->send(request_);
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->body, "{\"a\":1}");
  server_.enqueue(Reply::nothing().send("HTTP/1.1 200 OK\r\n\r\n{\"a\":1").reset());
  EXPECT_EQ(failure().category, ErrorCategory::kUnavailable);
}

TEST_F(HttpClientLimits, TheBodyLimitIsExact) {
  request_.max_body_bytes = 1'000'000;
  for (const bool chunked : {false, true}) {
    for (const std::size_t size : {999'999u, 1'000'000u, 1'000'001u}) {
      const std::string body(size, 'b');
      server_.enqueue(chunked
                          ? Reply::chunked(200, {}, {body.substr(0, 600'000), body.substr(600'000)})
                          : Reply::of(200, {}, body));
      const auto response = client_->send(request_);
      ASSERT_EQ(response.ok(), size <= 1'000'000) << size;
      if (response.ok()) {
        EXPECT_EQ(response->body.size(), size);
        continue;
      }
      EXPECT_EQ(response.error().category, ErrorCategory::kLimit);
      EXPECT_EQ(response.error().field, "body");
      EXPECT_EQ(response.error().limit, "1000000");
      EXPECT_EQ(response.error().unit, "bytes");
      EXPECT_EQ(response.error().actual, "1000001");
    }
  }
  request_.max_body_bytes = 0;
  server_.enqueue(Reply::of(200, {}, ""));
  EXPECT_TRUE(client_->send(request_).ok());
  server_.enqueue(Reply::of(200, {}, "x"));
  EXPECT_EQ(client_->send(request_).error().category, ErrorCategory::kLimit);
}

TEST_F(HttpClientLimits, LargeBodiesPassWhenTheSettingSaysSo) {
  request_.max_body_bytes = 64u << 20;
  request_.total_timeout_ms = 60'000;
  server_.enqueue(Reply::of(200, {}, std::string(64u << 20, 'b')));
  const auto response = client_->send(request_);
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->body.size(), 64u << 20);
}

TEST_F(HttpClientLimits, AnEndlessBodyIsCutWhileReading) {
  const std::string chunk = "10000\r\n" + std::string(65'536, 'e') + "\r\n";
  server_.enqueue(Reply::nothing().send(kEndless).repeat(chunk));
  EXPECT_EQ(failure().field, "body");
  ASSERT_TRUE(server_.wait_for_open_connections(0)) << "the peer is told at once";
  server_.enqueue(
      Reply::nothing().send("HTTP/1.1 200 OK\r\n\r\n").repeat(std::string(65'536, 'e')));
  EXPECT_EQ(failure().field, "body");
  // An announced length is refused before a byte of it came.
  server_.enqueue(
      Reply::nothing().send("HTTP/1.1 200 OK\r\nContent-Length: 500000000\r\n\r\n").hang());
  const base::Error error = failure();
  EXPECT_EQ(error.field, "body");
  EXPECT_EQ(error.actual, "500000000");
  expect_recovery();
}

std::string gzip_of_zeros(std::size_t megabytes) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string zeros(1u << 20, '\0');
  std::string out(2u << 20, '\0');
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  for (std::size_t i = 0; i < megabytes; ++i) {
    stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
    stream.avail_in = static_cast<uInt>(zeros.size());
    ::deflate(&stream, i + 1 == megabytes ? Z_FINISH : Z_NO_FLUSH);
  }
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

// D101: a page that says Content-Encoding is then refused by the provider client.
TEST_F(HttpClientLimits, ADecompressionBombIsNotUnpacked) {
  const std::string bomb = gzip_of_zeros(128);
  ASSERT_LT(bomb.size(), 1u << 20);
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  // As content it stays as it is, with the header for the caller to refuse.
  server_.enqueue(Reply::of(200, {{"Content-Encoding", "gzip"}}, bomb));
  const auto response = client_->send(request_);
  ASSERT_TRUE(response.ok());
  EXPECT_TRUE(response->body == bomb);
  EXPECT_EQ(response->header("content-encoding"), "gzip");
  // As a transfer coding the limit counts decoded bytes.
  server_.enqueue(
      Reply::nothing()
          .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nConnection: close\r\n\r\n" + bomb)
          .close());
  const auto coded = client_->send(request_);
  if (coded.ok()) {
    EXPECT_LE(coded->body.size(), request_.max_body_bytes);
  }
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1'024) << "KiB";
}

TEST_F(HttpClientLimits, HeadersAreLimited) {
  const std::string line = "X-Filler: " + std::string(1'000, 'h') + "\r\n";
  server_.enqueue(Reply::nothing().send("HTTP/1.1 200 OK\r\n").repeat(line));
  base::Error error = failure();
  EXPECT_EQ(error.category, ErrorCategory::kLimit);
  EXPECT_EQ(error.field, "headers");
  EXPECT_EQ(error.limit, "65536");
  // One line that never ends, interim answers that never end, trailers that never end.
  server_.enqueue(Reply::nothing().send("HTTP/1.1 200 OK\r\nX: ").repeat(std::string(1'000, 'h')));
  EXPECT_EQ(failure().field, "headers");
  server_.enqueue(Reply::nothing().repeat("HTTP/1.1 103 Early\r\nX: 1\r\n\r\n"));
  EXPECT_EQ(failure().field, "headers");
  server_.enqueue(Reply::nothing().send(std::string(kEndless) + "2\r\n{}\r\n0\r\n").repeat(line));
  error = failure();
  EXPECT_EQ(error.category, ErrorCategory::kLimit) << error.message;
  EXPECT_EQ(error.field, "headers") << error.message;
  expect_recovery();
}

TEST_F(HttpClientLimits, ASilentPeerTimesOut) {
  request_.total_timeout_ms = 150;
  server_.enqueue(Reply::nothing().hang());
  const base::Error error = failure();
  EXPECT_EQ(error.category, ErrorCategory::kTimeout);
  EXPECT_THAT(error.message, AllOf(HasSubstr("150 ms"), HasSubstr("0 bytes")));
  ASSERT_TRUE(server_.wait_for_open_connections(0));
  request_.total_timeout_ms = 10'000;
  expect_recovery();
}

TEST_F(HttpClientLimits, ADripCannotExtendTheTimeOut) {
  request_.total_timeout_ms = 250;
  server_.enqueue(Reply::nothing().send(kEndless).drip("1\r\nx\r\n", 20));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(failure().category, ErrorCategory::kTimeout);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, std::chrono::milliseconds(250));
  EXPECT_LT(took, std::chrono::seconds(5));
  // The same with headers, and with a body that is announced.
  server_.enqueue(Reply::nothing().send("HTTP/1.1 200 OK\r\n").drip("X: 1\r\n", 20));
  EXPECT_EQ(failure().category, ErrorCategory::kTimeout);
  server_.enqueue(
      Reply::nothing().send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n").drip("x", 20));
  EXPECT_EQ(failure().category, ErrorCategory::kTimeout);
}

// D120: without a descriptor the call fails like one to a service that is away, so its task is
// tried again; the next call works.
TEST_F(HttpClientLimits, WithoutDescriptorsACallFailsAndTheNextOneWorks) {
  // The undefined-behaviour sanitizer opens a pipe when it first sees a class: it sees these now.
  // No connection is kept that the next call could use.
  server_.enqueue(Reply::of(200, {{"Connection", "close"}}, "{}"));
  ASSERT_TRUE(client_->send(request_).ok());
  const auto requests = server_.request_count();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = 3;  // open descriptors stay, new ones are refused
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  const auto refused = client_->send(request_);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().category, ErrorCategory::kUnavailable) << refused.error().message;
  EXPECT_EQ(server_.request_count(), requests);
  expect_recovery();
}

// A port that takes connections into a full queue and never answers.
class DeafPort {
 public:
  DeafPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(fd_, 0), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    for (int& filler : fillers_) {
      filler = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      static_cast<void>(::connect(filler, reinterpret_cast<sockaddr*>(&address), length));
    }
  }
  ~DeafPort() {
    for (const int filler : fillers_) ::close(filler);
    ::close(fd_);
  }
  DeafPort(const DeafPort&) = delete;
  DeafPort& operator=(const DeafPort&) = delete;
  [[nodiscard]] int port() const { return port_; }

 private:
  int fd_;
  int port_ = 0;
  int fillers_[4] = {};
};

TEST_F(HttpClientLimits, ConnectingHasItsOwnTimeOut) {
  const DeafPort deaf;
  const std::string url = "http://127.0.0.1:" + std::to_string(deaf.port());
  AllowList list;
  ASSERT_TRUE(list.allow(url).ok());
  request_.url = url + "/?token=secret";
  request_.connect_timeout_ms = 150;
  const auto response = make_http_client(list)->send(request_);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().category, ErrorCategory::kTimeout);
  EXPECT_EQ(response.error().message,
            "no connection to 127.0.0.1:" + std::to_string(deaf.port()) + " within 150 ms");
}

TEST_F(HttpClientLimits, APeerThatDoesNotReadTimesOutToo) {
  // It reads nothing at all, so a large request never gets through.
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(fd, 4), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  AllowList list;
  ASSERT_TRUE(list.allow(url).ok());
  request_.url = url;
  request_.body = std::string(32u << 20, 'u');
  request_.total_timeout_ms = 200;
  const auto response = make_http_client(list)->send(request_);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().category, ErrorCategory::kTimeout);
  ::close(fd);
}

TEST_F(HttpClientLimits, StopEndsACallToASilentPeer) {
  std::atomic<bool> stop = false;
  request_.stop = [&] { return stop.load(); };
  request_.total_timeout_ms = 60'000;
  server_.enqueue(Reply::nothing().hang());
  std::thread stopper([&] {
    EXPECT_TRUE(server_.wait_for_requests(1));
    stop = true;
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(failure().category, ErrorCategory::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  stopper.join();
  EXPECT_TRUE(server_.wait_for_open_connections(0));
  // Asked before anything is sent, too.
  EXPECT_EQ(failure().category, ErrorCategory::kCancelled);
  EXPECT_EQ(server_.request_count(), 1u);
}

TEST_F(HttpClientLimits, StopIsAskedAtLeastEvery200Ms) {
  using Clock = std::chrono::steady_clock;
  std::vector<Clock::time_point> asked;
  request_.stop = [&] {
    asked.push_back(Clock::now());
    return asked.size() >= 8;
  };
  request_.total_timeout_ms = 60'000;
  server_.enqueue(Reply::nothing().hang());
  EXPECT_EQ(failure().category, ErrorCategory::kCancelled);
  const auto gap = (asked.back() - asked.front()) / 7;  // the mean: a busy machine may be late once
  EXPECT_LE(gap, std::chrono::milliseconds(200));
}

TEST_F(HttpClientLimits, ErrorsNameThePlaceAndTheReason) {
  int free_port = 0;
  {
    const ScriptedServer gone;
    free_port = gone.port();
  }
  const std::string refusing = "127.0.0.1:" + std::to_string(free_port);
  const std::string unknown = "no-such-host.invalid:81";
  const std::string no_tls = "127.0.0.1:" + std::to_string(server_.port());
  AllowList list;
  ASSERT_TRUE(list.allow("http://" + refusing).ok());
  ASSERT_TRUE(list.allow("http://" + unknown).ok());
  ASSERT_TRUE(list.allow("https://" + no_tls).ok());
  ASSERT_TRUE(list.allow(server_.url()).ok());
  client_ = make_http_client(list);
  const std::string good_url = request_.url;
  const auto message_of = [&](const std::string& start) {
    request_.url = start + "/?token=secret";
    const auto response = client_->send(request_);
    EXPECT_FALSE(response.ok());
    const std::string message = response.ok() ? "" : response.error().message;
    EXPECT_TRUE(response.ok() || base::is_transient(response.error().category)) << message;
    EXPECT_THAT(message, Not(HasSubstr("secret")));
    // A failure leaves nothing behind that would spoil the next call over the same slot.
    request_.url = good_url;
    expect_recovery();
    return message;
  };
  EXPECT_EQ(message_of("http://" + refusing), "connection refused by " + refusing);
  // Without any name server the look-up may end by its time-out instead.
  request_.connect_timeout_ms = 1'000;
  EXPECT_THAT(message_of("http://" + unknown), HasSubstr("no-such-host.invalid"));
  // A peer that speaks no TLS takes the greeting for a request without an end.
  request_.connect_timeout_ms = 200;
  EXPECT_EQ(message_of("https://" + no_tls), "no connection to " + no_tls + " within 200 ms");
}

TEST(Address, LinkLocalAndMetadataAreForbiddenWhateverNameLedThere) {
  const auto v4 = [](std::uint32_t ip) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(ip);
    return forbidden_address(reinterpret_cast<const sockaddr&>(address));
  };
  EXPECT_TRUE(v4(0xA9FEA9FE));   // 169.254.169.254
  EXPECT_TRUE(v4(0x646464C8));   // 100.100.100.200
  EXPECT_FALSE(v4(0x7F000001));  // 127.0.0.1
  EXPECT_FALSE(v4(0x0A000001));  // 10.0.0.1
  sockaddr other{};
  other.sa_family = AF_UNIX;
  EXPECT_TRUE(forbidden_address(other));
}

}  // namespace
}  // namespace waybill::client
