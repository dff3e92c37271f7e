// The client against a peer that behaves well; hostile peers are in http_client_limits_test.cc.

#include "client/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "client/testing/scripted_server.h"

namespace waybill::client {
namespace {

using base::ErrorCategory;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Received;
using testing::Reply;
using testing::ScriptedServer;
using ::testing::StartsWith;

std::unique_ptr<HttpClient> client_for(const ScriptedServer& server) {
  AllowList list;
  EXPECT_TRUE(list.allow(server.url()).ok());
  return make_http_client(list);
}

Request post(const ScriptedServer& server, std::string_view target = "/page") {
  Request request;
  request.url = server.url(target);
  request.headers = {{"Content-Type", "application/json"}, {"X-Internal-Service-Token", "hush"}};
  request.body = R"({"cursor":null})";
  return request;
}

TEST(HttpClient, SendsExactlyTheRequestAndReturnsTheAnswer) {
  ScriptedServer server;
  server.enqueue(Reply::of(200,
                           {{"Content-Type", "application/json"}, {"X-Two", "a"}, {"x-two", "b"}},
                           R"({"code":"200"})"));
  const auto response = client_for(server)->send(post(server, "/internal/x/../y?a=%2F"));
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, R"({"code":"200"})");
  EXPECT_EQ(response->header("content-type"), "application/json");
  EXPECT_EQ(response->header("x-two"), "a");
  EXPECT_EQ(response->header("absent"), "");

  const Received request = server.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/internal/x/../y?a=%2F");
  EXPECT_EQ(request.body, R"({"cursor":null})");
  EXPECT_EQ(request.header("x-internal-service-token"), "hush");
  EXPECT_EQ(request.header("host"), "127.0.0.1:" + std::to_string(server.port()));
  for (const char* unwanted :
       {"accept-encoding", "expect", "cookie", "transfer-encoding", "te", "upgrade"}) {
    EXPECT_FALSE(request.has_header(unwanted)) << unwanted;
  }
}

TEST(HttpClient, AStreamedBodyIsHandedOverInPieces) {
  ScriptedServer server;
  const std::string big(3u << 20, 'x');
  server.enqueue(Reply::of(200, {{"ETag", "e"}}, big));
  Request request = post(server);
  request.method = "GET";
  request.body.clear();
  std::string got;
  int pieces = 0;
  request.on_body = [&](std::string_view bytes) -> base::Status {
    got.append(bytes);
    ++pieces;
    return {};
  };
  const auto response = client_for(server)->send(request);
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->header("etag"), "e");
  EXPECT_TRUE(response->body.empty());
  EXPECT_EQ(got, big);
  EXPECT_GT(pieces, 1);
}

TEST(HttpClient, AStreamedBodyStopsAtTheLimitAndAtTheTakersError) {
  ScriptedServer server;
  server.handle([](const Received&) { return Reply::chunked(200, {}, {"12345", "67890"}); });
  const auto client = client_for(server);
  Request request = post(server);
  request.max_body_bytes = 9;
  request.on_body = [](std::string_view) { return base::Status(); };
  const auto over = client->send(request);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().category, ErrorCategory::kLimit);
  request.max_body_bytes = 10;
  EXPECT_TRUE(client->send(request).ok());
  request.on_body = [](std::string_view) { return base::Status(base::internal("disk full")); };
  const auto refused = client->send(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "disk full");
}

TEST(HttpClient, TheBodyOfAnErrorAnswerIsNotStreamed) {
  ScriptedServer server;
  server.enqueue(Reply::json(410, "gone"));
  Request request = post(server);
  request.on_body = [](std::string_view) { return base::Status(base::internal("never called")); };
  const auto response = client_for(server)->send(request);
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->body, "gone");
}

TEST(HttpClient, EveryMethodGoesOutAsItIs) {
  ScriptedServer server;
  server.handle([](const Received& request) {
    if (request.method == "HEAD")
      return Reply::nothing().send("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n");
    return Reply::of(200, {}, request.body);
  });
  const auto client = client_for(server);
  for (const char* method : {"GET", "HEAD", "PUT", "DELETE", "POST", "PATCH"}) {
    Request request = post(server);
    request.method = method;
    request.headers = {{"X-Empty", ""}};
    request.body = "";
    const auto response = client->send(request);
    ASSERT_TRUE(response.ok()) << method << ": " << response.error().message;
    EXPECT_EQ(response->body, "") << method;
    const Received received = server.requests().back();
    EXPECT_EQ(received.method, method);
    EXPECT_TRUE(received.has_header("x-empty")) << method;
    EXPECT_FALSE(received.has_header("content-type")) << method;
  }
  Request request = post(server);
  request.method = "PUT";
  request.body = std::string(3'000'000, 'p');
  const auto response = client->send(request);
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_TRUE(response->body == request.body);
  EXPECT_FALSE(server.requests().back().has_header("expect"));
}

