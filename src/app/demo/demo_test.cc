#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "app/config.h"
#include "app/demo/business.h"
#include "app/demo/data_folder.h"
#include "app/demo/rows.h"
#include "app/demo/run_demo.h"
#include "app/settings.h"
#include "registry/registry.h"

namespace waybill::app::demo {
namespace {

namespace json = boost::json;

std::string row_of(Table table, std::uint64_t seed, std::int64_t id) {
  std::string out;
  append_row(out, table, seed, id);
  return out;
}

// Frozen: a change of the data changes files that people compare.
TEST(Rows, AreTheSameForEver) {
  const std::uint64_t seed = tenant_seed("north", "demo");
  EXPECT_EQ(seed, tenant_seed("north", "demo"));
  EXPECT_NE(seed, tenant_seed("south", "demo"));
  EXPECT_EQ(row_of(Table::kCustomers, seed, 1), row_of(Table::kCustomers, seed, 1));
  EXPECT_NE(row_of(Table::kCustomers, seed, 1), row_of(Table::kCustomers, seed, 2));
  EXPECT_NE(row_of(Table::kCustomers, seed, 1),
            row_of(Table::kCustomers, tenant_seed("south", "demo"), 1));
}

TEST(Rows, FitTheirColumns) {
  const std::uint64_t seed = tenant_seed("north", "demo");
  for (const Table table : {Table::kCustomers, Table::kOrders, Table::kReport}) {
    const json::value columns = json::parse(std::string(columns_json(table)));
    std::set<std::string> keys, types;
    for (const auto& column : columns.as_array()) {
      keys.insert(std::string(column.at("key").as_string()));
      types.insert(std::string(column.at("type").as_string()));
    }
    if (table == Table::kCustomers) {
      EXPECT_EQ(keys.size(), static_cast<std::size_t>(kCustomerColumns));
      EXPECT_THAT(types, testing::UnorderedElementsAre("STRING", "INTEGER", "DECIMAL", "BOOLEAN",
                                                       "DATE", "DATETIME"));
    }
    if (table == Table::kOrders) {
      EXPECT_EQ(keys.size(), static_cast<std::size_t>(kOrderColumns));
    }
    for (std::int64_t id = 1; id <= 2'000; ++id) {
      boost::system::error_code error;
      const json::value row = json::parse(row_of(table, seed, id * 97), error);
      ASSERT_FALSE(error) << row_of(table, seed, id * 97);
      for (const auto& [key, value] : row.as_object())
        ASSERT_TRUE(keys.contains(std::string(key))) << key;
    }
  }
}

class Business : public testing::Test {
 protected:
  http::Response call(const std::string& type, json::object changes = {},
                      const std::string& token = "hush") {
    json::object body{
        {"taskId", "1"},          {"tenantId", "north"},      {"appCode", "demo"},
        {"requestedBy", "alice"}, {"dispatchVersion", 1},     {"parameters", json::object()},
        {"cursor", nullptr},      {"snapshotToken", nullptr}, {"limit", 500}};
    for (const auto& [key, value] : changes) body[key] = value;
    http::Request request;
    request.method = "POST";
    request.headers = {{"x-internal-service-token", token}};
    request.path_values["type"] = type;
    request.body = json::serialize(body);
    return service_.answer(request);
  }
  // Follows the cursors; returns how many rows came.
  std::int64_t all_rows(const std::string& type, json::object changes) {
    std::int64_t rows = 0;
    changes["limit"] = 1'000;
    std::set<std::string> cursors;
    for (;;) {
      const json::value answer = json::parse(call(type, changes).body);
      const auto& data = answer.at("data").as_object();
      rows += static_cast<std::int64_t>(data.at("rows").as_array().size());
      if (!data.at("hasMore").as_bool()) return rows;
      EXPECT_TRUE(cursors.insert(std::string(data.at("nextCursor").as_string())).second);
      changes["cursor"] = data.at("nextCursor");
      changes["snapshotToken"] = data.at("snapshotToken");
    }
  }
  BusinessService service_{"hush", {"north", "south"}};
};

TEST_F(Business, ChecksTokenAndEnvelope) {
  EXPECT_EQ(call("CUSTOMER_LIST", {}, "wrong").status, 401);
  EXPECT_EQ(call("CUSTOMER_LIST", {}, "").status, 401);
  for (const char* key : {"taskId", "tenantId", "appCode", "requestedBy"}) {
    EXPECT_EQ(call("CUSTOMER_LIST", {{key, ""}}).status, 400) << key;
    EXPECT_EQ(call("CUSTOMER_LIST", {{key, nullptr}}).status, 400) << key;
  }
  EXPECT_EQ(call("CUSTOMER_LIST", {{"limit", 1'001}}).status, 400);
  EXPECT_EQ(call("NO_SUCH_LIST").status, 404);
}

TEST_F(Business, PagesToTheEnd) {
  EXPECT_EQ(all_rows("ORDER_LIST", {{"parameters", {{"rows", 2'500}}}}), 2'500);
  const std::int64_t paid =
      all_rows("ORDER_LIST", {{"parameters", {{"rows", 2'500}, {"status", "PAID"}}}});
  EXPECT_GT(paid, 300);
  EXPECT_LT(paid, 700);
}

TEST_F(Business, OtherTenantsHaveNothing) {
  EXPECT_EQ(all_rows("CUSTOMER_LIST", {{"tenantId", "east"}}), 0);
}

TEST_F(Business, ForeignCursorsAndSnapshotsAreRefused) {
  const json::value first = json::parse(call("CUSTOMER_LIST").body);
  const auto& data = first.at("data").as_object();
  const auto refused = [&](json::object changes) {
    return json::parse(call("CUSTOMER_LIST", std::move(changes)).body).at("code").as_string() !=
           "200";
  };
  EXPECT_FALSE(refused({{"cursor", "500"}, {"snapshotToken", data.at("snapshotToken")}}));
  EXPECT_TRUE(refused({{"cursor", "500"}, {"snapshotToken", "900000.forged"}}));
  EXPECT_TRUE(refused(
      {{"cursor", "500"}, {"snapshotToken", data.at("snapshotToken")}, {"tenantId", "south"}}));
  EXPECT_TRUE(refused({{"cursor", "-1"}}));
  EXPECT_TRUE(refused({{"cursor", "1 OR 1=1"}}));
}

TEST_F(Business, FlakyFailsPerTaskThenWorks) {
  for (int i = 0; i < kFlakyFailures; ++i) EXPECT_EQ(call("FLAKY_REPORT").status, 503);
  EXPECT_EQ(call("FLAKY_REPORT").status, 200);
  EXPECT_EQ(call("FLAKY_REPORT", {{"taskId", "2"}}).status, 503);
}

TEST_F(Business, BrokenIsAPermanentAnswer) {
  const http::Response response = call("BROKEN_REPORT");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(json::parse(response.body).at("code").as_string(), "REPORT_BROKEN");
}

TEST_F(Business, StoppingEndsSlowRequests) {
  service_.stop();
  EXPECT_EQ(call("SLOW_REPORT").status, 503);
}

TEST(Registry, OfTheDemoIsValid) {
  registry::RegistryOptions options;
  options.allowed_services = {std::string(kServiceName)};
  const auto snapshot = registry::parse_registry(registry_yaml(), "registry.yaml", options);
  ASSERT_TRUE(snapshot.ok()) << snapshot.error().message;
  EXPECT_EQ(snapshot->exports.size(), 6u);
  EXPECT_EQ(snapshot->find_export("ORDER_LIST")->max_file_bytes, 200ll << 20);
  int off = 0;
  for (const auto& [name, type] : snapshot->exports) {
    off += type.enabled ? 0 : 1;
    EXPECT_TRUE(users().front().may(type.required_permission)) << name;
  }
  EXPECT_EQ(off, 1);
}

class DataFolder : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/waybill-demo-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static unsigned mode(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
  }
  std::string folder_;
};

TEST_F(DataFolder, IsForItsOwnerOnly) {
  const std::string data = folder_ + "/a/b";
  const mode_t before = ::umask(0);
  ASSERT_TRUE(prepare_folder(data).ok());
  ASSERT_TRUE(write_file(data + "/tokens/x.jwt", "t", 0600).ok());
  ASSERT_TRUE(write_file(data + "/tokens/x.jwt", "u", 0600).ok()) << "again";
  base::SystemRandom random;
  const auto secret = ensure_secret(data + "/secret", random);
  ::umask(before);
  ASSERT_TRUE(secret.ok());
  EXPECT_GE(secret->size(), 64u);
  EXPECT_EQ(*ensure_secret(data + "/secret", random), *secret);
  for (const char* name : {"", "/files", "/tokens"}) EXPECT_EQ(mode(data + name), 0700u) << name;
  for (const char* name : {"/tokens/x.jwt", "/secret"}) EXPECT_EQ(mode(data + name), 0600u) << name;
  ASSERT_EQ(::chmod(data.c_str(), 0777), 0);
  ASSERT_TRUE(prepare_folder(data).ok());
  EXPECT_EQ(mode(data), 0700u);
}

TEST_F(DataFolder, AFileInItsPlaceIsAnError) {
  std::ofstream(folder_ + "/x") << "x";
  const auto made = prepare_folder(folder_ + "/x");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().field, "data");
}

// Every key is asked for by make_settings: none is documented and ignored.
TEST_F(DataFolder, TheDemosConfigurationUsesEveryKey) {
  const std::string odd = folder_ + "/a 'b' \"c\": {d}";
  ASSERT_TRUE(prepare_folder(odd).ok());
  base::SystemRandom random;
  ASSERT_TRUE(ensure_secret(odd + "/secret", random).ok());
  ASSERT_TRUE(ensure_secret(odd + "/service-token", random).ok());
  ConfigSources sources;
  sources.file_name = "demo";
  sources.file_text = demo_config(odd, 0, "http://127.0.0.1:1");
  const LoadedConfig loaded = load_config(sources);
  ASSERT_TRUE(loaded.config) << loaded.problems.front();
  const auto settings = make_settings(*loaded.config);
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_THAT(loaded.config->unread(), testing::IsEmpty());
  EXPECT_EQ(settings->database_path, odd + "/waybill.db");
  EXPECT_EQ(settings->retry.backoff_ms, std::vector<base::Millis>{2'000});
  EXPECT_EQ(settings->exporting.page_retry_ms, (std::vector<base::Millis>{200, 200, 200}));
  EXPECT_EQ(settings->dispatch.shutdown_grace_ms, 2'000);
}

}  // namespace
}  // namespace waybill::app::demo
