// The API as its clients meet it: a real server over a SQLite store in memory and a folder of
// files. For tests only.

#ifndef WAYBILL_API_API_FIXTURE_FOR_TEST_H_
#define WAYBILL_API_API_FIXTURE_FOR_TEST_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/api.h"
#include "api/json_reader.h"
#include "api/jwt.h"
#include "base/log.h"
#include "base/sha256.h"
#include "files/directory/directory_files.h"
#include "http/raw_client_for_test.h"
#include "store/sqlite/open.h"

namespace waybill::api {

inline constexpr std::string_view kRegistryText = R"(
definitions:
  CUSTOMER_LIST:
    title: {zh: 客户列表, en: Customers}
    provider_service: crm
    provider_path: /internal/exports/v1/CUSTOMER_LIST/batches
    required_permission: platform:customer:export
    app_scope: PLATFORM
    enabled: true
  ORDER_LIST:
    title: {zh: 订单, en: Orders}
    provider_service: crm
    provider_path: /internal/exports/v1/ORDER_LIST/batches
    required_permission: merchant:order:export
    app_scope: MERCHANT
    enabled: true
  OLD_LIST:
    title: {zh: 旧, en: Old}
    provider_service: crm
    provider_path: /internal/exports/v1/OLD_LIST/batches
    required_permission: platform:customer:export
    app_scope: PLATFORM
    enabled: false
)";

// The value at a path of keys, as text; "<absent>" where there is none.
inline std::string at(const std::string& json, std::initializer_list<std::string_view> path) {
  std::string text = json;
  for (const std::string_view key : path) {
    const auto fields = read_json_object(text);
    if (!fields.ok()) return "<no object: " + text.substr(0, 200) + ">";
    const JsonField* const field = find_field(*fields, key);
    if (field == nullptr) return "<absent>";
    text = field->text;
  }
  return text;
}

inline std::string code(const http::RawResponse& response) { return at(response.body, {"code"}); }

