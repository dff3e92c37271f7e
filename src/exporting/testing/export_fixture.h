// One export with everything around it in memory, for the tests of this folder.

#ifndef WAYBILL_EXPORTING_TESTING_EXPORT_FIXTURE_H_
#define WAYBILL_EXPORTING_TESTING_EXPORT_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exporting/export_executor.h"
#include "exporting/testing/fakes.h"
#include "xlsx/verify.h"

namespace waybill::exporting::testing {

// Runs every body at once, on the caller's thread.
class InlineSpawner final : public base::Spawner {
 public:
  std::unique_ptr<base::Spawned> spawn(const std::string&, std::function<void()> body) override {
    if (refuse) return nullptr;
    body();
    return std::make_unique<Done>();
  }
  bool refuse = false;

 private:
  class Done final : public base::Spawned {
   public:
    void join() override {}
  };
};

// A provider of rows {"id":"1","name":"row 1"} ... over pages, by cursor.
struct FakeProvider {
  std::int64_t rows = 1'200;
  std::int64_t page_rows = 500;

  [[nodiscard]] std::string page(std::int64_t first, std::int64_t count, bool more) const {
    std::string out =
        R"({"code":"200","message":"ok","data":{"schemaVersion":1,"schemaHash":"h1","snapshotToken":"snap-1",)"
        R"("columns":[{"key":"id","title":"No.","type":"INTEGER"},{"key":"name","title":"Name","type":"STRING"}],)"
        R"("totalRows":")" +
        std::to_string(rows) + R"(","rows":[)";
    for (std::int64_t i = first; i < first + count; ++i) {
      out += (i == first ? "{\"id\":\"" : ",{\"id\":\"") + std::to_string(i + 1) +
             R"(","name":"row )" + std::to_string(i + 1) + "\"}";
    }
    return out + R"(],"nextCursor":)" +
           (more ? '"' + std::to_string(first + count) + '"' : "null") + R"(,"hasMore":)" +
           (more ? "true}}" : "false}}");
  }
  client::Response operator()(const client::Request& request) const {
    const std::string_view mark = R"("cursor":")";
    const auto at = request.body.find(mark);
    const std::int64_t first =
        at == std::string::npos ? 0 : std::stoll(request.body.substr(at + mark.size()));
    const std::int64_t count = std::min(page_rows, rows - first);
    return http_answer(200, page(first, count, first + count < rows));
  }
};

class ExportFixture : public ::testing::Test {
 protected:
  ExportFixture() {
    registry::ExportType type;
    type.key = "CUSTOMER_LIST";
    type.title_zh = "客户列表";
    type.title_en = "Customers";
    type.provider_service = "iam-service";
    type.provider_path = "/internal/exports/v1/CUSTOMER_LIST/batches";
    snapshot.exports[type.key] = type;
    settings.owner = "instance-1";
    settings.prefetched_pages = 0;
    settings.services["iam-service"] = {"http://iam:8080",
                                        [] { return base::Result<std::string>(std::string("s")); }};
    http.otherwise = [this](const client::Request& request) { return provider(request); };
    task.execution = {42, 3};
    task.type = type.key;
    task.tenant_id = "t";
    task.app_code = "a";
    task.requested_by = "u";
    task.max_duration_ms = 1'800'000;
    task.started_at = 1'700'000'000'000;
    task.deadline_at = task.started_at + task.max_duration_ms;
  }

  registry::ExportType& type() { return snapshot.exports["CUSTOMER_LIST"]; }
  ExportServices services(base::Spawner& spawner) {
    return {store,    [this] { return std::make_shared<const registry::Snapshot>(snapshot); },
            http,     files,
            spawner,  clock,
            random,   waiter,
            progress, remover,
            observer};
  }
  // One execution from start to done, on this thread (and one for pages where settings ask for it).
  dispatch::Outcome run() {
    InlineSpawner inline_run;
    base::ThreadSpawner threads;
    // The execution runs here; its page thread must be a real one.
    class Mixed final : public base::Spawner {
     public:
      Mixed(base::Spawner& first, base::Spawner& rest) : first_(first), rest_(rest) {}
      std::unique_ptr<base::Spawned> spawn(const std::string& name,
                                           std::function<void()> body) override {
        return (begun_++ == 0 ? first_ : rest_).spawn(name, std::move(body));
      }

     private:
      base::Spawner& first_;
      base::Spawner& rest_;
      int begun_ = 0;
    } mixed(inline_run, threads);
    ExportExecutor executor(services(mixed), settings);
    std::optional<dispatch::Outcome> outcome;
    executor.start(task, stop, [&](dispatch::Outcome done) { outcome = std::move(done); });
    EXPECT_TRUE(outcome.has_value());
    return std::move(outcome).value_or(dispatch::Outcome{});
  }
  // Nothing of the execution is left in the storage.
  void expect_clean() {
    EXPECT_EQ(files.open_sinks, 0);
    EXPECT_TRUE(files.entries.empty());
  }
  void expect_failed(const dispatch::Outcome& outcome, core::Event event,
                     core::FailureClass failure_class, const std::string& words) {
    EXPECT_FALSE(outcome.lost);
    EXPECT_EQ(outcome.finish.event, event) << outcome.finish.failure_message;
    EXPECT_EQ(outcome.finish.failure_class, failure_class) << outcome.finish.failure_message;
    EXPECT_NE(outcome.finish.failure_message.find(words), std::string::npos)
        << outcome.finish.failure_message;
    EXPECT_FALSE(outcome.finish.result.has_value());
    expect_clean();
  }
  std::vector<std::int64_t> rows_per_sheet(const std::string& bytes) {
    const auto verified = xlsx::verify_package(
        bytes.size(),
        [&](std::uint64_t offset, std::span<char> buffer) -> base::Result<std::size_t> {
          const std::size_t size = std::min<std::size_t>(
              buffer.size(), bytes.size() - std::min<std::size_t>(offset, bytes.size()));
          std::memcpy(buffer.data(), bytes.data() + offset, size);
          return size;
        });
    EXPECT_TRUE(verified.ok());
    return verified.ok() ? verified.value().rows_per_sheet : std::vector<std::int64_t>{};
  }

  registry::Snapshot snapshot;
  FakeProvider provider;
  base::ManualClock clock;
  ManualWaiter waiter{clock};
  ScriptedHttp http;
  MemoryFiles files;
  FakeWorkStore store;
  CountingObserver observer;
  base::SeededRandom random{11};
  ProgressWriter progress{store, clock, "instance-1"};
  ObjectRemover remover{files, observer};
  ExportSettings settings;
  store::ClaimedTask task;
  std::shared_ptr<dispatch::StopFlag> stop = std::make_shared<dispatch::StopFlag>();
};

}  // namespace waybill::exporting::testing

#endif  // WAYBILL_EXPORTING_TESTING_EXPORT_FIXTURE_H_
