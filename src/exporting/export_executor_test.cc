// The executor with real threads and the real modules around it: HTTP over sockets, files in a
// folder.

#include "exporting/export_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "base/sha256.h"
#include "client/testing/scripted_server.h"
#include "exporting/testing/export_fixture.h"
#include "files/directory/directory_files.h"

namespace waybill::exporting {
namespace {

using client::testing::Reply;
using client::testing::ScriptedServer;
using core::Event;
using dispatch::Outcome;
using dispatch::StopReason;

class ExecutorTest : public testing::ExportFixture {};

TEST_F(ExecutorTest, KnowsWhatTheRegistryKnowsNow) {
  base::ThreadSpawner threads;
  ExportExecutor executor(services(threads), settings);
  EXPECT_TRUE(executor.knows("CUSTOMER_LIST"));
  EXPECT_FALSE(executor.knows("ORDER_LIST"));
  snapshot.exports["ORDER_LIST"].enabled = false;
  EXPECT_TRUE(executor.knows("ORDER_LIST")) << "a disabled type's tasks still run";
  EXPECT_THAT(executor.known_types(), ::testing::ElementsAre("CUSTOMER_LIST", "ORDER_LIST"));
}

TEST_F(ExecutorTest, WithoutAThreadTheExecutionIsGivenBack) {
  testing::InlineSpawner none;
  none.refuse = true;
  ExportExecutor executor(services(none), settings);
  std::optional<Outcome> outcome;
  executor.start(task, stop, [&](Outcome done) { outcome = std::move(done); });
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->finish.event, Event::kRelease);
}

TEST_F(ExecutorTest, ManyExecutionsSideBySide) {
  // No shared fakes that are not thread-safe: only results that the storage does not see.
  base::ThreadSpawner threads;
  http.otherwise = [](const client::Request&) {
    return testing::http_answer(404, R"({"message":"no"})");
  };
  constexpr int kRuns = 64;
  std::atomic<int> failed{0};
  {
    ExportExecutor executor(services(threads), settings);
    for (int i = 0; i < kRuns; ++i) {
      executor.start(task, stop, [&](const Outcome& done) {
        failed += done.finish.event == Event::kFail ? 1 : 0;
      });
    }
  }  // the destructor waits for all of them
  EXPECT_EQ(failed, kRuns);
}

// Half a million rows: every byte through the whole pipeline, nothing kept but the file itself.
TEST_F(ExecutorTest, HalfAMillionRows) {
  settings.prefetched_pages = 1;
  type().max_rows = 500'000;
  type().batch_size = 1'000;
  provider = {500'000, 1'000};
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.finish.result.has_value()) << outcome.finish.failure_message;
  EXPECT_EQ(outcome.finish.result->rows, 500'000);
  EXPECT_THAT(rows_per_sheet(files.entries.begin()->second.bytes), ::testing::ElementsAre(500'001));
}

class RealModulesTest : public testing::ExportFixture {
 protected:
  RealModulesTest() {
    folder_ =
        std::filesystem::temp_directory_path() / ("waybill-exporting-" + base::make_uuid(system_));
    std::filesystem::create_directories(folder_);
    auto opened = files::open_directory(folder_.string(), system_);
    EXPECT_TRUE(opened.ok());
    folder_files_ = *std::move(opened);
    client::AllowList allowed;
    EXPECT_TRUE(allowed.allow(server_.url()).ok());
    client_ = client::make_http_client(std::move(allowed));
    this->settings.services["iam-service"].base_url = server_.url();
    settings.prefetched_pages = 1;
    settings.page_retry_ms = {1};
    folder_remover_.emplace(*folder_files_, observer);
  }
  ~RealModulesTest() override {
    executor_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::future<Outcome> begin() {
    executor_.emplace(
        ExportServices{store,
                       [this] { return std::make_shared<const registry::Snapshot>(snapshot); },
                       *client_, *folder_files_, threads_, wall_, system_, real_waiter_, progress,
                       *folder_remover_, observer},
        settings);
    auto promise = std::make_shared<std::promise<Outcome>>();
    executor_->start(task, stop, [promise](Outcome done) { promise->set_value(std::move(done)); });
    return promise->get_future();
  }
  void serve_pages() {
    server_.handle([this](const client::testing::Received& received) {
      client::Request request;
      request.body = received.body;
      return Reply::json(200, provider(request).body);
    });
  }
  std::vector<std::string> stored() {
    std::vector<std::string> keys;
    EXPECT_TRUE(folder_files_
                    ->list([&](const files::Listed& entry) {
                      keys.push_back(entry.key);
                      return true;
                    })
                    .ok());
    return keys;
  }

  base::SystemRandom system_;
  base::SystemClock wall_;
  base::ThreadSpawner threads_;
  ClockWaiter real_waiter_{wall_};
  ScriptedServer server_;
  std::filesystem::path folder_;
  std::unique_ptr<files::Files> folder_files_;
  std::unique_ptr<client::HttpClient> client_;
  std::optional<ObjectRemover> folder_remover_;
  std::optional<ExportExecutor> executor_;
};

TEST_F(RealModulesTest, PagesOverSocketsIntoAFolder) {
  serve_pages();
  const Outcome outcome = begin().get();
  ASSERT_TRUE(outcome.finish.result.has_value()) << outcome.finish.failure_message;
  auto source = folder_files_->open(outcome.finish.result->object_key);
  ASSERT_TRUE(source.ok());
  std::string bytes(source.value()->size(), '\0');
  ASSERT_EQ(source.value()->read(0, bytes).value(), bytes.size());
  EXPECT_EQ(base::sha256_hex(bytes), outcome.finish.result->sha256);
  EXPECT_THAT(rows_per_sheet(bytes), ::testing::ElementsAre(1'201));
  const auto received = server_.requests();
  ASSERT_EQ(received.size(), 3u);
  EXPECT_EQ(received[0].header("x-internal-service-token"), "s");
  EXPECT_FALSE(received[0].has_header("authorization"));
  EXPECT_FALSE(received[0].has_header("accept-encoding"));
  outcome.settled(store::FinishOutcome::kFenced);
  EXPECT_TRUE(stored().empty());
}

// E16: also without a Content-Length.
TEST_F(RealModulesTest, APageThatNeverEndsIsCutWhileReading) {
  server_.enqueue(Reply::nothing()
                      .send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
                      .repeat(std::string(64 << 10, ' ')));
  const Outcome outcome = begin().get();
  EXPECT_EQ(outcome.finish.event, Event::kFail);
  EXPECT_EQ(outcome.finish.failure_class, core::FailureClass::kLimit);
  EXPECT_THAT(outcome.finish.failure_message, ::testing::HasSubstr("4 MiB"));
  EXPECT_TRUE(stored().empty());
}

// D106: the limit is the limit, not something near it.
TEST_F(RealModulesTest, APageOfExactlyTheLimitIsTaken) {
  provider = {1, 1};
  std::string page = provider(client::Request{}).body;
  page.append(kMaxPageBytes - page.size(), ' ');
  server_.enqueue(Reply::json(200, page));
  EXPECT_EQ(begin().get().finish.event, Event::kSucceed);
  server_.enqueue(Reply::json(200, page + " "));
  EXPECT_EQ(begin().get().finish.event, Event::kFail);
}

// D100: a body that ends early is never taken for a whole one.
TEST_F(RealModulesTest, AShortBodyIsTransient) {
  const std::string page = provider(client::Request{}).body;
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  server_.enqueue(Reply::nothing()
                      .send(head + "Content-Length: " + std::to_string(page.size()) + "\r\n\r\n" +
                            page.substr(0, page.size() - 1))
                      .close());
  server_.enqueue(Reply::nothing().send(head + "\r\n" + page.substr(0, page.size() / 2)).close());
  const Outcome outcome = begin().get();
  EXPECT_EQ(outcome.finish.event, Event::kRetryLater) << outcome.finish.failure_message;
  EXPECT_EQ(server_.request_count(), 2u);
  EXPECT_TRUE(stored().empty());
}

// D102
TEST_F(RealModulesTest, RedirectsAreNotFollowed) {
  ScriptedServer trap;
  for (const int status : {301, 302, 307, 308}) {
    server_.enqueue(Reply::of(status, {{"Location", trap.url("/latest/meta-data")}}, ""));
    EXPECT_EQ(begin().get().finish.event, Event::kFail);
  }
  EXPECT_EQ(trap.connections(), 0);
}

// D08, J9: a provider that accepts and never answers; the stop ends the call and frees the worker.
TEST_F(RealModulesTest, AStopEndsACallThatNeverAnswers) {
  server_.enqueue(Reply::nothing().hang());
  auto outcome = begin();
  ASSERT_TRUE(server_.wait_for_requests(1));
  stop->request(StopReason::kOverdue);
  EXPECT_EQ(outcome.get().finish.event, Event::kOverdue);
  executor_.reset();
  EXPECT_TRUE(server_.wait_for_open_connections(0));
}

// The same without a watchdog: the execution knows its own deadline.
TEST_F(RealModulesTest, TheDeadlineEndsACallThatNeverAnswers) {
  server_.enqueue(Reply::nothing().hang());
  task.deadline_at = task.started_at + 50;
  EXPECT_EQ(begin().get().finish.event, Event::kOverdue);
}

TEST_F(RealModulesTest, NoAnswerInTimeIsATimeout) {
  settings.read_timeout_ms = 50;
  server_.handle([](const client::testing::Received&) { return Reply::nothing().hang(); });
  const Outcome outcome = begin().get();
  EXPECT_EQ(outcome.finish.event, Event::kRetryLater);
  EXPECT_EQ(outcome.finish.failure_class, core::FailureClass::kTimeout);
}

TEST(ClockWaiter, WaitsByTheClockAndStopsWhenTold) {
  base::SystemClock clock;
  ClockWaiter waiter(clock);
  const base::Millis began = clock.boot_ms();
  EXPECT_TRUE(waiter.wait(5, [] { return false; }));
  EXPECT_GE(clock.boot_ms() - began, 5);
  EXPECT_FALSE(waiter.wait(3'600'000, [] { return true; }));
  EXPECT_FALSE(waiter.wait(3'600'000, [asked = 0]() mutable { return ++asked > 1; }));
}

}  // namespace
}  // namespace waybill::exporting