TEST(HttpClient, AnyCompleteAnswerIsAResponse) {
  ScriptedServer server;
  const auto client = client_for(server);
  for (const int status : {200, 204, 302, 400, 401, 404, 418, 429, 500, 503}) {
    server.enqueue(Reply::of(status, {{"Retry-After", "7"}}, ""));
    const auto response = client->send(post(server));
    ASSERT_TRUE(response.ok()) << status;
    EXPECT_EQ(response->status, status);
    EXPECT_EQ(response->header("retry-after"), "7");
  }
}

TEST(HttpClient, ReadsChunksInterimAnswersAndTrailers) {
  ScriptedServer server;
  const auto client = client_for(server);
  server.enqueue(Reply::chunked(200, {}, {"one", "two", std::string(100'000, 'x')}));
  EXPECT_EQ(client->send(post(server))->body, "onetwo" + std::string(100'000, 'x'));
  server.enqueue(
      Reply::nothing().send("HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\n"
                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "2\r\nok\r\n0\r\nX-Trailer: 1\r\n\r\n"));
  const auto response = client->send(post(server));
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "ok");
  EXPECT_EQ(response->header("x-early"), "");
  EXPECT_EQ(response->header("x-trailer"), "");
}

TEST(HttpClient, KeepsConnectionsBetweenCalls) {
  ScriptedServer server;
  server.handle([](const Received&) { return Reply::json(200, "{}"); });
  const auto client = client_for(server);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client->send(post(server)).ok());
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, AClosedIdleConnectionIsReplaced) {
  ScriptedServer server;
  const auto client = client_for(server);
  server.enqueue(Reply::json(200, "{}").close());
  ASSERT_TRUE(client->send(post(server)).ok());
  ASSERT_TRUE(server.wait_for_open_connections(0));
  server.enqueue(Reply::json(200, "{}"));
  const auto response = client->send(post(server));
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(server.connections(), 2);
}

TEST(HttpClient, APostThatMayHaveBeenObeyedIsNotSentTwice) {
  ScriptedServer server;
  const auto client = client_for(server);
  server.enqueue(Reply::json(200, "{}"));
  ASSERT_TRUE(client->send(post(server)).ok());
  server.enqueue(Reply::nothing().close());  // on the reused connection, after reading the request
  const auto response = client->send(post(server));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().category, ErrorCategory::kUnavailable);
  EXPECT_THAT(response.error().message, HasSubstr("closed the connection without an answer"));
  EXPECT_EQ(server.request_count(), 2u);
}

TEST(HttpClient, AGetIsRepeatedOnANewConnection) {
  ScriptedServer server;
  const auto client = client_for(server);
  Request request = post(server);
  request.method = "GET";
  request.body = "";
  server.enqueue(Reply::json(200, "{}"));
  ASSERT_TRUE(client->send(request).ok());
  server.enqueue(Reply::nothing().close());
  server.enqueue(Reply::json(200, "{}"));
  EXPECT_TRUE(client->send(request).ok());
  EXPECT_EQ(server.request_count(), 3u);
}

TEST(HttpClient, ManyThreadsShareOneClient) {
  ScriptedServer server;
  server.handle([](const Received& request) { return Reply::of(200, {}, request.body); });
  const auto client = client_for(server);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        Request request = post(server);
        request.body = std::to_string(t) + "/" + std::to_string(i);
        const auto response = client->send(request);
        if (!response.ok() || response->body != request.body) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(server.connections(), 8);
}

TEST(HttpClient, SpeaksIpv6) {
  ScriptedServer server(ScriptedServer::Family::kIpv6);
  server.enqueue(Reply::json(200, "{}"));
  const auto response = client_for(server)->send(post(server));
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_THAT(server.requests().at(0).header("host"), StartsWith("[::1]:"));
}

TEST(HttpClient, IgnoresProxiesOfTheEnvironment) {
  ScriptedServer server;
  ScriptedServer trap;
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) {
    ::setenv(name, trap.url().c_str(), 1);
  }
  server.enqueue(Reply::json(200, "{}"));
  EXPECT_TRUE(client_for(server)->send(post(server)).ok());
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
  EXPECT_EQ(trap.connections(), 0);
}

TEST(HttpClient, NeverFollowsARedirect) {
  ScriptedServer server;
  ScriptedServer trap;
  AllowList list;
  ASSERT_TRUE(list.allow(server.url()).ok());
  ASSERT_TRUE(list.allow(trap.url()).ok());  // even where the other host is allowed
  const auto client = make_http_client(list);
  for (const int status : {301, 302, 303, 307, 308}) {
    for (const std::string& location : {trap.url("/x"), std::string("http://169.254.169.254/"),
                                        server.url("/y"), std::string("file:///etc/passwd")}) {
      server.enqueue(Reply::of(status, {{"Location", location}}, ""));
      const auto response = client->send(post(server));
      ASSERT_TRUE(response.ok());
      EXPECT_EQ(response->status, status);
      EXPECT_EQ(response->header("location"), location);
    }
  }
  EXPECT_EQ(trap.connections(), 0);
  EXPECT_EQ(server.request_count(), 20u);
}

TEST(HttpClient, ContactsOnlyTheAllowList) {
  ScriptedServer server;
  ScriptedServer trap;
  const auto client = client_for(server);
  const std::string port = std::to_string(trap.port());
  for (const std::string& url :
       {trap.url("/"), "http://localhost:" + port + "/", "http://[::ffff:127.0.0.1]:" + port + "/",
        "https://127.0.0.1:" + std::to_string(server.port()) + "/",
        std::string("http://169.254.169.254/latest")}) {
    Request request = post(server);
    request.url = url;
    const auto response = client->send(request);
    ASSERT_FALSE(response.ok()) << url;
    EXPECT_EQ(response.error().category, ErrorCategory::kDenied) << url;
  }
  for (const std::string& url :
       {"http://2130706433:" + port + "/", "http://0177.0.0.1:" + port + "/",
        "http://127.0.0.1:" + std::to_string(server.port()) + "@127.0.0.1:" + port + "/"}) {
    Request request = post(server);
    request.url = url;
    EXPECT_EQ(client->send(request).error().category, ErrorCategory::kInvalid) << url;
  }
  EXPECT_EQ(trap.connections(), 0);
  EXPECT_EQ(server.connections(), 0);
}

TEST(HttpClient, RefusesRequestsThatWouldBreakTheProtocol) {
  ScriptedServer server;
  const auto client = client_for(server);
  const auto refused = [&](auto change, const char* field) {
    Request request = post(server);
    change(request);
    const auto response = client->send(request);
    ASSERT_FALSE(response.ok()) << field;
    EXPECT_EQ(response.error().category, ErrorCategory::kInvalid);
    EXPECT_EQ(response.error().field, field);
    EXPECT_THAT(response.error().message, Not(HasSubstr("secret")));
  };
  const std::pair<std::string, std::string> bad_headers[] = {{"X-A", "secret\r\nX-B: 1"},
                                                             {"X-A", "secret\nX"},
                                                             {"X-A", "secret\rX"},
                                                             {"X-A", std::string("a\0b", 3)},
                                                             {"X-A\r\nX-B", "1"},
                                                             {"X A", "1"},
                                                             {"", "1"},
                                                             {"X:", "1"},
                                                             {"Content-Length", "1"},
                                                             {"transfer-encoding", "chunked"},
                                                             {"Host", "evil"},
                                                             {"Expect", "100-continue"},
                                                             {"Connection", "upgrade"}};
  for (const auto& header : bad_headers) {
    refused([&](Request& r) { r.headers.push_back(header); }, "headers");
  }
  for (const char* method :
       {"", "get", "GET X", "GET\r\n", "CONNECT", "TRACE", "ABCDEFGHIJKLMNOPQ"}) {
    refused([&](Request& r) { r.method = method; }, "method");
  }
  refused([](Request& r) { r.method = "HEAD"; }, "body");
  refused([](Request& r) { r.total_timeout_ms = 0; }, "total_timeout_ms");
  refused([](Request& r) { r.connect_timeout_ms = -1; }, "connect_timeout_ms");
  refused([](Request& r) { r.url += "\r\nX: 1"; }, "url");
  EXPECT_EQ(server.connections(), 0);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

TEST(HttpClient, GivesEverythingBackWhenItEnds) {
  ScriptedServer server;
  server.handle([](const Received&) { return Reply::json(200, "{}"); });
  ASSERT_TRUE(client_for(server)->send(post(server)).ok());
  ASSERT_TRUE(server.wait_for_open_connections(0));
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 50; ++i) {
    const auto client = client_for(server);
    ASSERT_TRUE(client->send(post(server)).ok());
    ASSERT_TRUE(client->send(post(server)).ok());
  }
  EXPECT_TRUE(server.wait_for_open_connections(0));
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace waybill::client
