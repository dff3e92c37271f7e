// One execution through the executor's public face: what it leaves in the storage, on the task and
// for its user.

#include <gmock/gmock.h>

#include "base/sha256.h"
#include "core/object_key.h"
#include "exporting/testing/export_fixture.h"

namespace waybill::exporting {
namespace {

using core::Event;
using core::FailureClass;
using dispatch::Outcome;
using dispatch::StopReason;
using store::FinishOutcome;
using ::testing::HasSubstr;
using testing::http_answer;

// Once with pages fetched ahead, once without: the results must be the same.
class ExportJobTest : public testing::ExportFixture, public ::testing::WithParamInterface<int> {
 protected:
  ExportJobTest() { settings.prefetched_pages = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(PagesAhead, ExportJobTest, ::testing::Values(0, 1, 3));

TEST_P(ExportJobTest, AFinishedExport) {
  files.on_create = [&](std::string_view key) {
    ASSERT_EQ(store.recorded.size(), 1u) << "recorded before the first byte";
    EXPECT_EQ(store.recorded[0].key, key);
  };
  const Outcome outcome = run();
  EXPECT_EQ(outcome.finish.event, Event::kSucceed) << outcome.finish.failure_message;
  ASSERT_TRUE(outcome.finish.result.has_value());
  const store::ExportResult& result = *outcome.finish.result;
  const auto key = core::parse_object_key(result.object_key);
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->execution, task.execution);
  EXPECT_EQ(result.storage_id, files.id);
  EXPECT_EQ(store.recorded[0].owner, "instance-1");
  EXPECT_EQ(store.recorded[0].storage_id, files.id);
  EXPECT_EQ(result.rows, 1'200);
  EXPECT_EQ(result.keep_ms, type().retention_ms);
  EXPECT_EQ(result.file_name, "客户列表-20231114-221320.xlsx");
  EXPECT_EQ(result.content_type,
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet");
  const std::string& bytes = files.entries.at(result.object_key).bytes;
  EXPECT_EQ(result.size_bytes, static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(result.sha256, base::sha256_hex(bytes));
  EXPECT_THAT(rows_per_sheet(bytes), ::testing::ElementsAre(1'201));
  EXPECT_THAT(result.receipt_json,
              HasSubstr(R"("pages":3,"rowsReceived":1200,"rowsWritten":1200,"rowsPerSheet":[1200],)"
                        R"("estimatedRows":1200,"snapshotAt":"2023-11-14T22:13:20)"));
  EXPECT_THAT(result.receipt_json, HasSubstr(result.sha256));
  EXPECT_EQ(files.open_sinks, 0);
}

TEST_P(ExportJobTest, TheFileStaysOnlyWhenTheCommitSaysSo) {
  for (const FinishOutcome how : {FinishOutcome::kCommitted, FinishOutcome::kFenced,
                                  FinishOutcome::kOverdue, FinishOutcome::kCancelled}) {
    const Outcome outcome = run();
    ASSERT_TRUE(outcome.settled);
    ASSERT_EQ(files.entries.size(), 1u);
    outcome.settled(how);
    EXPECT_EQ(files.entries.size(), how == FinishOutcome::kCommitted ? 1u : 0u);
    files.entries.clear();
  }
}

TEST_P(ExportJobTest, AnEmptyResultIsAFileWithItsHeader) {
  provider.rows = 0;
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.finish.result.has_value()) << outcome.finish.failure_message;
  EXPECT_EQ(outcome.finish.result->rows, 0);
  EXPECT_THAT(rows_per_sheet(files.entries.begin()->second.bytes), ::testing::ElementsAre(1));
}

TEST_P(ExportJobTest, EveryExecutionAsksForANewSnapshot) {
  run();
  task.execution.version = 4;
  run();
  const auto requests = http.requests();
  ASSERT_EQ(requests.size(), 6u);
  for (const std::size_t first : {0u, 3u}) {
    EXPECT_THAT(requests[first].body, HasSubstr(R"("cursor":null,"snapshotToken":null)"));
    EXPECT_THAT(requests[first + 1].body, HasSubstr(R"("cursor":"500","snapshotToken":"snap-1")"));
  }
  EXPECT_THAT(requests[5].body, HasSubstr(R"("taskId":"42")"));
  EXPECT_THAT(requests[5].body, HasSubstr(R"("dispatchVersion":4)"));
  EXPECT_EQ(files.entries.size(), 2u) << "an object of its own per version";
}

TEST_P(ExportJobTest, AFewFailuresOfAPageAreAbsorbed) {
  for (int i = 0; i < 3; ++i) http.then(http_answer(503, ""));
  EXPECT_EQ(run().finish.event, Event::kSucceed);
  EXPECT_EQ(waiter.delays.size(), 3u);
}

TEST_P(ExportJobTest, AProviderThatStaysAwayIsTransient) {
  http.otherwise = [](const client::Request&) { return http_answer(503, ""); };
  task.attempt = 1;
  expect_failed(run(), Event::kRetryLater, FailureClass::kSystem,
                "HTTP 503). It is tried again automatically.");
  task.attempt = 3;
  expect_failed(run(), Event::kRetryLater, FailureClass::kSystem, "All attempts are used up.");
  EXPECT_EQ(files.created, 0) << "no object for a provider that never answers";
}

TEST_P(ExportJobTest, ALongRetryAfterMovesTheTask) {
  http.then(http_answer(429, "", {{"retry-after", "120"}}));
  EXPECT_EQ(run().finish.retry_after_ms, 120'000);
}

TEST_P(ExportJobTest, AChangedSchemaFailsAtOnceAndLeavesNothing) {
  http.then(provider(client::Request{}));
  http.then(
      http_answer(200, R"({"code":"200","data":{"schemaHash":"h2","rows":[],"hasMore":false}})"));
  expect_failed(run(), Event::kFail, FailureClass::kValidation, "schemaHash");
  EXPECT_EQ(files.aborted, 1);
}

TEST_P(ExportJobTest, AnExpiredSnapshotIsFailedWithTheProvidersWords) {
  http.then(provider(client::Request{}));
  http.then(http_answer(200, R"({"code":"SNAPSHOT_EXPIRED","message":"please start again"})"));
  expect_failed(run(), Event::kFail, FailureClass::kBusiness,
                "please start again (code SNAPSHOT_EXPIRED)");
}

TEST_P(ExportJobTest, LimitsAreNamedAndLeaveNothing) {
  type().max_rows = 1'000;
  expect_failed(run(), Event::kFail, FailureClass::kLimit, "1000 rows");
  type().max_rows = 200'000;
  type().max_file_bytes = 1 << 20;
  provider.rows = 200'000;
  expect_failed(run(), Event::kFail, FailureClass::kLimit, "1 MiB");
  type().max_file_bytes = 50 << 20;
  provider.rows = 10;
  EXPECT_EQ(run().finish.event, Event::kSucceed) << "the next export works";
}

TEST_P(ExportJobTest, RowsThatAreNoJsonAreTransient) {
  // The envelope is sound, a row is not.
  http.then(http_answer(200, R"({"code":"200","data":{"schemaHash":"h","snapshotToken":"s",
      "columns":[{"key":"a","title":"A","type":"STRING"}],"rows":[{"a" "b"}],"hasMore":false}})"));
  const Outcome outcome = run();
  EXPECT_EQ(outcome.finish.event, Event::kRetryLater) << outcome.finish.failure_message;
  expect_clean();
}

struct StopCase {
  StopReason reason;
  Event event;
  bool lost;
};

TEST_P(ExportJobTest, StopsAtEveryStageAndLeavesNothing) {
  const StopCase cases[] = {{StopReason::kCancelled, Event::kStopObserved, false},
                            {StopReason::kShutdown, Event::kRelease, false},
                            {StopReason::kOverdue, Event::kOverdue, false},
                            {StopReason::kLostLease, Event::kSucceed, true}};
  for (const StopCase& c : cases) {
    const std::function<void()> request = [&] { stop->request(c.reason); };
    const std::function<void()> stages[] = {
        [&] { request(); },  // before anything
        [&] { store.on_record = request; },
        [&] { files.on_create = [&](std::string_view) { request(); }; },
        [&] { files.on_write = [&](std::uint64_t) { request(); }; },
        [&] {
          http.then_call([&](const client::Request& r) { return provider(r); });
          http.then_call([&](const client::Request&) -> testing::ScriptedHttp::Answer {
            request();
            return base::cancelled("stopped");
          });
        }};
    for (const auto& stage : stages) {
      stop = std::make_shared<dispatch::StopFlag>();
      stage();
      const Outcome outcome = run();
      EXPECT_EQ(outcome.lost, c.lost);
      if (!c.lost) {
        EXPECT_EQ(outcome.finish.event, c.event);
      }
      EXPECT_FALSE(outcome.finish.result.has_value());
      expect_clean();
      store.on_record = nullptr;
      files.on_create = nullptr;
      files.on_write = nullptr;
    }
  }
}

TEST_P(ExportJobTest, AStopWhileStoringIsSeenBeforeTheCommit) {
  // The last bytes are written, the stop comes, the file must not become visible.
  std::uint64_t whole = 0;
  files.on_write = [&](std::uint64_t written) { whole = written; };
  run();
  files.entries.clear();
  files.on_write = [&](std::uint64_t written) {
    if (written == whole) stop->request(StopReason::kCancelled);
  };
  files.on_commit = [] { ADD_FAILURE() << "committed after the stop"; };
  EXPECT_EQ(run().finish.event, Event::kStopObserved);
  expect_clean();
}

TEST_P(ExportJobTest, AStopDuringTheLastCheckIsSeenBeforeTheCommit) {
  int reads = 0;
  files.on_read_back = [&] { ++reads; };
  run();
  files.entries.clear();
  files.on_read_back = [&, left = reads]() mutable {
    if (--left == 0) stop->request(StopReason::kCancelled);
  };
  files.on_commit = [] { ADD_FAILURE() << "committed after the stop"; };
  EXPECT_EQ(run().finish.event, Event::kStopObserved);
  expect_clean();
}

TEST_P(ExportJobTest, TheDeadlineHoldsWithoutAWatchdog) {
  task.deadline_at = task.started_at + 5'000;
  files.on_write = [&](std::uint64_t) { clock.advance(6'000); };
  expect_failed(run(), Event::kOverdue, FailureClass::kTimeout, "maximum duration of 30 minutes");
}

TEST_P(ExportJobTest, AFencedExecutionWritesNothing) {
  store.record_answers.emplace_back(false);
  EXPECT_TRUE(run().lost);
  EXPECT_EQ(files.created, 0);
  store.load_error = base::not_found("gone");
  EXPECT_TRUE(run().lost);
}

TEST_P(ExportJobTest, ALostAnswerOfTheFirstTransactionIsAskedAgain) {
  store.record_answers.emplace_back(base::outcome_unknown("connection lost"));
  EXPECT_EQ(run().finish.event, Event::kSucceed);
  ASSERT_EQ(store.recorded.size(), 2u);
  EXPECT_EQ(store.recorded[0].key, store.recorded[1].key);
  store.record_answers.emplace_back(base::unavailable("away"));
  EXPECT_EQ(run().finish.event, Event::kRetryLater);
}

TEST_P(ExportJobTest, AFullDiskIsTransientWhereverItComes) {
  std::uint64_t whole = 0;
  files.on_write = [&](std::uint64_t written) { whole = written; };
  run();
  files.entries.clear();
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{100}, whole / 2, whole - 1}) {
    files.full_at_bytes = at;
    expect_failed(run(), Event::kRetryLater, FailureClass::kSystem, "no space left");
  }
}

TEST_P(ExportJobTest, StorageFaultsAreTransient) {
  files.create_error = base::unavailable("read-only");
  expect_failed(run(), Event::kRetryLater, FailureClass::kSystem, "read-only");
  files.create_error.reset();
  files.commit_error = base::unavailable("refused part");
  expect_failed(run(), Event::kRetryLater, FailureClass::kSystem, "refused part");
  files.commit_error.reset();
  files.storage_error = base::unavailable("not mounted");
  expect_failed(run(), Event::kRetryLater, FailureClass::kSystem, "not mounted");
}

// F26.8: what never began costs no attempt, and it does not come and go without a pause.
TEST_P(ExportJobTest, TooLittleSpaceCostsNoAttempt) {
  files.free = settings.min_free_bytes - 1;
  task.execution.version = task.attempt;  // nothing was released before
  const Outcome outcome = run();
  expect_failed(outcome, Event::kRelease, FailureClass::kSystem, "too little free space");
  EXPECT_EQ(outcome.finish.retry_after_ms, settings.low_space_retry_ms);
  EXPECT_TRUE(http.requests().empty())
      << "the provider is not asked for rows that cannot be stored";
  task.execution.version += 3;
  EXPECT_EQ(run().finish.retry_after_ms, settings.low_space_retry_ms * 8);
  task.execution.version += 300;
  EXPECT_EQ(run().finish.retry_after_ms, core::kMaxRetryAfterMs);
  files.free = settings.min_free_bytes;
  EXPECT_EQ(run().finish.event, Event::kSucceed);
}

// D93: the answer of the storage's commit is lost.
TEST_P(ExportJobTest, AnUnknownStorageCommitIsLookedUp) {
  files.commit_error = base::outcome_unknown("reset after completion");
  files.commit_despite_error = true;
  EXPECT_EQ(run().finish.event, Event::kSucceed);
  files.entries.clear();
  files.commit_despite_error = false;
  expect_failed(run(), Event::kRetryLater, FailureClass::kSystem, "storing the file");
  files.commit_despite_error = true;
  files.size_error = base::unavailable("away");
  expect_failed(run(), Event::kRetryLater, FailureClass::kSystem, "storing the file");
  EXPECT_FALSE(files.removed.empty()) << "what may be visible is removed";
}

TEST_P(ExportJobTest, AFileThatReadsBackWrongIsNeverPublished) {
  provider.rows = 10;
  files.flip_byte_at = 100;
  expect_failed(run(), Event::kRetryLater, FailureClass::kSystem, "checking the finished file");
}

TEST_P(ExportJobTest, AFailedDeletionIsCountedAndTriedAgain) {
  const Outcome outcome = run();
  files.remove_error = base::unavailable("away");
  outcome.settled(FinishOutcome::kFenced);
  EXPECT_EQ(observer.deletes_failed, 1);
  EXPECT_EQ(remover.step(), 1u);
  EXPECT_EQ(observer.deletes_failed, 2);
  files.remove_error.reset();
  EXPECT_EQ(remover.step(), 0u);
  EXPECT_TRUE(files.entries.empty());
}

TEST_P(ExportJobTest, WhatIsKnownBeforehandCostsNoCall) {
  task.requested_by.clear();
  expect_failed(run(), Event::kFail, FailureClass::kValidation, "requestedBy");
  task.requested_by = "u";
  type().provider_service = "other-service";
  expect_failed(run(), Event::kFail, FailureClass::kSystem, "other-service");
  task.type = "REMOVED";
  EXPECT_EQ(run().finish.event, Event::kRelease);
  EXPECT_TRUE(http.requests().empty());
}

TEST_P(ExportJobTest, ADisabledTypeStillRuns) {
  type().enabled = false;
  EXPECT_EQ(run().finish.event, Event::kSucceed);
}

TEST_P(ExportJobTest, TheEstimateIsOnlyAnEstimate) {
  http.then(http_answer(
      200, R"({"code":"200","data":{"schemaHash":"h","snapshotToken":"s","totalRows":999999,
      "columns":[{"key":"a","title":"A","type":"STRING"}],"rows":[{"a":"x"}],"hasMore":false}})"));
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.finish.result.has_value());
  EXPECT_EQ(outcome.finish.result->rows, 1);
  EXPECT_THAT(outcome.finish.result->receipt_json, HasSubstr(R"("estimatedRows":999999)"));
}

TEST_P(ExportJobTest, NothingTheProviderSendsNamesTheFile) {
  http.then(http_answer(
      200,
      R"({"code":"200","data":{"schemaHash":"../../x","snapshotToken":"s","fileName":"evil.xlsm",
      "objectKey":"../a","columns":[{"key":"a","title":"A","type":"STRING"}],
      "rows":[],"hasMore":false}})"));
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.finish.result.has_value());
  EXPECT_TRUE(core::parse_object_key(outcome.finish.result->object_key).has_value());
  EXPECT_THAT(outcome.finish.result->file_name, ::testing::StartsWith("客户列表-"));
}

TEST_P(ExportJobTest, ProgressFollowsThePages) {
  std::vector<std::int64_t> seen;
  http.otherwise = [&](const client::Request& request) {
    clock.advance(2'000);
    EXPECT_TRUE(progress.step().ok());
    return provider(request);
  };
  settings.prefetched_pages = 0;
  run();
  for (const auto& batch : store.progress) {
    ASSERT_EQ(batch.size(), 1u);
    EXPECT_EQ(batch[0].execution, task.execution);
    EXPECT_EQ(batch[0].total_rows, 1'200);
    seen.push_back(batch[0].processed_rows);
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(500, 1'000));
  clock.advance(2'000);
  EXPECT_EQ(progress.step().value(), 0) << "an ended execution has no progress";
}

}  // namespace
}  // namespace waybill::exporting
