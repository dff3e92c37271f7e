#include "exporting/provider_page.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "exporting/settings.h"

namespace waybill::exporting {
namespace {

constexpr const char* kColumns = R"([{"key":"id","title":"No.","type":"INTEGER","width":12},
  {"key":"name","title":"客户","type":"STRING"}])";

std::string page_json(const std::string& data) {
  return R"({"code":"200","message":"ok","data":{)" + data + "}}";
}

std::string first_page(const std::string& rows, const std::string& rest = R"("hasMore":false)") {
  return page_json(R"("schemaVersion":1,"schemaHash":"h1","snapshotToken":"snap","columns":)" +
                   std::string(kColumns) + R"(,"rows":)" + rows + "," + rest);
}

std::variant<ProviderPage, Failure> parse(const std::string& text, PageRules rules = {}) {
  PageParser parser;
  return parser.parse(text, rules);
}

ProviderPage good(const std::string& text, PageRules rules = {}) {
  auto result = parse(text, rules);
  if (auto* failure = std::get_if<Failure>(&result)) {
    ADD_FAILURE() << failure->message;
    return {};
  }
  return std::move(std::get<ProviderPage>(result));
}

Failure bad(const std::string& text, PageRules rules = {}) {
  auto result = parse(text, rules);
  if (auto* failure = std::get_if<Failure>(&result)) return *failure;
  ADD_FAILURE() << "accepted: " << text.substr(0, 300);
  return {};
}

void expect_permanent(const std::string& text, const std::string& words, PageRules rules = {}) {
  const Failure failure = bad(text, rules);
  EXPECT_EQ(failure.kind, Failure::Kind::kPermanent) << failure.message;
  EXPECT_NE(failure.message.find(words), std::string::npos) << failure.message;
}

void expect_transient(const std::string& text, PageRules rules = {}) {
  const Failure failure = bad(text, rules);
  EXPECT_EQ(failure.kind, Failure::Kind::kTransient) << text.substr(0, 100) << failure.message;
}

TEST(ProviderPage, ReadsEveryFieldInAnyOrder) {
  const std::string rows = R"([ {"id":"1","name":"a]\"}"} , {"id":"2","name":null} ])";
  const ProviderPage page = good(
      page_json(R"("rows":)" + rows + R"(  ,"hasMore":true,"totalRows":"200000","nextCursor":"c2",
      "columns":)" +
                kColumns + R"(,"extra":{"deep":[1,2,{}]},"snapshotToken":"snap",
      "schemaHash":"h1","schemaVersion":3)"));
  EXPECT_EQ(page.rows, 2);
  EXPECT_EQ(page.rows_json(), rows);
  EXPECT_EQ(page.schema_hash, "h1");
  EXPECT_EQ(page.snapshot_token, "snap");
  EXPECT_EQ(page.next_cursor, "c2");
  EXPECT_TRUE(page.has_more);
  EXPECT_EQ(page.total_rows, 200'000);
  ASSERT_EQ(page.columns.size(), 2u);
  EXPECT_EQ(page.columns[0].type, xlsx::ColumnType::kInteger);
  EXPECT_EQ(page.columns[0].width, 12);
  EXPECT_EQ(page.columns[1].title, "客户");
}

TEST(ProviderPage, CodeBeforeOrAfterDataDecides) {
  expect_permanent(R"({"data":null,"message":"no such customer","code":"40001"})",
                   "no such customer (code 40001)");
  const Failure failure = bad(R"({"code":"SNAPSHOT_EXPIRED","message":"the snapshot is gone"})");
  EXPECT_EQ(failure.failure_class, core::FailureClass::kBusiness);
  // Broken data does not hide what the provider says.
  expect_permanent(R"({"data":{"rows":7},"code":"500","message":"later"})", "later");
  good(
      R"({"code":200,"message":"a number is tolerated","data":{"schemaHash":"h","snapshotToken":"s",
      "columns":[{"key":"a","title":"A","type":"STRING"}],"rows":[],"hasMore":false}})");
  expect_permanent(R"({"message":"x","data":{}})", "code is missing");
  expect_permanent(R"({"code":"200"})", "data is missing");
  expect_permanent(R"({"code":"200","data":[]})", "data is missing");
}

TEST(ProviderPage, NumbersStandInForStrings) {
  const ProviderPage page = good(first_page(
      "[{\"id\":1}]", R"("hasMore":true,"nextCursor":9223372036854775807,"totalRows":5)"));
  EXPECT_EQ(page.next_cursor, "9223372036854775807");
  EXPECT_EQ(page.total_rows, 5);
}

