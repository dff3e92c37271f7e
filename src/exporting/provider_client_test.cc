#include "exporting/provider_client.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/random.h"
#include "exporting/retry_after.h"
#include "exporting/testing/fakes.h"

namespace waybill::exporting {
namespace {

using testing::http_answer;
using testing::ManualWaiter;
using testing::ScriptedHttp;

constexpr base::Millis kWall = 784'111'777'000;  // Sun, 06 Nov 1994 08:49:37 GMT

const std::string kPage =
    R"({"code":"200","message":"ok","data":{"schemaHash":"h","snapshotToken":"snap",
  "columns":[{"key":"a","title":"A","type":"STRING"}],"rows":[{"a":"1"}],
  "nextCursor":"c1","hasMore":true}})";

class ProviderClientTest : public ::testing::Test {
 protected:
  std::variant<ProviderPage, Failure> fetch(const PageRequest& request = {}) {
    ProviderCall call;
    call.task.execution = {9'007'199'254'740'993, 3};
    call.task.type = "CUSTOMER_LIST";
    call.task.tenant_id = "t-1";
    call.task.app_code = "app";
    call.task.requested_by = "u-1";
    call.task.trace_id = "4bf92f35-77b3-4da6-a3ce-929d0e0e4736";
    call.parameters_json = R"({"status":"ACTIVE"})";
    call.service_name = "iam-service";
    call.service = {"http://iam:8080/", [this] { return token_; }};
    call.path = "/internal/exports/v1/CUSTOMER_LIST/batches";
    call.limit = 500;
    ProviderClient client(call, {http_, waiter_, clock_, random_, observer_, settings_, guard_});
    return client.fetch(request);
  }
  Failure failure(const PageRequest& request = {}) {
    auto result = fetch(request);
    if (auto* failed = std::get_if<Failure>(&result)) return *failed;
    ADD_FAILURE() << "a page came";
    return {};
  }
  void expect_permanent(const ScriptedHttp::Answer& answer, core::FailureClass failure_class,
                        const std::string& words) {
    const std::size_t before = http_.requests().size();
    http_.then(answer);
    const Failure failed = failure();
    EXPECT_EQ(failed.kind, Failure::Kind::kPermanent) << failed.message;
    EXPECT_EQ(failed.failure_class, failure_class) << failed.message;
    EXPECT_NE(failed.message.find(words), std::string::npos) << failed.message;
    EXPECT_EQ(http_.requests().size(), before + 1) << "permanent errors are not repeated";
  }

  base::Result<std::string> token_ = std::string("secret");
  base::ManualClock clock_{kWall};
  ManualWaiter waiter_{clock_};
  ScriptedHttp http_;
  base::SeededRandom random_{7};
  testing::CountingObserver observer_;
  ExportSettings settings_;
  std::shared_ptr<dispatch::StopFlag> stop_ = std::make_shared<dispatch::StopFlag>();
  Guard guard_{stop_, clock_, 0};
};

TEST_F(ProviderClientTest, SendsExactlyTheContract) {
  http_.then(http_answer(200, kPage));
  ASSERT_TRUE(std::holds_alternative<ProviderPage>(fetch()));
  http_.then(http_answer(200, kPage));
  ASSERT_TRUE(std::holds_alternative<ProviderPage>(fetch({false, "c\"1", "snap"})));
  const auto requests = http_.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].url, "http://iam:8080/internal/exports/v1/CUSTOMER_LIST/batches");
  EXPECT_EQ(
      requests[0].body,
      R"({"taskId":"9007199254740993","tenantId":"t-1","appCode":"app","requestedBy":"u-1",)"
      R"("dispatchVersion":3,"parameters":{"status":"ACTIVE"},"cursor":null,"snapshotToken":null,"limit":500})");
  EXPECT_NE(requests[1].body.find(R"("cursor":"c\"1","snapshotToken":"snap")"), std::string::npos);
  ASSERT_EQ(requests[0].headers.size(), 3u)
      << "and nothing else: no Accept-Encoding, no Authorization";
  EXPECT_EQ(requests[0].headers[0],
            std::make_pair(std::string("X-Internal-Service-Token"), std::string("secret")));
  EXPECT_EQ(requests[0].headers[1],
            std::make_pair(std::string("Content-Type"), std::string("application/json")));
  EXPECT_EQ(requests[0].headers[2].first, "traceparent");
  EXPECT_EQ(requests[0].headers[2].second.substr(0, 36), "00-4bf92f3577b34da6a3ce929d0e0e4736-");
  EXPECT_EQ(requests[0].connect_timeout_ms, 3'000);
  EXPECT_EQ(requests[0].total_timeout_ms, 15'000);
  EXPECT_EQ(requests[0].max_body_bytes, kMaxPageBytes);
}

TEST_F(ProviderClientTest, ThreeLocalRetriesWithGrowingDelays) {
  http_.then(http_answer(503, ""));
  http_.then(base::timed_out("no answer"));
  http_.then(base::unavailable("connection reset"));
  http_.then(http_answer(200, kPage));
  EXPECT_TRUE(std::holds_alternative<ProviderPage>(fetch()));
  ASSERT_EQ(waiter_.delays.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const base::Millis wanted = settings_.page_retry_ms[i];
    EXPECT_GE(waiter_.delays[i], wanted);
    EXPECT_LE(waiter_.delays[i], wanted + wanted / 5);
  }
  EXPECT_EQ(observer_.requests_failed, 3);
  EXPECT_EQ(observer_.requests_ok, 1);
}

TEST_F(ProviderClientTest, FourFailuresEndThePage) {
  http_.otherwise = [](const client::Request&) { return http_answer(500, "oops"); };
  const Failure failed = failure();
  EXPECT_EQ(failed.kind, Failure::Kind::kTransient);
  EXPECT_EQ(failed.failure_class, core::FailureClass::kSystem);
  EXPECT_NE(failed.message.find("HTTP 500"), std::string::npos);
  EXPECT_EQ(http_.requests().size(), 4u);
}

TEST_F(ProviderClientTest, UnparsableAnswersAreAskedForAgain) {
  http_.then(http_answer(200, kPage.substr(0, kPage.size() / 2)));
  http_.then(http_answer(200, kPage));
  EXPECT_TRUE(std::holds_alternative<ProviderPage>(fetch()));
}

TEST_F(ProviderClientTest, ShortRetryAfterIsWaitedForHereAndNeverUndercut) {
  http_.then(http_answer(429, "", {{"retry-after", "20"}}));
  http_.then(http_answer(503, "",
                         {{"retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"},
                          {"date", "Sun, 06 Nov 1994 08:50:07 GMT"}}));
  http_.then(http_answer(200, kPage));
  EXPECT_TRUE(std::holds_alternative<ProviderPage>(fetch()));
  ASSERT_EQ(waiter_.delays.size(), 2u);
  EXPECT_GE(waiter_.delays[0], 20'000);
  EXPECT_LE(waiter_.delays[0], 24'000);
  EXPECT_GE(waiter_.delays[1], 30'000);
  EXPECT_LE(waiter_.delays[1], 36'000);
}

TEST_F(ProviderClientTest, LongRetryAfterMovesTheTask) {
  http_.then(http_answer(429, "", {{"retry-after", "31"}}));
  EXPECT_EQ(failure().retry_after_ms, 31'000);
  http_.then(http_answer(503, "", {{"retry-after", "86400"}}));
  EXPECT_EQ(failure().retry_after_ms, kMaxRetryAfter);
  EXPECT_TRUE(waiter_.delays.empty());
  EXPECT_EQ(http_.requests().size(), 2u);
}

TEST_F(ProviderClientTest, PermanentAnswers) {
  using core::FailureClass;
  for (const int status : {301, 302, 303, 307, 308}) {
    expect_permanent(http_answer(status, "", {{"location", "http://169.254.169.254/"}}),
                     FailureClass::kValidation, "redirect");
  }
  for (const int status : {201, 202, 204, 206}) {
    expect_permanent(http_answer(status, kPage), FailureClass::kValidation,
                     "(HTTP " + std::to_string(status) + ")");
  }
  for (const int status : {400, 401, 403, 404, 408, 409, 413, 422}) {
    expect_permanent(http_answer(status, R"({"code":"BAD","message":"status is unknown"})"),
                     FailureClass::kBusiness,
                     "status is unknown (HTTP " + std::to_string(status) + ")");
  }
  expect_permanent(http_answer(404, "<html>"), FailureClass::kBusiness,
                   "refused the export (HTTP 404)");
  expect_permanent(http_answer(200, kPage, {{"content-encoding", "gzip"}}),
                   FailureClass::kValidation, "Content-Encoding");
  expect_permanent(http_answer(200, R"({"code":"SNAPSHOT_EXPIRED","message":"start again"})"),
                   FailureClass::kBusiness, "start again");
  expect_permanent(base::over_limit("body", 4 << 20, "bytes", 5 << 20, "too large"),
                   FailureClass::kLimit, "4 MiB");
  expect_permanent(base::over_limit("headers", 1, "bytes", 2, "too large"), FailureClass::kLimit,
                   "headers");
  expect_permanent(base::denied("origin not allowed"), FailureClass::kSystem, "not allowed");
}

TEST_F(ProviderClientTest, ProviderMessagesArePrintableAndCut) {
  http_.then(http_answer(400, R"({"message":"a\r\nb\u0000)" + std::string(5'000, 'x') + "\"}"));
  const Failure failed = failure();
  EXPECT_LT(failed.message.size(), 600u);
  EXPECT_EQ(failed.message.find('\n'), std::string::npos);
}

TEST_F(ProviderClientTest, StopEndsTheWaitAndTheCall) {
  http_.otherwise = [](const client::Request&) { return http_answer(503, ""); };
  waiter_.on_wait = [this] { stop_->request(dispatch::StopReason::kCancelled); };
  EXPECT_EQ(failure().kind, Failure::Kind::kStopped);
  EXPECT_EQ(http_.requests().size(), 1u);
  EXPECT_EQ(failure().kind, Failure::Kind::kStopped);
  EXPECT_EQ(http_.requests().size(), 1u) << "no call leaves after the stop";
}

TEST_F(ProviderClientTest, TheCallItselfAsksForTheStop) {
  http_.then_call([this](const client::Request& request) -> ScriptedHttp::Answer {
    EXPECT_FALSE(request.stop());
    stop_->request(dispatch::StopReason::kShutdown);
    EXPECT_TRUE(request.stop());
    return base::cancelled("stopped");
  });
  EXPECT_EQ(failure().kind, Failure::Kind::kStopped);
}

TEST_F(ProviderClientTest, TheDeadlineEndsTheRetriesEvenWithoutAWatchdog) {
  Guard guard(stop_, clock_, 2'500);
  http_.otherwise = [](const client::Request&) { return http_answer(503, ""); };
  ProviderCall call;
  call.service = {"http://iam", [this] { return token_; }};
  ProviderClient client(call, {http_, waiter_, clock_, random_, observer_, settings_, guard});
  auto result = client.fetch({});
  EXPECT_EQ(std::get<Failure>(result).kind, Failure::Kind::kStopped);
  EXPECT_EQ(guard.reason(), dispatch::StopReason::kOverdue);
  EXPECT_EQ(http_.requests().size(), 2u);
}

TEST_F(ProviderClientTest, ATokenThatCannotBeReadIsTransient) {
  token_ = base::unavailable("no such file");
  EXPECT_EQ(failure().kind, Failure::Kind::kTransient);
  EXPECT_TRUE(http_.requests().empty());
}

TEST(RetryAfter, BothForms) {
  EXPECT_EQ(parse_retry_after("0", "", kWall), 0);
  EXPECT_EQ(parse_retry_after(" 7 ", "", kWall), 7'000);
  EXPECT_EQ(parse_retry_after("99999999999999999999", "", kWall), kMaxRetryAfter);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:47 GMT", "", kWall), 10'000);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:27 GMT", "", kWall), 0);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 2094 08:49:27 GMT", "", kWall), kMaxRetryAfter);
  for (const char* text :
       {"", "soon", "-1", "1.5", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT "}) {
    EXPECT_EQ(parse_retry_after(text, "", kWall), std::nullopt) << text;
  }
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), kWall);
}

TEST(Traceparent, KeepsTheTraceOrStartsOne) {
  base::SeededRandom random(1);
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  EXPECT_EQ(make_traceparent(trace, random).substr(0, 36), "00-" + trace + "-");
  EXPECT_EQ(make_traceparent("00-" + trace + "-00f067aa0ba902b7-01", random).substr(0, 36),
            "00-" + trace + "-");
  EXPECT_NE(make_traceparent("00-" + trace + "-00f067aa0ba902b7-01", random).substr(36, 16),
            "00f067aa0ba902b7");
  for (const char* other : {"", "x\r\ny", "00000000000000000000000000000000", "zz"}) {
    EXPECT_EQ(make_traceparent(other, random).size(), 55u);
  }
}

}  // namespace
}  // namespace waybill::exporting
