#include "app/cli/endpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace waybill::app::cli {
namespace {

class EndpointTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/waybill-endpoint-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string demo(const std::string& name, const std::string& url) {
    const std::string folder = folder_ + "/" + name;
    std::filesystem::create_directories(folder + "/tokens");
    std::ofstream(folder + "/demo.json") << R"({"url":")" + url + "\"}\n";
    std::ofstream(folder + "/tokens/alice.jwt") << "token-of-" + name + "\n";
    return folder;
  }
  base::Result<Endpoint> find() {
    return find_endpoint(arguments_, [this](const char* name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    });
  }
  std::string folder_;
  Arguments arguments_;
  std::map<std::string, std::string> variables_;
};

TEST_F(EndpointTest, OptionThenVariableThenDataFolderThenDefault) {
  variables_["XDG_DATA_HOME"] = folder_;
  EXPECT_FALSE(find().ok());
  demo("waybill", "http://default");
  EXPECT_EQ(find()->url, "http://default");
  EXPECT_EQ(find()->token, "token-of-waybill");
  variables_["WAYBILL_DATA"] = demo("other", "http://data/");
  EXPECT_EQ(find()->url, "http://data");
  variables_["WAYBILL_URL"] = "http://variable";
  variables_["WAYBILL_TOKEN"] = "t1";
  EXPECT_EQ(find()->url, "http://variable");
  EXPECT_EQ(find()->token, "t1");
  arguments_.url = "http://option//";
  arguments_.token = "t2";
  EXPECT_EQ(find()->url, "http://option");
  EXPECT_EQ(find()->token, "t2");
}

TEST_F(EndpointTest, ADemosTokenGoesToThatDemoOnly) {
  variables_["WAYBILL_DATA"] = demo("d", "http://127.0.0.1:1");
  arguments_.url = "http://elsewhere";
  EXPECT_EQ(find()->token, "");
  arguments_.url = "http://127.0.0.1:1";
  EXPECT_EQ(find()->token, "token-of-d");
}

TEST_F(EndpointTest, DamagedDescriptionIsNoServer) {
  const std::string folder = demo("d", "x");
  std::ofstream(folder + "/demo.json") << "{";
  variables_["WAYBILL_DATA"] = folder;
  const auto found = find();
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find(folder + "/demo.json"), std::string::npos);
  arguments_.url = "http://option";
  EXPECT_EQ(find()->url, "http://option") << "nobody asked for the demo's";
}

TEST(WithoutPassword, MasksWhatStandsBeforeTheHost) {
  EXPECT_EQ(without_password("http://u:p@ss@h:1/x@y"), "http://********@h:1/x@y");
  EXPECT_EQ(without_password("http://h:1/x@y"), "http://h:1/x@y");
  EXPECT_EQ(without_password("nonsense"), "nonsense");
}

}  // namespace
}  // namespace waybill::app::cli
