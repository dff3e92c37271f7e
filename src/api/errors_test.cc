#include "api/errors.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "api/envelope.h"
#include "api/openapi.h"

namespace waybill::api {
namespace {

http::Request asking(const std::string& language) {
  http::Request request;
  request.headers.emplace_back("accept-language", language);
  return request;
}

TEST(Errors, TheTableIsCompleteAndConsistent) {
  std::set<std::string_view> words;
  std::set<int> numbers;
  for (const ErrorInfo& info : error_table()) {
    EXPECT_TRUE(words.insert(info.word).second) << info.word;
    EXPECT_TRUE(numbers.insert(info.number).second) << info.word;
    EXPECT_EQ(info.number / 100, info.http_status) << info.word;
    EXPECT_FALSE(info.zh.empty()) << info.word;
    EXPECT_FALSE(info.en.empty()) << info.word;
    EXPECT_NE(info.zh, info.en) << info.word;
  }
}

TEST(Errors, EveryCategoryHasItsOwnAnswer) {
  const std::pair<base::Error, std::string_view> cases[] = {
      {base::invalid("f", "m"), "INVALID"},
      {base::not_found("m"), "NOT_FOUND"},
      {base::denied("m"), "FORBIDDEN"},
      {base::conflict("", "m"), "CONFLICT"},
      {base::conflict("NOT_FAILED", "m"), "NOT_FAILED"},
      {base::conflict("NO_SUCH_WORD", "m"), "CONFLICT"},
      {base::over_limit("f", 3, "tasks", 4, "m"), "LIMIT_EXCEEDED"},
      {base::unavailable("m"), "UNAVAILABLE"},
      {base::timed_out("m"), "UNAVAILABLE"},
      {base::outcome_unknown("m"), "OUTCOME_UNKNOWN"},
      {base::cancelled("m"), "UNAVAILABLE"},
      {base::internal("m"), "INTERNAL"},
  };
  std::set<base::ErrorCategory> seen;
  for (const auto& [error, word] : cases) {
    EXPECT_EQ(error_info(error).word, word);
    seen.insert(error.category);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(base::ErrorCategory::kInternal) + 1);
}

TEST(Errors, TheDocumentNamesTheSameWords) {
  const std::string_view yaml = openapi_yaml();
  for (const ErrorInfo& info : error_table()) {
    EXPECT_NE(yaml.find("- " + std::string(info.word) + "\n"), std::string_view::npos) << info.word;
  }
  const std::size_t begin = yaml.find("    ErrorCode:");
  const std::string_view list = yaml.substr(begin, yaml.find("    Status:", begin) - begin);
  std::size_t listed = 0;
  for (std::size_t at = list.find("        - "); at != std::string_view::npos;
       at = list.find("        - ", at + 1))
    ++listed;
  EXPECT_EQ(listed, error_table().size());
}

TEST(Errors, InternalsAreNotTold) {
  const base::Error error = base::internal("disk /var/lib/secret is broken");
  for (const Language language : {Language::kChinese, Language::kEnglish}) {
    EXPECT_EQ(error_text(error_info(error), error, language).find("secret"), std::string::npos);
  }
}

TEST(Errors, LimitsAreToldWithTheirNumbers) {
  base::Error error = base::over_limit("exports", 3, "tasks", 3, "three are active");
  error.code = "EXPORT_USER_LIMIT";
  const http::Response response = failure(asking("zh-CN"), error, false);
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find(R"("code":"EXPORT_USER_LIMIT","number":42901)"), std::string::npos);
  EXPECT_NE(response.body.find("上限为 3 个"), std::string::npos);
  EXPECT_NE(response.body.find(R"("data":{"field":"exports","limit":3,"unit":"tasks","actual":3})"),
            std::string::npos);
  EXPECT_EQ(failure(asking(""), error, true).status, 429);
}

TEST(Envelope, TheLanguageIsTheBetterOfTheTwo) {
  EXPECT_EQ(language_of(http::Request()), Language::kEnglish);
  EXPECT_EQ(language_of(asking("zh-CN")), Language::kChinese);
  EXPECT_EQ(language_of(asking("zh-CN,zh;q=0.9,en;q=0.8")), Language::kChinese);
  EXPECT_EQ(language_of(asking("en-US,en;q=0.9,zh;q=0.8")), Language::kEnglish);
  EXPECT_EQ(language_of(asking("zh;q=0, fr")), Language::kEnglish);
  EXPECT_EQ(language_of(asking("fr, zh;q=0.3, en;q=0.2")), Language::kChinese);
  EXPECT_EQ(language_of(asking(";;,q=,zh;q=x")), Language::kEnglish);
}

}  // namespace
}  // namespace waybill::api
