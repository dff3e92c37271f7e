#include <gtest/gtest.h>

#include <atomic>

#include "api/api_fixture_for_test.h"

namespace waybill::api {
namespace {

using store::Injected;
using store::StatementPoint;
using Permissions = std::set<std::string, std::less<>>;

class Exports : public ApiTest {};

TEST_F(Exports, CreateShowsTheTask) {
  clock_.advance(123);
  const http::RawResponse response = post(
      "/files/export-tasks",
      R"({"exportType":"CUSTOMER_LIST","format":"XLSX","taskName":"客户 😀","parameters":{"b":1,"a":"x"}})",
      as("ann") + "X-Request-Id: r-1\r\n");
  ASSERT_EQ(code(response), "200") << response.body;
  EXPECT_EQ(response.headers.at("x-request-id"), "r-1");
  EXPECT_EQ(at(response.body, {"requestId"}), "r-1");
  const std::string data = at(response.body, {"data"});
  EXPECT_EQ(at(data, {"exportType"}), "CUSTOMER_LIST");
  EXPECT_EQ(at(data, {"title"}), "Customers");
  EXPECT_EQ(at(data, {"taskName"}), "客户 😀");
  EXPECT_EQ(at(data, {"status"}), "PENDING");
  EXPECT_EQ(at(data, {"priority"}), "P2");
  EXPECT_EQ(at(data, {"requestedBy"}), "ann");
  EXPECT_EQ(at(data, {"requestedAt"}), "2023-11-14T22:13:20.123+00:00");
  EXPECT_EQ(at(data, {"startedAt"}), "null");
  EXPECT_EQ(at(data, {"attempt"}), "0");
  EXPECT_EQ(at(data, {"dispatchVersion"}), "1");
  EXPECT_EQ(at(data, {"progress", "processed"}), "0");
  EXPECT_EQ(at(data, {"waitingFor", "code"}), "QUEUED");
  EXPECT_EQ(at(data, {"waitingFor", "ahead"}), "0");
  EXPECT_EQ(at(data, {"failure"}), "null");
  EXPECT_EQ(at(data, {"file"}), "null");
  EXPECT_EQ(at(data, {"attempts"}), "[]");
  EXPECT_EQ(at(data, {"deduplicated"}), "false");
  EXPECT_NE(data.find("\"id\":\""), std::string::npos) << "an id is a string";
}

TEST_F(Exports, WhatACreateMayNotHave) {
  const std::string me = as("ann");
  struct Case {
    std::string body;
    std::string code;
    std::string field;
  };
  const std::string type = R"("exportType":"CUSTOMER_LIST")";
  std::string deep = "1";
  for (int i = 0; i < 40; ++i) deep = "[" + deep + "]";
  const std::vector<Case> cases{
      {"{}", "INVALID", "exportType"},
      {R"({"exportType":7})", "INVALID", "exportType"},
      {R"({"exportType":"NO_SUCH"})", "UNKNOWN_TYPE", "exportType"},
      {R"({"exportType":"OLD_LIST"})", "TYPE_DISABLED", "<absent>"},
      {R"({"exportType":"ORDER_LIST"})", "FORBIDDEN", "<absent>"},
      {"{" + type + R"(,"format":"CSV"})", "UNKNOWN_FORMAT", "format"},
      {"{" + type + R"(,"format":1})", "UNKNOWN_FORMAT", "format"},
      {"{" + type + R"(,"provider":"x"})", "UNKNOWN_FIELD", "provider"},
      {"{" + type + R"(,"url":"http://169.254.169.254/"})", "UNKNOWN_FIELD", "url"},
      {"{" + type + R"(,"topic":"x"})", "UNKNOWN_FIELD", "topic"},
      {"{" + type + R"(,"group":"x"})", "UNKNOWN_FIELD", "group"},
      {"{" + type + R"(,"permission":"x"})", "UNKNOWN_FIELD", "permission"},
      {"{" + type + R"(,"tenantId":"t2"})", "UNKNOWN_FIELD", "tenantId"},
      {"{" + type + R"(,"requestedBy":"bob"})", "UNKNOWN_FIELD", "requestedBy"},
      {"{" + type + R"(,"taskName":""})", "INVALID", "taskName"},
      {"{" + type + R"(,"taskName":"   "})", "INVALID", "taskName"},
      {"{" + type + R"(,"taskName":"a\r\nb"})", "INVALID", "taskName"},
      {"{" + type + R"(,"taskName":"a\u2028b"})", "INVALID", "taskName"},
      {"{" + type + R"(,"taskName":"a\u0000b"})", "INVALID", "taskName"},
      {"{" + type + R"(,"taskName":7})", "INVALID", "taskName"},
      {"{" + type + R"(,"taskName":")" + std::string(101, 'n') + "\"}", "LIMIT_EXCEEDED",
       "taskName"},
      {"{" + type + R"(,"priority":"P9"})", "INVALID", "priority"},
      {"{" + type + R"(,"priority":2})", "INVALID", "priority"},
      {"{" + type + R"(,"priority":"P1"})", "FORBIDDEN", "<absent>"},
      {"{" + type + R"(,"parameters":[]})", "INVALID", "parameters"},
      {"{" + type + R"(,"parameters":"{}"})", "INVALID", "parameters"},
      {"{" + type + R"(,"parameters":{"a":")" + std::string(257, 'v') + "\"}}", "LIMIT_EXCEEDED",
       "parameters.a"},
      {"{" + type + R"(,"parameters":{"a":{"b":{"c":1}}}})", "LIMIT_EXCEEDED", "parameters.a.b"},
      // Malformed: a real 400.
      {"", "BAD_REQUEST", ""},
      {"[]", "BAD_REQUEST", ""},
      {"{" + type, "BAD_REQUEST", ""},
      {"{" + type + "} x", "BAD_REQUEST", ""},
      {"{" + type + R"(,"exportType":"CUSTOMER_LIST"})", "BAD_REQUEST", ""},
      {"{" + type + R"(,"parameters":{"a":1,"a":2}})", "BAD_REQUEST", ""},
      {"{" + type + R"(,"parameters":{"a":18446744073709551616}})", "BAD_REQUEST", ""},
      {"{" + type + R"(,"parameters":{"a":"\ud800"}})", "BAD_REQUEST", ""},
      {"{" + type + ",\"parameters\":{\"a\":\"\xff\"}}", "BAD_REQUEST", ""},
      {"{" + type + R"(,"parameters":{"a":)" + deep + "}}", "BAD_REQUEST", ""},
  };
  for (const Case& one : cases) {
    const http::RawResponse response = post("/files/export-tasks", one.body, me);
    EXPECT_EQ(code(response), one.code) << one.body << "\n" << response.body;
    if (one.code == "BAD_REQUEST") {
      EXPECT_EQ(response.status, 400) << one.body;
    } else {
      EXPECT_EQ(response.status, 200) << one.body;
      if (one.field != "<absent>") {
        EXPECT_EQ(at(response.body, {"data", "field"}), one.field) << response.body;
      }
    }
  }
  EXPECT_EQ(at(get("/files/export-tasks", me).body, {"data", "items"}), "[]")
      << "nothing was written";
  http::RawClient raw(server_->port());
  const std::string path = std::string(kPrefix) + "/files/export-tasks";
  const http::RawResponse wrong_type =
      raw.request("POST " + path + " HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n" + me +
                  "Content-Type: text/plain\r\n\r\n{}");
  EXPECT_EQ(wrong_type.status, 415);
  EXPECT_EQ(code(post("/files/export-tasks", std::string(70'000, ' '), me)), "PAYLOAD_TOO_LARGE");
}

TEST_F(Exports, TheLimitsNameTheirNumbers) {
  const std::string me = as("ann");
  for (int i = 0; i < 3; ++i) created(me, R"({"n":)" + std::to_string(i) + "}");
  const http::RawResponse fourth = create(me + "Accept-Language: zh-CN\r\n", R"({"n":9})");
  EXPECT_EQ(fourth.status, 200);
  EXPECT_EQ(code(fourth), "EXPORT_USER_LIMIT");
  EXPECT_EQ(at(fourth.body, {"number"}), "42901");
  EXPECT_EQ(at(fourth.body, {"data", "limit"}), "3");
  EXPECT_EQ(at(fourth.body, {"data", "unit"}), "tasks");
  EXPECT_NE(fourth.body.find("上限为 3 个"), std::string::npos) << fourth.body;
  created(as("bob"));
  created(as("cid"));
  EXPECT_EQ(code(create(as("dan"))), "EXPORT_TYPE_LIMIT");
  EXPECT_EQ(code(create(as("eve", "t2"))), "200") << "the limit of a type is per tenant";
}

TEST_F(Exports, TheSameAgainIsTheSameTask) {
  const std::string id = created(as("ann"), R"({"a":1,"b":2})");
  const http::RawResponse again = create(as("ann"), R"({ "b" : 2, "a" : 1 })");
  EXPECT_EQ(at(again.body, {"data", "id"}), id);
  EXPECT_EQ(at(again.body, {"data", "deduplicated"}), "true");
  EXPECT_NE(created(as("bob"), R"({"a":1,"b":2})"), id);
  clock_.advance(60'001);
  EXPECT_NE(created(as("ann"), R"({"a":1,"b":2})"), id);
}

TEST_F(Exports, IdempotencyKeys) {
  const std::string key = "Idempotency-Key: k-1\r\n";
  const std::string id = created(as("ann") + key, R"({"a":1})");
  clock_.advance(3'600'000);
  EXPECT_EQ(created(as("ann") + key, R"({"a":1})"), id);
  EXPECT_EQ(code(create(as("ann") + key, R"({"a":2})")), "IDEMPOTENCY_KEY_REUSED");
  EXPECT_NE(created(as("bob") + key, R"({"a":1})"), id) << "keys are a user's own";
  EXPECT_NE(created(as("ann", "t2") + key, R"({"a":1})"), id);
  const http::RawResponse bad = create(as("ann") + "Idempotency-Key: a b\r\n");
  EXPECT_EQ(at(bad.body, {"data", "field"}), "Idempotency-Key") << bad.body;
}

// D28
TEST_F(Exports, AnUnknownCommitIsResolvedBeforeTheAnswer) {
  for (const Injected lost : {Injected::kUnknownDone, Injected::kUnknownLost}) {
    std::atomic<int> left{1};
    inject([&left, lost](const StatementPoint& point) {
      return point.statement == "commit" && left.fetch_sub(1) > 0 ? lost : Injected::kNone;
    });
    const std::string n = std::to_string(static_cast<int>(lost));
    const http::RawResponse response = create(as("ann"), R"({"lost":)" + n + "}");
    ASSERT_EQ(code(response), "200") << response.body;
    EXPECT_EQ(at(response.body, {"data", "deduplicated"}), "false");
    inject(nullptr);
  }
  const std::string all = get("/files/export-tasks", as("ann")).body;
  std::size_t items = 0;
  for (std::size_t pos = all.find("\"id\":"); pos != std::string::npos;
       pos = all.find("\"id\":", pos + 1))
    ++items;
  EXPECT_EQ(items, 2u) << "each create made exactly one task";
}

TEST_F(Exports, WithoutTheDatabaseTheAnswerIs503) {
  const std::string id = created(as("ann"));
  inject([](const StatementPoint&) { return Injected::kAway; });
  for (const http::RawResponse& response :
       {create(as("ann"), R"({"x":1})"), get(task(id), as("ann")),
        get(task(id) + "/download", as("ann")), post(task(id) + "/cancel", "", as("ann"))}) {
    EXPECT_EQ(response.status, 503) << response.body;
    EXPECT_EQ(code(response), "UNAVAILABLE");
    EXPECT_EQ(response.headers.at("retry-after"), "1");
  }
  inject(nullptr);
  EXPECT_EQ(code(get(task(id), as("ann"))), "200");
}

TEST_F(Exports, PriorityMayBeLoweredByAnybody) {
  const std::string me = as("ann");
  EXPECT_EQ(
      at(post("/files/export-tasks", R"({"exportType":"CUSTOMER_LIST","priority":"P3"})", me).body,
         {"data", "priority"}),
      "P3");
  const std::string boss =
      as("bob", "t1", {"platform:customer:export", "platform:task:prioritize"});
  EXPECT_EQ(
      at(post("/files/export-tasks", R"({"exportType":"CUSTOMER_LIST","priority":"P0"})", boss)
             .body,
         {"data", "priority"}),
      "P0");
}

TEST_F(Exports, ListsArePagedFilteredAndOnesOwn) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    clock_.advance(1'000);
    ids.push_back(created(as("ann"), R"({"n":)" + std::to_string(i) + "}"));
  }
  created(as("bob"));
  const std::string me = as("ann");
  const http::RawResponse first = get("/files/export-tasks?limit=2", me);
  EXPECT_EQ(at(first.body, {"data", "nextCursor"}), ids[1]);
  EXPECT_LT(first.body.find("\"" + ids[2] + "\""), first.body.find("\"" + ids[1] + "\""))
      << "newest first";
  EXPECT_EQ(first.body.find("\"" + ids[0] + "\""), std::string::npos);
  const http::RawResponse second = get("/files/export-tasks?limit=2&cursor=" + ids[1], me);
  EXPECT_NE(second.body.find("\"" + ids[0] + "\""), std::string::npos);
  EXPECT_EQ(at(second.body, {"data", "nextCursor"}), "null");
  EXPECT_EQ(at(get("/files/export-tasks?status=FAILED", me).body, {"data", "items"}), "[]");
  EXPECT_NE(at(get("/files/export-tasks?status=PENDING&type=CUSTOMER_LIST&text=ustom", me).body,
               {"data", "items"}),
            "[]");
  EXPECT_EQ(at(get("/files/export-tasks?text=nothing", me).body, {"data", "items"}), "[]");
  EXPECT_EQ(at(get("/files/export-tasks?from=2024-01-01T00:00:00Z", me).body, {"data", "items"}),
            "[]");
  EXPECT_NE(
      at(get("/files/export-tasks?to=2024-01-01T00:00:00%2B08:00", me).body, {"data", "items"}),
      "[]");
  EXPECT_EQ(get("/files/export-tasks", me).body.find("\"bob\""), std::string::npos);

  const std::string chief = as("cid", "t1", {"platform:download:list", "platform:download:all"});
  EXPECT_NE(get("/files/export-tasks", chief).body.find("\"bob\""), std::string::npos);
  EXPECT_EQ(get("/files/export-tasks?requestedBy=bob", chief).body.find("\"ann\""),
            std::string::npos);
  EXPECT_EQ(code(get("/files/export-tasks?requestedBy=bob", me)), "FORBIDDEN");
  EXPECT_EQ(at(get("/files/export-tasks",
                   as("cid", "t2", {"platform:download:list", "platform:download:all"}))
                   .body,
               {"data", "items"}),
            "[]");
  for (const std::string bad :
       {"limit=0", "limit=101", "limit=x", "cursor=x", "cursor=-1", "status=NO", "type=a", "from=x",
        "to=2024", "limit=1&limit=2", "page=1", "tenantId=t2", "text=%0a"}) {
    const http::RawResponse response = get("/files/export-tasks?" + bad, me);
    EXPECT_NE(code(response), "200") << bad;
    EXPECT_NE(at(response.body, {"data", "field"}), "<absent>") << bad;
  }
}

// D110, D112: every route and verb, for everybody who must not see the task: like a missing one,
// and nothing changes.
TEST_F(Exports, ForeignTasksAnswerLikeMissingOnes) {
  const std::string id = created(as("ann"));
  fail(claim().at(0));
  const std::string before = get(task(id), as("ann")).body;
  const Permissions all{"platform:download:list", "platform:download:all",
                        "platform:customer:export"};
  struct Visitor {
    std::string headers;
    bool sees;  // by platform:download:all
  };
  const std::vector<Visitor> visitors{
      {as("bob"), false},
      {as("ann", "t2"), false},
      {as("ann", "t2", all), false},
      {as("bob", "t1", all), true},
  };
  for (const Visitor& visitor : visitors) {
    const std::string spoof = visitor.headers + "X-Tenant-Id: t1\r\n";
    const auto strip = [](std::string body) { return body.substr(0, body.find(",\"requestId\"")); };
    const std::string missing = "99999999";
    for (const std::string part : {"", "/download", "/events"}) {
      if (visitor.sees && part == "/events") continue;
      const http::RawResponse foreign = get(task(id) + part + "?tenantId=t1", spoof);
      const http::RawResponse absent = get(task(missing) + part, spoof);
      if (visitor.sees) {
        EXPECT_NE(strip(foreign.body), strip(absent.body)) << part;
      } else {
        EXPECT_EQ(strip(foreign.body), strip(absent.body)) << part;
        EXPECT_EQ(foreign.status, absent.status) << part;
        EXPECT_EQ(code(foreign), "NOT_FOUND") << part;
      }
    }
    // Retrying is for one's own tasks, whatever one may see.
    EXPECT_EQ(strip(post(task(id) + "/retry", "", spoof).body),
              strip(post(task(missing) + "/retry", "", spoof).body));
    if (!visitor.sees) {
      EXPECT_EQ(strip(post(task(id) + "/cancel", "", spoof).body),
                strip(post(task(missing) + "/cancel", "", spoof).body));
    }
  }
  const std::string after = get(task(id), as("ann")).body;
  EXPECT_EQ(at(after, {"data"}), at(before, {"data"}));
}

// D112
TEST_F(Exports, RoutesNeedTheirPermissions) {
  const std::string id = created(as("ann"));
  LogLines log;
  const std::string nothing = as("ann", "t1", {});
  const http::RawResponse refused = get(task(id), nothing);
  EXPECT_EQ(refused.status, 200);
  EXPECT_EQ(code(refused), "FORBIDDEN");
  EXPECT_EQ(get(task(id) + "/download", nothing).status, 403);
  EXPECT_EQ(code(get("/files/export-tasks", nothing)), "FORBIDDEN");
  EXPECT_EQ(code(get(task(id) + "/events", nothing)), "FORBIDDEN");
  EXPECT_EQ(code(post(task(id) + "/cancel", "", nothing)), "FORBIDDEN");
  EXPECT_EQ(code(post(task(id) + "/retry", "", nothing)), "FORBIDDEN");
  EXPECT_EQ(code(create(nothing)), "FORBIDDEN");
  const std::string merchant =
      as("ann", "t1", {"platform:customer:export"}, registry::AppScope::kMerchant);
  EXPECT_EQ(code(create(merchant)), "FORBIDDEN");
  EXPECT_EQ(log.count("AUDIT permission_refused"), 8u);
  for (const std::string headers :
       {"", "Authorization: Bearer x.y.z\r\n", "Authorization: Basic dTpw\r\n"}) {
    for (const http::RawResponse& response :
         {get("/files/export-tasks", headers), get(task(id) + "/download", headers),
          create(headers), post(task(id) + "/cancel", "", headers),
          get("/files/export-types", headers)}) {
      EXPECT_EQ(response.status, 401);
      EXPECT_EQ(code(response), "UNAUTHENTICATED");
      EXPECT_EQ(response.headers.at("www-authenticate"), "Bearer");
    }
  }
  EXPECT_EQ(log.count("x.y.z"), 0u) << "no token in a log";
}

TEST_F(Exports, IdsAreStringsOfPlainDigits) {
  const std::string me = as("ann");
  for (const std::string bad :
       {"0", "01", "-1", "+1", "1e3", "0x1", "9223372036854775808", "99999999999999999999999",
        "abc", "1%00", "%201", "1.0", "..%5c1"}) {
    const http::RawResponse response = get(task(bad), me);
    EXPECT_NE(code(response), "200") << bad;
    EXPECT_LT(response.status, 500) << bad;
  }
  EXPECT_EQ(at(get(task("99999999999999999999"), me).body, {"data", "field"}), "id");
  EXPECT_EQ(code(get(task("9223372036854775807"), me)), "NOT_FOUND");
}

TEST_F(Exports, CancelSaysWhatItDid) {
  LogLines log;
  const std::string me = as("ann");
  const std::string waiting = created(me, R"({"n":1})");
  const std::string body = post(task(waiting) + "/cancel", "", me).body;
  EXPECT_EQ(at(body, {"code"}), "200");
  EXPECT_EQ(at(body, {"data", "result"}), "cancelled");
  EXPECT_EQ(at(post(task(waiting) + "/cancel", "", me).body, {"data", "result"}),
            "already_finished");
  const std::string running = created(me, R"({"n":2})");
  ASSERT_EQ(claim().size(), 1u);
  EXPECT_EQ(at(post(task(running) + "/cancel", "", me).body, {"data", "result"}), "cancelling");
  EXPECT_EQ(at(get(task(running), me).body, {"data", "cancelRequested"}), "true");
  EXPECT_EQ(log.count("AUDIT export_cancelled"), 3u);

  const std::string lost = created(me, R"({"n":3})");
  std::atomic<int> left{1};
  inject([&left](const StatementPoint& point) {
    return point.operation == "cancel" && point.statement == "commit" && left.fetch_sub(1) > 0
               ? Injected::kUnknownDone
               : Injected::kNone;
  });
  EXPECT_EQ(at(post(task(lost) + "/cancel", "", me).body, {"data", "result"}), "cancelled");
}

TEST_F(Exports, RetryIsForFailedTasksOnly) {
  const std::string me = as("ann");
  const std::string id = created(me);
  EXPECT_EQ(code(post(task(id) + "/retry", "", me)), "NOT_FAILED");
  fail(claim().at(0));
  const http::RawResponse failed = get(task(id), me);
  EXPECT_EQ(at(failed.body, {"data", "status"}), "FAILED");
  EXPECT_EQ(at(failed.body, {"data", "failure", "class"}), "BUSINESS");
  EXPECT_EQ(at(failed.body, {"data", "failure", "message"}), "the range is too wide");
  EXPECT_NE(at(failed.body, {"data", "attempts"}).find("the range is too wide"), std::string::npos);
  LogLines log;
  const http::RawResponse retried = post(task(id) + "/retry", "", me);
  EXPECT_EQ(code(retried), "200") << retried.body;
  EXPECT_EQ(at(retried.body, {"data", "status"}), "PENDING");
  EXPECT_EQ(at(retried.body, {"data", "dispatchVersion"}), "2");
  EXPECT_EQ(at(retried.body, {"data", "attempt"}), "0");
  EXPECT_EQ(at(retried.body, {"data", "failure"}), "null");
  EXPECT_EQ(log.count("AUDIT export_retried"), 1u);
  EXPECT_EQ(code(post(task(id) + "/retry", "", me)), "NOT_FAILED");
}

TEST_F(Exports, RetryChecksPermissionAndTypeAgain) {
  const std::string me = as("ann");
  const std::string id = created(me);
  fail(claim().at(0));
  EXPECT_EQ(code(post(task(id) + "/retry", "", as("ann", "t1", {"platform:download:list"}))),
            "FORBIDDEN");
  std::string text(kRegistryText);
  text.replace(text.find("enabled: true"), 13, "enabled: false");
  std::ofstream(folder_ / "registry.yaml") << text;
  ASSERT_TRUE(registry_->reload().ok);
  EXPECT_EQ(code(post(task(id) + "/retry", "", me)), "TYPE_DISABLED");
  EXPECT_EQ(at(get(task(id), me).body, {"data", "status"}), "FAILED");
}

TEST_F(Exports, ProgressOfAnEarlierAttemptIsNotShown) {
  const std::string me = as("ann");
  const std::string id = created(me);
  const auto running = claim().at(0);
  const std::vector<store::Progress> progress{{running.execution, 1'000, 4'000}};
  ASSERT_TRUE(store_->save_progress("worker", progress).ok());
  clock_.advance(10'000);
  const http::RawResponse busy = get(task(id), me);
  EXPECT_EQ(at(busy.body, {"data", "progress"}),
            R"({"processed":1000,"total":4000,"rowsPerSecond":100,"etaSeconds":30})");
  EXPECT_EQ(at(busy.body, {"data", "waitingFor", "code"}), "LEASE");
  fail(running, core::Event::kRetryLater);
  const http::RawResponse waiting = get(task(id), me);
  EXPECT_EQ(at(waiting.body, {"data", "progress"}),
            R"({"processed":0,"total":null,"rowsPerSecond":null,"etaSeconds":null})");
  EXPECT_EQ(at(waiting.body, {"data", "waitingFor", "code"}), "BACKOFF");
  EXPECT_NE(at(waiting.body, {"data", "failure", "retryAt"}), "null");
  EXPECT_NE(at(waiting.body, {"data", "attempts"}).find("\"dispatchVersion\":1"),
            std::string::npos);
}

TEST_F(Exports, TypesAreThoseThatMayBeCreated) {
  const std::string body = get("/files/export-types", as("ann") + "Accept-Language: zh\r\n").body;
  EXPECT_NE(body.find("CUSTOMER_LIST"), std::string::npos);
  EXPECT_NE(body.find("客户列表"), std::string::npos);
  EXPECT_EQ(body.find("ORDER_LIST"), std::string::npos);
  EXPECT_EQ(body.find("OLD_LIST"), std::string::npos);
  EXPECT_EQ(at(body, {"data", "limits", "activePerUser"}), "3");
}

TEST_F(Exports, RestModeSetsTheStatus) {
  ApiSettings settings;
  settings.http_status = HttpStatusMode::kRest;
  serve(settings);
  EXPECT_EQ(get(task("7"), as("ann")).status, 404);
  EXPECT_EQ(create(as("ann", "t1", {})).status, 403);
  EXPECT_EQ(post("/files/export-tasks", "{}", as("ann")).status, 400);
}

TEST_F(Exports, AUsersRateIsLimited) {
  ApiSettings settings;
  settings.requests_per_user_per_second = 2;
  settings.requests_burst = 3;
  serve(settings);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get("/files/export-types", as("ann")).status, 200);
  const http::RawResponse refused = get("/files/export-types", as("ann"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(code(refused), "RATE_LIMITED");
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_EQ(get("/files/export-types", as("bob")).status, 200);
  clock_.advance(500);
  EXPECT_EQ(get("/files/export-types", as("ann")).status, 200);
  EXPECT_EQ(get("/files/export-types", as("ann")).status, 429);
}

TEST_F(Exports, ErrorsOfTheServerWearTheEnvelope) {
  const http::RawResponse missing = get("/nothing", as("ann") + "Accept-Language: zh-CN\r\n");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(code(missing), "NOT_FOUND");
  EXPECT_EQ(at(missing.body, {"message"}), "内容不存在");
  http::RawClient raw(server_->port());
  EXPECT_EQ(code(raw.request("DELETE " + std::string(kPrefix) +
                             "/files/export-tasks HTTP/1.1\r\nHost: t\r\n\r\n")),
            "METHOD_NOT_ALLOWED");
  EXPECT_EQ(code(http::RawClient(server_->port()).request("nonsense\r\n\r\n")), "BAD_REQUEST");
  const http::RawResponse yaml = http::RawClient(server_->port()).get("/openapi.yaml");
  EXPECT_EQ(yaml.status, 200);
  EXPECT_TRUE(yaml.body.starts_with("openapi: 3"));
}

TEST_F(Exports, LogLinesCannotBeForged) {
  LogLines log;
  create(as("ann") + "X-Request-Id: a\tb\r\n", R"({"secretParameter":"hunter2"})");
  get(task("1") + "?x=%0aAUDIT%20export_downloaded", as("ann"));
  EXPECT_EQ(log.count("hunter2"), 0u);
  EXPECT_EQ(log.count("export_downloaded"), 0u);
  EXPECT_EQ(log.count("AUDIT export_created"), 1u);
}

TEST(Health, ReadyOnlyWhenEverythingIs) {
  base::ThreadSpawner spawner;
  base::SystemClock clock;
  base::SystemRandom random;
  std::atomic<bool> good{true};
  auto server =
      http::Server::start({},
                          make_management_routes({{"database", [] { return base::Status(); }},
                                                  {"storage",
                                                   [&good]() -> base::Status {
                                                     if (good) return {};
                                                     return base::unavailable("the disk is full");
                                                   }}}),
                          spawner, clock, random);
  ASSERT_TRUE(server.ok());
  http::RawClient client((*server)->port());
  EXPECT_EQ(client.get("/healthz").status, 200);
  EXPECT_EQ(client.get("/readyz").status, 200);
  good = false;
  const http::RawResponse response = client.get("/readyz");
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.body.find("the disk is full"), std::string::npos);
  EXPECT_EQ(client.get("/healthz").status, 200);
}

}  // namespace
}  // namespace waybill::api