// Collects what is logged, one text per record.
class LogLines : public base::LogSink {
 public:
  LogLines() { base::set_log_sink(this); }
  ~LogLines() override { base::set_log_sink(nullptr); }
  void write(base::LogLevel level, std::string_view event,
             std::span<const base::LogField> fields) override {
    std::string line = (level == base::LogLevel::kAudit ? "AUDIT " : "") + std::string(event);
    for (const auto& field : fields) {
      line += ' ' + std::string(field.key) + '=';
      if (const auto* text = std::get_if<std::string>(&field.value)) line += *text;
      if (const auto* number = std::get_if<std::int64_t>(&field.value))
        line += std::to_string(*number);
    }
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::size_t count(const std::string& part) {
    const std::lock_guard lock(mutex_);
    std::size_t n = 0;
    for (const std::string& line : lines_) n += line.find(part) != std::string::npos ? 1 : 0;
    return n;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

class ApiTest : public ::testing::Test {
 protected:
  ApiTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("waybill-api-" + base::make_uuid(system_random_))) {
    std::filesystem::create_directories(folder_ / "files");
    std::ofstream(folder_ / "registry.yaml") << kRegistryText;
    jwt_.secrets = {"a secret of the tests, long enough for it"};
  }
  ~ApiTest() override {
    if (server_) server_->stop(0);
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void SetUp() override {
    seams_.before_statement = [this](const store::StatementPoint& point) {
      const std::lock_guard lock(inject_mutex_);
      return inject_ ? inject_(point) : store::Injected::kNone;
    };
    auto store = store::open_sqlite({.path = ":memory:"}, seams_);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(store).value();
    ASSERT_TRUE(store_->migrate().ok());
    auto registry = registry::Registry::load(
        {.file = (folder_ / "registry.yaml").string(), .allowed_services = {"crm"}});
    ASSERT_TRUE(registry.ok()) << registry.error().message;
    registry_ = std::move(registry).value();
    const std::vector<std::string> types{"CUSTOMER_LIST", "OLD_LIST", "ORDER_LIST"};
    ASSERT_TRUE(store_->ensure_type_guards(types).ok());
    auto files = files::open_directory((folder_ / "files").string(), system_random_);
    ASSERT_TRUE(files.ok()) << files.error().message;
    files_ = std::move(files).value();
    auto authenticator = make_jwt_authenticator(jwt_, clock_);
    ASSERT_TRUE(authenticator.ok());
    authenticator_ = std::move(authenticator).value();
    serve({});
  }

  void serve(const ApiSettings& settings) {
    if (server_) server_->stop(0);
    http::ServerOptions options;
    options.error_response = server_error;
    auto server = http::Server::start(std::move(options),
                                      make_routes({*store_, *store_, *registry_, *files_,
                                                   *authenticator_, clock_, system_random_},
                                                  settings),
                                      spawner_, system_clock_, system_random_);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(server).value();
  }

  // Headers of a user. Permissions: what an ordinary user of the platform has.
  std::string as(const std::string& user, const std::string& tenant = "t1",
                 std::set<std::string, std::less<>> permissions = {"platform:download:list",
                                                                   "platform:customer:export"},
                 registry::AppScope domain = registry::AppScope::kPlatform) {
    const Identity who{user, tenant, "APP", domain, std::move(permissions)};
    auto token = sign_demo_token(jwt_, who, clock_.wall_ms(), 3'600'000);
    return "Authorization: Bearer " + token.value() + "\r\n";
  }

  http::RawResponse get(const std::string& path, const std::string& headers) {
    return http::RawClient(server_->port()).get(std::string(kPrefix) + path, headers);
  }
  http::RawResponse post(const std::string& path, const std::string& body,
                         const std::string& headers) {
    return http::RawClient(server_->port()).post(std::string(kPrefix) + path, body, headers);
  }
  http::RawResponse create(const std::string& headers, const std::string& parameters = "{}") {
    return post("/files/export-tasks",
                R"({"exportType":"CUSTOMER_LIST","parameters":)" + parameters + "}", headers);
  }
  // Creates an export and returns its id as text.
  std::string created(const std::string& headers, const std::string& parameters = "{}") {
    const http::RawResponse response = create(headers, parameters);
    EXPECT_EQ(code(response), "200") << response.body;
    return at(response.body, {"data", "id"});
  }
  static std::string task(const std::string& id) { return "/files/export-tasks/" + id; }

  // Claims everything that waits, as a worker would.
  std::vector<store::ClaimedTask> claim(const std::string& tenant = "t1") {
    auto claimed = store_->claim_next({.owner = "worker",
                                       .lane = "export",
                                       .picks = {{2, tenant, 10}},
                                       .known_types = {},
                                       .sent_older_than_ms = {}});
    EXPECT_TRUE(claimed.ok());
    return claimed.ok() ? *claimed : std::vector<store::ClaimedTask>();
  }
  // Writes `bytes` as the file of a claimed task and commits its success.
  void succeed(const store::ClaimedTask& claimed, const std::string& bytes,
               const std::string& file_name) {
    const std::string key = "exports/" + std::to_string(claimed.execution.id) + "/1-" +
                            base::make_uuid(system_random_) + ".xlsx";
    auto sink = files_->create(key);
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE((*sink)->write(bytes).ok());
    ASSERT_TRUE((*sink)->commit().ok());
    const std::string storage = files_->storage_id().value();
    ASSERT_TRUE(store_->record_object("worker", claimed.execution, key, storage).ok());
    store::Finish finish;
    finish.execution = claimed.execution;
    finish.result = store::ExportResult{key,
                                        storage,
                                        file_name,
                                        "application/xlsx",
                                        static_cast<std::int64_t>(bytes.size()),
                                        base::sha256_hex(bytes),
                                        3,
                                        R"({"rows":3})",
                                        3'600'000};
    const std::vector<store::Finish> all{finish};
    auto outcome = store_->finish("worker", all);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    ASSERT_EQ(outcome->front(), store::FinishOutcome::kCommitted);
  }
  void fail(const store::ClaimedTask& claimed, core::Event event = core::Event::kFail) {
    store::Finish finish;
    finish.execution = claimed.execution;
    finish.event = event;
    finish.failure_class = core::FailureClass::kBusiness;
    finish.failure_message = "the range is too wide";
    const std::vector<store::Finish> all{finish};
    ASSERT_TRUE(store_->finish("worker", all).ok());
  }
  void inject(std::function<store::Injected(const store::StatementPoint&)> hook) {
    const std::lock_guard lock(inject_mutex_);
    inject_ = std::move(hook);
  }

  base::SystemRandom system_random_;
  base::SystemClock system_clock_;
  base::ManualClock clock_;
  base::ThreadSpawner spawner_;
  std::filesystem::path folder_;
  JwtSettings jwt_;
  store::Seams seams_{.database_clock = clock_, .random = system_random_};
  std::mutex inject_mutex_;
  std::function<store::Injected(const store::StatementPoint&)> inject_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<registry::Registry> registry_;
  std::unique_ptr<files::Files> files_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace waybill::api

#endif  // WAYBILL_API_API_FIXTURE_FOR_TEST_H_