TEST(ProviderPage, AnEstimateThatIsNoneIsIgnored) {
  for (const char* total :
       {"-1", "null", "\"many\"", "1e400", "123456789012345678901234567890", "{}", "[1]", "true"}) {
    const ProviderPage page =
        good(first_page("[]", std::string(R"("hasMore":false,"totalRows":)") + total));
    EXPECT_EQ(page.total_rows, std::nullopt) << total;
  }
}

TEST(ProviderPage, EmptyPageIsLegal) {
  const ProviderPage page = good(first_page("[ ]"));
  EXPECT_EQ(page.rows, 0);
  EXPECT_EQ(page.rows_json(), "[]");
}

TEST(ProviderPage, LaterPagesMayOmitColumnsAndTheirTokenIsIgnored) {
  const PageRules later{500, false};
  const ProviderPage page = good(
      page_json(
          R"("schemaHash":"h1","rows":[{}],"hasMore":false,"snapshotToken":{"x":1},"columns":5)"),
      later);
  EXPECT_TRUE(page.columns.empty());
  EXPECT_TRUE(page.snapshot_token.empty());
}

TEST(ProviderPage, FirstPageNeedsColumnsHashAndToken) {
  expect_permanent(page_json(R"("schemaHash":"h","snapshotToken":"s","rows":[],"hasMore":false)"),
                   "no columns");
  const std::string columns = R"("columns":)" + std::string(kColumns);
  expect_permanent(page_json(columns + R"(,"snapshotToken":"s","rows":[],"hasMore":false)"),
                   "no schemaHash");
  expect_permanent(page_json(columns + R"(,"schemaHash":"h","rows":[],"hasMore":false)"),
                   "no snapshotToken");
}

TEST(ProviderPage, RowsMustBeAnArrayOfObjects) {
  expect_permanent(page_json(R"("hasMore":false)"), "rows is missing");
  for (const char* rows : {"null", "{}", "\"x\"", "3", "true"}) {
    expect_permanent(first_page(rows), "rows is not an array");
  }
  expect_permanent(first_page("[{},[]]"), "rows[1] is not an object");
  expect_permanent(first_page("[null]"), "rows[0] is not an object");
}

TEST(ProviderPage, HasMoreMustBeSaid) {
  expect_permanent(first_page("[]", R"("nextCursor":null)"), "hasMore is missing");
  expect_permanent(first_page("[]", R"("hasMore":"false")"), "hasMore");
  expect_permanent(first_page("[]", R"("hasMore":null)"), "hasMore");
}

