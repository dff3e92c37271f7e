#include "app/log_sink.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "app/cli/exit_code.h"
#include "app/serve.h"

namespace waybill::app {
namespace {

std::string line_of(std::string_view event, std::initializer_list<base::LogField> fields) {
  return format_log_line(1'700'000'000'123, base::TimeZone(), base::LogLevel::kWarn, event,
                         std::span<const base::LogField>(fields.begin(), fields.size()));
}

TEST(LogLine, IsOneJsonObject) {
  const auto parsed = boost::json::parse(line_of(
      "task claimed", {{"taskId", std::int64_t{7}}, {"ok", true}, {"share", 0.5}, {"type", "A"}}));
  EXPECT_EQ(parsed.at("time").as_string(), "2023-11-14T22:13:20.123+00:00");
  EXPECT_EQ(parsed.at("level").as_string(), "warn");
  EXPECT_EQ(parsed.at("event").as_string(), "task claimed");
  EXPECT_EQ(parsed.at("taskId").as_int64(), 7);
  EXPECT_EQ(parsed.at("ok").as_bool(), true);
  EXPECT_EQ(parsed.at("share").as_double(), 0.5);
}

// D122: forged log lines.
TEST(LogLine, HostileTextStaysInOneShortLine) {
  const std::string hostile[] = {
      "a\r\n{\"level\":\"audit\"}",  "\x1b[31mred",     std::string("nul\0byte", 8),
      "x\xE2\x80\xA8y\xE2\x80\xA9z", "\xff\xfe broken", "\xC2\x85next",
      std::string(1u << 20, 'A'),    "\"},{\"x\":\""};
  for (const std::string& text : hostile) {
    const std::string line = line_of(text, {{"taskName", text}, {text.substr(0, 200), text}});
    EXPECT_LT(line.size(), 10'000u);
    for (const char c : line) {
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << int{c};
    }
    EXPECT_EQ(line.find("\xE2\x80\xA8"), std::string::npos);
    EXPECT_EQ(line.find("\xC2\x85"), std::string::npos);
    EXPECT_NO_THROW((void)boost::json::parse(line)) << line;
  }
}

TEST(LogLine, MasksCredentials) {
  const std::string line = line_of(
      "refused",
      {{"serviceToken", "s3cr3t-1"},
       {"Authorization", "Basic s3cr3t-2"},
       {"message", "header was Bearer s3cr3t-3, url http://x/?a=1&X-Amz-Signature=s3cr3t-4&b=2"},
       {"path", "/x?access_token=s3cr3t-5"},
       {"name", "eyJhbGciOiJIUzI1NiJ9.s3cr3t-6.sig"}});
  EXPECT_EQ(line.find("s3cr3t"), std::string::npos) << line;
  EXPECT_NE(line.find("&b=2"), std::string::npos);
}

TEST(LogLine, AMissingTokenIsNoCredential) {
  const std::string line = line_of("refused", {{"message", "no token was sent"}});
  EXPECT_NE(line.find("no token was sent"), std::string::npos) << line;
}

TEST(LogLine, TooManyFieldsAreLeftOut) {
  const std::vector<base::LogField> fields(500, base::LogField("k", "v"));
  const std::string line = format_log_line(0, base::TimeZone(), base::LogLevel::kInfo, "e", fields);
  EXPECT_LT(line.size(), 1'000u);
}

class LogFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/waybill-log-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
  base::ManualClock clock_;
};

TEST_F(LogFile, OneLinePerRecordFromManyThreads) {
  const std::string file = folder_ + "/log";
  {
    auto sink = make_log_sink({.level = base::LogLevel::kInfo, .file = file, .zone = {}}, clock_);
    ASSERT_TRUE(sink.ok());
    const LogScope scope(std::move(*sink));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 250; ++i) base::log(base::LogLevel::kInfo, "e", {{"text", "a\nb"}});
      });
    }
    for (auto& thread : threads) thread.join();
    base::log(base::LogLevel::kDebug, "not written");
    base::log(base::LogLevel::kAudit, "always written");
  }
  base::log(base::LogLevel::kInfo, "nobody listens");
  std::ifstream in(file);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines)
    EXPECT_NO_THROW((void)boost::json::parse(line)) << line;
  EXPECT_EQ(lines, 1'001);
}

TEST_F(LogFile, AFolderThatIsNotThereIsAnError) {
  for (const char* file : {"/proc/nowhere/log", "/tmp"}) {
    const auto sink =
        make_log_sink({.level = base::LogLevel::kInfo, .file = file, .zone = {}}, clock_);
    ASSERT_FALSE(sink.ok()) << file;
    EXPECT_EQ(start_exit_code(sink.error()), cli::kLocalFile);
  }
}

}  // namespace
}  // namespace waybill::app
