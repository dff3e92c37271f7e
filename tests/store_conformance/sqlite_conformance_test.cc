// The suite on SQLite, in a file and in memory.

#include <sqlite3.h>

#include <filesystem>

#include "store/sqlite/open.h"
#include "store/sqlite/testing.h"
#include "tests/store_conformance/store_conformance.h"

namespace waybill::store::conformance {
namespace {

class SqliteDatabase final : public Database {
 public:
  explicit SqliteDatabase(bool in_memory) : in_memory_(in_memory) {
    base::SystemRandom unique;
    folder_ = std::filesystem::temp_directory_path() / ("waybill-store-" + base::make_uuid(unique));
    std::filesystem::create_directories(folder_);
    store_ = open(hook);
  }
  ~SqliteDatabase() override {
    store_.reset();
    sqlite3_close(raw_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  Store& store() override { return *store_; }
  std::unique_ptr<Store> open_another(Hook& other) override { return open(other); }

  std::vector<RawRow> query(const std::string& sql) override {
    std::vector<RawRow> rows;
    sqlite3_stmt* statement = nullptr;
    const int prepared = sqlite3_prepare_v2(raw(), sql.c_str(), -1, &statement, nullptr);
    EXPECT_EQ(prepared, SQLITE_OK) << sql << ": " << sqlite3_errmsg(raw());
    if (prepared != SQLITE_OK) return rows;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      RawRow& row = rows.emplace_back();
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        row.emplace_back(text != nullptr ? text : "");
      }
    }
    sqlite3_finalize(statement);
    return rows;
  }

  void execute(const std::string& sql) override {
    char* message = nullptr;
    sqlite3_exec(raw(), sql.c_str(), nullptr, nullptr, &message);
    EXPECT_EQ(message, nullptr) << sql << ": " << message;
    sqlite3_free(message);
  }

  std::map<std::string, std::vector<std::string>> explain() override {
    std::map<std::string, std::vector<std::string>> plans;
    for (const auto& [name, sql] : sqlite_statement_texts()) {
      for (const RawRow& row : query("EXPLAIN QUERY PLAN " + sql)) plans[name].push_back(row.at(3));
    }
    return plans;
  }

  std::int64_t work_of(const std::string& name) override {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(raw(), sqlite_statement_texts().at(name).c_str(), -1, &statement, nullptr);
    EXPECT_NE(statement, nullptr) << name;
    sqlite3_bind_int(statement, sqlite3_bind_parameter_index(statement, ":any"), 1);
    while (sqlite3_step(statement) == SQLITE_ROW) {
    }
    const int steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    sqlite3_finalize(statement);
    return steps;
  }

  std::int64_t log_bytes() override {
    std::error_code error;
    const auto size = std::filesystem::file_size(path() + "-wal", error);
    return error ? 0 : static_cast<std::int64_t>(size);
  }

 private:
  [[nodiscard]] std::string path() const {
    return in_memory_ ? ":memory:" : (folder_ / "waybill.db").string();
  }

  std::unique_ptr<Store> open(Hook& which) {
    const Seams seams{
        .database_clock = clock,
        .random = random,
        .retry = {},
        .before_statement = [&which](const StatementPoint& point) { return which(point); }};
    // Power loss is not what these cases are about.
    auto opened = open_sqlite({.path = path(), .durable = false}, seams);
    EXPECT_STORED(opened);
    return opened.ok() ? *std::move(opened) : nullptr;
  }

  sqlite3* raw() {
    if (raw_ == nullptr) {
      sqlite3_open(path().c_str(), &raw_);
      sqlite3_busy_timeout(raw_, 10'000);
      sqlite3_create_function(
          raw_, "waybill_now", 0, SQLITE_UTF8, &clock,
          [](sqlite3_context* context, int, sqlite3_value**) {
            sqlite3_result_int64(
                context, static_cast<const base::Clock*>(sqlite3_user_data(context))->wall_ms());
          },
          nullptr, nullptr);
    }
    return raw_;
  }

  const bool in_memory_;
  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
  sqlite3* raw_ = nullptr;
};

std::unique_ptr<Database> in_file() { return std::make_unique<SqliteDatabase>(false); }
std::unique_ptr<Database> in_memory() { return std::make_unique<SqliteDatabase>(true); }

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance,
                         testing::Values(Kind{"File", in_file, {}}, Kind{"Memory",
                                                                         in_memory,
                                                                         {.second_session = false,
                                                                          .raw = false,
                                                                          .plans = false}}),
                         kind_name);

}  // namespace
}  // namespace waybill::store::conformance
