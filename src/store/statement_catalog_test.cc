#include "store/statement_catalog.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "store/collector.h"
#include "store/json_arrays.h"
#include "store/sqlite/driver.h"

namespace waybill::store {
namespace {

const Dialect& dialect() {
  static base::SystemClock clock;
  static const SqliteDriver driver({.path = ":memory:"}, clock);
  return driver.dialect();
}

base::Result<StatementCatalog> load(std::string_view text) {
  const EmbeddedSql file{"x.sql", text};
  return StatementCatalog::load(std::span(&file, 1), {}, dialect());
}

TEST(StatementCatalog, ReadsHeadsAndExpandsMacros) {
  const auto catalog = load(
      "-- A file's words.\n\n-- name: one\n-- in:   ids text, n int\n-- out:  id int, type text\n"
      "SELECT id, type FROM task @index(task_live) WHERE id IN @list(ids int) LIMIT :n @lock;\n"
      "-- name: two\nSELECT 1;\n");
  ASSERT_TRUE(catalog.ok()) << catalog.error().message;
  const StatementText* one = catalog->find("one");
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->in.size(), 2U);
  EXPECT_EQ(one->out[1].type, SqlType::kText);
  EXPECT_EQ(one->sql,
            "SELECT id, type FROM task INDEXED BY task_live WHERE id IN (SELECT value FROM "
            "json_each(:ids)) LIMIT :n ");
  EXPECT_EQ(catalog->find("two")->sql, "SELECT 1");
  EXPECT_EQ(catalog->find("three"), nullptr);
}

TEST(StatementCatalog, RefusesWhatIsMalformedAndSaysWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"-- name: a\n-- in: n int\nSELECT 1;\n", "parameter n is not used"},
      {"-- name: a\nSELECT :n;\n", "parameter n is not declared"},
      {"-- name: a\nSELECT @what(x);\n", "macro @what"},
      {"-- name: a\n-- in: x text\nSELECT @rows(x);\n", "macro @rows"},
      {"-- name: a\n-- in: x text\nSELECT * FROM @rows(x: a int;\n", "unclosed macro"},
      {"-- name: a\n-- in: x blob\nSELECT :x;\n", "malformed list"},
      {"-- name: a\n", "no text"},
      {"-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;\n", "defined twice"},
  };
  for (const auto& [text, part] : cases) {
    const auto catalog = load(text);
    ASSERT_FALSE(catalog.ok()) << text;
    EXPECT_NE(catalog.error().message.find(part), std::string::npos) << catalog.error().message;
    EXPECT_NE(catalog.error().message.find("statement a"), std::string::npos)
        << catalog.error().message;
  }
}

TEST(StatementCatalog, ADriversStatementReplacesTheCommonOne) {
  const EmbeddedSql common{"common.sql", "-- name: a\nSELECT 1;\n-- name: b\nSELECT 2;\n"};
  const EmbeddedSql own{"own.sql", "-- name: a\nSELECT 3;\n"};
  const auto catalog = StatementCatalog::load(std::span(&common, 1), std::span(&own, 1), dialect());
  ASSERT_TRUE(catalog.ok());
  EXPECT_EQ(catalog->find("a")->sql, "SELECT 3");
  EXPECT_EQ(catalog->find("b")->sql, "SELECT 2");
}

TEST(StatementCatalog, EveryStatementIsUsed) {
  std::string sources;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(WAYBILL_SOURCE_DIR "/src/store")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".cc") || name.ends_with("_test.cc")) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    sources += text.str();
  }
  const auto catalog = StatementCatalog::load(common_sql(), sqlite_sql(), dialect());
  ASSERT_TRUE(catalog.ok()) << catalog.error().message;
  EXPECT_GT(catalog->all().size(), 80U);
  for (const auto& [name, statement] : catalog->all()) {
    EXPECT_NE(sources.find('"' + name + '"'), std::string::npos) << name << " is used nowhere";
  }
}

TEST(JsonArrays, WriteWhatStatementsRead) {
  JsonList list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.text(), "[]");
  list.add(9007199254740993);
  list.add(std::string_view("a\"b"));
  EXPECT_EQ(list.text(), R"([9007199254740993,"a\"b"])");
  JsonRows rows;
  rows.add(1, "x", std::optional<std::int64_t>(), std::optional<std::string>("y"),
           core::TaskStatus::kBlocked);
  rows.add(-2, std::string("名"), std::optional<std::int64_t>(7), std::optional<std::string>(),
           core::TaskStatus::kPending);
  EXPECT_EQ(rows.text(), R"([[1,"x",null,"y",6],[-2,"名",7,null,0]])");
  JsonPairs pairs;
  pairs.add(5, "e");
  pairs.add(6, "");
  EXPECT_EQ(pairs.text(), R"({"5":"e","6":""})");
}

}  // namespace
}  // namespace waybill::store
