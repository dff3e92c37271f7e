#include <gtest/gtest.h>

#include <atomic>

#include "api/api_fixture_for_test.h"

namespace waybill::api {
namespace {

class Events : public ApiTest {
 protected:
  http::RawClient watch(const std::string& id, const std::string& headers) {
    http::RawClient client(server_->port());
    client.send("GET " + std::string(kPrefix) + task(id) + "/events HTTP/1.1\r\nHost: t\r\n" +
                headers + "\r\n");
    return client;
  }
  // The data of the next event.
  static std::string next(http::RawClient& client) {
    client.read_until("event: task\ndata: ");
    std::string data = client.read_until("\n\n");
    return data.substr(0, data.find('\n'));
  }
};

TEST_F(Events, EveryChangeUntilTheEnd) {
  const std::string id = created(as("ann"));
  http::RawClient client = watch(id, as("ann"));
  const std::string first = next(client);
  EXPECT_EQ(at(first, {"status"}), "PENDING");
  EXPECT_EQ(at(first, {"waitingFor", "code"}), "QUEUED");
  const auto running = claim().at(0);
  clock_.advance(1'000);
  EXPECT_EQ(at(next(client), {"status"}), "RUNNING");
  const std::vector<store::Progress> progress{{running.execution, 7, 9}};
  ASSERT_TRUE(store_->save_progress("worker", progress).ok());
  clock_.advance(1'000);
  EXPECT_EQ(at(next(client), {"progress", "processed"}), "7");
  succeed(running, "bytes", "a.xlsx");
  clock_.advance(1'000);
  const std::string last = next(client);
  EXPECT_EQ(at(last, {"status"}), "SUCCEEDED");
  EXPECT_EQ(at(last, {"file", "size"}), "5");
  EXPECT_EQ(at(last, {"receipt", "rows"}), "3");
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "\r\n0\r\n\r\n") << "nothing after the end";
}

TEST_F(Events, AnEndedTaskIsToldOnceAndTheStreamCloses) {
  const std::string id = created(as("ann"));
  post(task(id) + "/cancel", "", as("ann"));
  http::RawClient client = watch(id, as("ann") + "Accept-Language: zh\r\n");
  const http::RawResponse response = client.response();
  EXPECT_EQ(response.headers.at("content-type"), "text/event-stream");
  EXPECT_TRUE(response.body.starts_with("event: task\ndata: {"));
  EXPECT_NE(response.body.find("CANCELLED"), std::string::npos);
  EXPECT_NE(response.body.find("客户列表"), std::string::npos);
  EXPECT_EQ(response.body.find("event: task", 5), std::string::npos);
}

TEST_F(Events, AllWatchersShareOneStatementASecond) {
  std::atomic<int> looks{0};
  inject([&looks](const store::StatementPoint& point) {
    if (point.operation == "watch_exports" && point.statement != "begin" &&
        point.statement != "commit")
      ++looks;
    return store::Injected::kNone;
  });
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i)
    ids.push_back(created(as("ann"), R"({"n":)" + std::to_string(i) + "}"));
  std::vector<http::RawClient> clients;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(watch(ids[static_cast<std::size_t>(i) % 3], as("ann")));
    EXPECT_EQ(at(next(clients.back()), {"status"}), "PENDING");
  }
  const int before = looks;
  EXPECT_LE(before, 1) << "the clock stands still";
  for (const std::string& id : ids) post(task(id) + "/cancel", "", as("ann"));
  clock_.advance(1'000);
  for (http::RawClient& client : clients) EXPECT_EQ(at(next(client), {"status"}), "CANCELLED");
  EXPECT_LE(looks - before, 1) << "thirty watchers, one look";
}

TEST_F(Events, SilenceIsFilledWithComments) {
  const std::string id = created(as("ann"));
  http::RawClient client = watch(id, as("ann"));
  next(client);
  clock_.advance(15'000);
  EXPECT_NE(client.read_until(": still here\n\n"), "");
}

TEST_F(Events, AStreamSurvivesALostDatabase) {
  const std::string id = created(as("ann"));
  http::RawClient client = watch(id, as("ann"));
  next(client);
  std::atomic<bool> asked{false};
  LogLines log;
  inject([&asked](const store::StatementPoint& point) {
    if (point.operation != "watch_exports") return store::Injected::kNone;
    asked = true;
    return store::Injected::kAway;
  });
  clock_.advance(15'000);
  client.read_until(": still here\n\n");
  EXPECT_TRUE(asked);
  inject(nullptr);
  post(task(id) + "/cancel", "", as("ann"));
  clock_.advance(1'000);
  EXPECT_EQ(at(next(client), {"status"}), "CANCELLED");
}

}  // namespace
}  // namespace waybill::api