TEST(ProviderPage, LimitsAreNamed) {
  expect_permanent(first_page("[{},{},{}]"), "2 rows", {2, true});
  good(first_page("[{},{}]"), {2, true});
  const std::string exactly(kMaxTokenCharacters, 'x');
  std::string wide;  // characters count, not bytes
  for (std::size_t i = 0; i < kMaxTokenCharacters; ++i) wide += "界";
  EXPECT_EQ(good(first_page("[]", R"("hasMore":true,"nextCursor":")" + wide + '"')).next_cursor,
            wide);
  good(first_page("[]", R"("hasMore":true,"nextCursor":")" + exactly + '"'));
  expect_permanent(first_page("[]", R"("hasMore":true,"nextCursor":")" + exactly + "y\""),
                   "512 characters");
  expect_permanent(page_json(R"("snapshotToken":")" + exactly + R"(y","rows":[],"hasMore":false)"),
                   "snapshotToken has more than 512");
}

std::string with_columns(std::size_t count) {
  std::string columns;
  for (std::size_t i = 0; i < count; ++i) {
    columns += (i == 0 ? "" : ",");
    columns += R"({"key":"k)" + std::to_string(i) + R"(","title":"t","type":"STRING"})";
  }
  return page_json(R"("schemaHash":"h","snapshotToken":"s","columns":[)" + columns +
                   R"(],"rows":[],"hasMore":false)");
}

TEST(ProviderPage, AtMostOneHundredColumns) {
  EXPECT_EQ(good(with_columns(kMaxPageColumns)).columns.size(), kMaxPageColumns);
  const Failure failure = bad(with_columns(kMaxPageColumns + 1));
  EXPECT_EQ(failure.failure_class, core::FailureClass::kLimit);
  EXPECT_NE(failure.message.find("100 columns"), std::string::npos);
}

TEST(ProviderPage, InvalidColumns) {
  const auto columns = [](const std::string& text) {
    return page_json(
        R"("schemaHash":"h","snapshotToken":"s","rows":[],"hasMore":false,"columns":)" + text);
  };
  expect_permanent(columns("{}"), "columns is not an array");
  expect_permanent(columns("[1]"), "columns[0] is not an object");
  expect_permanent(columns(R"([{"title":"t","type":"STRING"}])"), "columns[0] has no key");
  expect_permanent(columns(R"([{"key":"a","title":"t","type":"FORMULA"}])"), "FORMULA");
  expect_permanent(columns(R"([{"key":"a","title":"t"}])"), "columns[0].type");
  expect_permanent(columns(R"([{"key":"a","type":"DATE","width":"wide"}])"), "width");
  expect_permanent(columns(R"([{"key":"a","title":{},"type":"DATE"}])"), "columns[0].title");
  expect_permanent(columns(R"([{"key":"a","type":"DATE"},{"key":"a","type":"DATE"}])"),
                   "two columns");
  expect_permanent(columns(R"([{"key":"a","key":"b","type":"DATE"}])"), "key comes twice");
  EXPECT_EQ(
      good(columns(R"([{"key":"a","type":"DATE","title":null,"width":null}])")).columns[0].title,
      "a");
}

TEST(ProviderPage, DuplicateFieldsAreRefused) {
  expect_permanent(first_page("[]", R"("hasMore":true,"hasMore":false)"), "hasMore comes twice");
  expect_permanent(first_page("[{}]", R"("rows":[],"hasMore":false)"), "rows comes twice");
  expect_permanent(first_page("[{}]", R"("r\u006fws":[],"hasMore":false)"), "rows comes twice");
  expect_permanent(R"({"code":"500","code":"200"})", "code comes twice");
}

TEST(ProviderPage, TextThatIsNotJsonIsTransient) {
  const std::string whole = first_page(R"([{"id":"1","name":"x"},{"id":"2","name":"y"}])");
  for (std::size_t size = 0; size < whole.size(); ++size) expect_transient(whole.substr(0, size));
  expect_transient("<html>502</html>");
  expect_transient("null");
  expect_transient("[]");
  expect_transient(whole + "x");
  expect_transient(whole + "{}");
  expect_transient(whole + "]");
  expect_transient(first_page(R"([{"id":1},])"));
  expect_transient(first_page(R"([{"id":1} {"id":2}])"));
  good(whole + " \r\n");
}

// D101
TEST(ProviderPage, DepthNeitherCrashesNorHangs) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  good(first_page("[]", R"("hasMore":false,"other":)" + deep));
  good(first_page(R"([{"id":)" + deep + "}]"));
  expect_transient(std::string(200'000, '['));
  expect_transient(std::string(200'000, '{'));
  expect_permanent(R"({"code":)" + deep + "}", "code is missing");
}

TEST(ProviderPage, IllFormedTextIsRepairedInACopy) {
  const ProviderPage page = good(first_page("[{\"name\":\"a\xFF\"}]"));
  EXPECT_TRUE(page.repaired);
  EXPECT_EQ(page.rows_json(), "[{\"name\":\"a\xEF\xBF\xBD\"}]");
  EXPECT_FALSE(good(first_page("[{}]")).repaired);
}

TEST(ProviderPage, RowsStayReadableAfterAMove) {
  ProviderPage page = good(first_page(R"([{"id":"7"}])"));
  const ProviderPage moved = std::move(page);
  EXPECT_EQ(moved.rows_json(), R"([{"id":"7"}])");
}

TEST(ProviderPage, ParserIsReusable) {
  PageParser parser;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::holds_alternative<Failure>(parser.parse("{", {})));
    EXPECT_TRUE(std::holds_alternative<ProviderPage>(parser.parse(first_page("[{}]"), {})));
  }
}

TEST(ProviderPage, ErrorMessageIsPrintableAndCut) {
  PageParser parser;
  EXPECT_EQ(parser.error_message(R"({"code":"X","message":"bad\nstatus"})"),
            base::printable("bad\nstatus"));
  EXPECT_EQ(parser.error_message("<html>"), "");
  EXPECT_EQ(parser.error_message(R"({"message":{"a":1}})"), "");
  EXPECT_LE(
      base::utf8_length(parser.error_message(R"({"message":")" + std::string(9'000, 'x') + "\"}")),
      501u);  // and the ellipsis
}

}  // namespace
}  // namespace waybill::exporting
