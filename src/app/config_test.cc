#include "app/config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <vector>

namespace waybill::app {
namespace {

constexpr const char* kMinimal = R"(database:
  url: sqlite:data/waybill.db
files:
  directory:
    path: /srv/files
registry:
  file: registry.yaml
auth:
  jwt:
    secret_file: secret
)";

LoadedConfig load(const std::string& more, Pairs environment = {}, Pairs overrides = {}) {
  ConfigSources sources;
  sources.file_text = kMinimal + more;
  sources.file_name = "/etc/waybill/waybill.yaml";
  sources.environment = std::move(environment);
  sources.overrides = std::move(overrides);
  return load_config(sources);
}

std::string problems(const LoadedConfig& loaded) {
  std::string all;
  for (const auto& line : loaded.problems) all += line + "\n";
  return all;
}

TEST(Schema, EveryDefaultPassesItsOwnLimits) {
  const LoadedConfig loaded =
      load("provider_services:\n  iam:\n    base_url: http://iam\n    token: t\n");
  ASSERT_TRUE(loaded.config) << problems(loaded);
  EXPECT_EQ(loaded.config->millis("dispatch.lease_seconds"), 300'000);
  EXPECT_EQ(loaded.config->millis_list("dispatch.retry_backoff_seconds"),
            (std::vector<base::Millis>{60'000, 900'000}));
  EXPECT_EQ(loaded.config->names("lanes"), std::vector<std::string>{"export"});
}

// Sets every key once to its default, quoted or not as its type wants, through the environment.
TEST(Schema, EveryKeyCanBeOverriddenByTheEnvironment) {
  std::set<std::string> names;
  for (const KeySpec& spec : config_schema()) {
    const std::string variable = environment_name(spec.path);
    EXPECT_TRUE(names.insert(variable).second) << variable << " names two keys";
    if (spec.fallback == nullptr) continue;
    const LoadedConfig loaded = load("", {{variable, spec.fallback}});
    const std::string path = [&] {
      std::string p = spec.path;
      if (const auto star = p.find('*'); star != std::string::npos) p.replace(star, 1, "name");
      return p;
    }();
    if (path.starts_with("provider_services")) continue;  // needs its address as well, below
    ASSERT_TRUE(loaded.config) << variable << ": " << problems(loaded);
    EXPECT_EQ(loaded.config->where(path), variable);
  }
  const LoadedConfig service =
      load("", {{"WAYBILL_PROVIDER_SERVICES_IAM_SERVICE_BASE_URL", "http://iam:80"},
                {"WAYBILL_PROVIDER_SERVICES_IAM_SERVICE_TOKEN_FILE", "/run/token"},
                {"WAYBILL_PROVIDER_SERVICES_IAM_SERVICE_MAX_CONCURRENT", "7"}});
  ASSERT_TRUE(service.config) << problems(service);
  EXPECT_EQ(service.config->text("provider_services.iam-service.token_file"), "/run/token");
  EXPECT_EQ(service.config->integer("provider_services.iam-service.max_concurrent"), 7);
}

TEST(Load, PrecedenceIsCommandLineEnvironmentFileDefault) {
  const std::string file = "limits:\n  active_per_user: 4\n";
  EXPECT_EQ(load("").config->integer("limits.active_per_user"), 3);
  EXPECT_EQ(load(file).config->integer("limits.active_per_user"), 4);
  const Pairs env{{"WAYBILL_LIMITS_ACTIVE_PER_USER", "5"}};
  EXPECT_EQ(load(file, env).config->integer("limits.active_per_user"), 5);
  const LoadedConfig all = load(file, env, {{"limits.active_per_user", "6"}});
  EXPECT_EQ(all.config->integer("limits.active_per_user"), 6);
  EXPECT_EQ(all.config->where("limits.active_per_user"), "--set");
}

TEST(Load, AVariableFindsTheFilesSpellingOfAName) {
  const LoadedConfig loaded =
      load("lanes:\n  big_Ones:\n    workers: 2\n", {{"WAYBILL_LANES_BIG_ONES_WORKERS", "9"}});
  ASSERT_TRUE(loaded.config) << problems(loaded);
  EXPECT_EQ(loaded.config->integer("lanes.big_Ones.workers"), 9);
}

TEST(Load, RelativePathsStartAtTheFilesFolder) {
  const LoadedConfig loaded = load("", {{"WAYBILL_REGISTRY_FILE", "here.yaml"}});
  ASSERT_TRUE(loaded.config) << problems(loaded);
  EXPECT_EQ(loaded.config->text("database.url"), "sqlite:/etc/waybill/data/waybill.db");
  EXPECT_EQ(loaded.config->text("files.directory.path"), "/srv/files");
  EXPECT_EQ(loaded.config->text("registry.file"), "here.yaml");
}

TEST(Load, DecimalsAndUnitsBecomeMilliseconds) {
  const LoadedConfig loaded = load(
      "dispatch:\n  lease_seconds: 1.5\n  heartbeat_seconds: 0.25\n  max_duration_minutes: 0.05\n"
      "  retry_backoff_seconds: [0.2, 3]\nexport:\n  read_timeout_seconds: 1\n  "
      "connect_timeout_seconds: 1\n");
  ASSERT_TRUE(loaded.config) << problems(loaded);
  EXPECT_EQ(loaded.config->millis("dispatch.lease_seconds"), 1'500);
  EXPECT_EQ(loaded.config->millis("dispatch.max_duration_minutes"), 3'000);
  EXPECT_EQ(loaded.config->millis_list("dispatch.retry_backoff_seconds"),
            (std::vector<base::Millis>{200, 3'000}));
  EXPECT_EQ(load("", {{"WAYBILL_DISPATCH_RETRY_BACKOFF_SECONDS", "[1, 2.5]"}})
                .config->millis_list("dispatch.retry_backoff_seconds"),
            (std::vector<base::Millis>{1'000, 2'500}));
}

struct Wrong {
  const char* yaml;  // appended to kMinimal, whose last line is 10
  const char* message;
};

class Refused : public testing::TestWithParam<Wrong> {};

TEST_P(Refused, WithPathAndLine) {
  const LoadedConfig loaded = load(GetParam().yaml);
  EXPECT_FALSE(loaded.config);
  EXPECT_NE(problems(loaded).find(GetParam().message), std::string::npos) << problems(loaded);
}

INSTANTIATE_TEST_SUITE_P(
    Values, Refused,
    testing::Values(
        Wrong{"limits:\n  active_per_usr: 3\n",
              "waybill.yaml:12: limits.active_per_usr: unknown key (did you mean "
              "limits.active_per_user?)"},
        Wrong{"colour: red\n", "waybill.yaml:11: colour: unknown key"},
        Wrong{"limits.active_per_user: 3\n",
              "waybill.yaml:11: limits.active_per_user: unknown key"},
        Wrong{"limits: 3\n", "waybill.yaml:11: limits: must be a section with keys"},
        Wrong{"limits:\n  active_per_user:\n    x: 1\n", "must be a value, not a section"},
        Wrong{"limits:\n  active_per_user:\n",
              "waybill.yaml:12: limits.active_per_user: has no value"},
        Wrong{"limits:\n  active_per_user: many\n", "must be a whole number, not \"many\""},
        Wrong{"limits:\n  active_per_user: 2.5\n", "must be a whole number, not \"2.5\""},
        Wrong{"limits:\n  active_per_user: \"3\"\n", "must be a number, not the quoted text"},
        Wrong{"limits:\n  active_per_user: 0\n", "must be between 1 and 10000 tasks, not 0"},
        Wrong{"limits:\n  active_per_user: 99999999999999999999\n", "must be a whole number"},
        Wrong{"limits:\n  active_per_user: [3]\n", "must be one value, not a list"},
        Wrong{"limits:\n  active_per_user: 3\n  active_per_user: 4\n",
              "waybill.yaml:13: limits.active_per_user: is given twice"},
        Wrong{"dispatch:\n  retry_backoff_seconds: 60\n", "must be a list"},
        Wrong{"dispatch:\n  retry_backoff_seconds: []\n", "must have 1 to 32 items"},
        Wrong{"dispatch:\n  retry_backoff_seconds: [nan]\n", "must be a number"},
        Wrong{"dispatch:\n  retry_backoff_seconds: [[1]]\n", "must be a list of single values"},
        Wrong{"roles:\n  api: yes\n", "must be true or false, not \"yes\""},
        Wrong{"export:\n  compression: best\n", "must be fast or small, not \"best\""},
        Wrong{"time_zone: Mars/Olympus\n", "unknown time zone"},
        Wrong{"server:\n  listen: 8080\n", "must be an address and a port"},
        Wrong{"server:\n  listen: 127.0.0.1:99999\n", "must be an address and a port"},
        Wrong{"lanes:\n  'a b':\n    workers: 1\n", "a name here has 1 to 32 letters"},
        Wrong{"provider_services:\n  iam:\n    base_url: ftp://x\n", "must be a URL such as"},
        Wrong{"provider_services:\n  iam:\n    base_url: http://u:hunter2@x/\n",
              "must be a URL such as"},
        Wrong{"server:\n  listen: 999.1.1.1:80\n", "must be an address and a port"},
        Wrong{"server:\n  listen: '[::g]:80'\n", "must be an address and a port"},
        Wrong{"provider_services:\n  iam:\n    base_url: http://x:99999\n",
              "provider_services.iam.base_url: must be a URL such as"},
        Wrong{"provider_services:\n  iam:\n    base_url: 'http://x:'\n", "must be a URL such as"},
        Wrong{"provider_services:\n  iam:\n    base_url: 'http://[::1'\n", "must be a URL such as"},
        Wrong{"limits: [\n", "is not valid YAML"}, Wrong{"\t- x: [", "is not valid YAML"}));

INSTANTIATE_TEST_SUITE_P(
    Relations, Refused,
    testing::Values(
        Wrong{"dispatch:\n  heartbeat_seconds: 101\n",
              "waybill.yaml:12: dispatch.heartbeat_seconds: three heartbeats"},
        Wrong{"export:\n  read_timeout_seconds: 300\n", "must be less than dispatch.lease_seconds"},
        Wrong{"roles:\n  publisher: true\n", "roles.publisher: needs a broker"},
        Wrong{"publisher:\n  lease_seconds: 59\n", "at most a quarter of publisher.lease_seconds"},
        Wrong{"reconciler:\n  period_seconds: 60\n", "every pass looks like a stall"},
        Wrong{"limits:\n  requests_burst: 10\n", "must not be less than"},
        Wrong{"management:\n  listen: 127.0.0.1:8080\n", "must differ from server.listen"},
        Wrong{"provider_services:\n  iam:\n    token: x\n",
              "provider_services.iam.base_url: is required"},
        Wrong{"provider_services:\n  iam:\n    base_url: http://x\n",
              "provider_services.iam.token_file: is required"},
        Wrong{
            "provider_services:\n  iam:\n    base_url: http://x\n    token: x\n    token_file: y\n",
            "not both"},
        Wrong{"roles:\n  api: false\n  consumer: false\n  reconciler: false\n",
              "every role is off"}));

TEST(Relations, TheKeyThatSomebodySetIsNamed) {
  EXPECT_EQ(problems(load("dispatch:\n  lease_seconds: 15\n  heartbeat_seconds: 5\n")),
            "/etc/waybill/waybill.yaml:12: export.read_timeout_seconds: must be less than "
            "dispatch.lease_seconds\n");
}

TEST(Relations, ThirdOfALeaseIsAllowed) {
  EXPECT_TRUE(load("dispatch:\n  heartbeat_seconds: 100\n").config);
}

TEST(Relations, Authentication) {
  const auto wrong = [](Pairs overrides) { return problems(load("", {}, std::move(overrides))); };
  EXPECT_NE(wrong({{"auth.jwt.secret", "x"}}).find("not both"), std::string::npos);
  EXPECT_NE(wrong({{"auth.jwt.algorithm", "none"}}).find("must be HS256"), std::string::npos);
  EXPECT_NE(wrong({{"auth.jwt.secret_file", ""}}).find("is required"), std::string::npos);
  EXPECT_NE(wrong({{"auth.mode", "demo"}, {"server.listen", "0.0.0.0:80"}}).find("loopback"),
            std::string::npos);
}

TEST(Environment, UnknownVariablesAreRefusedButNotWhatOthersPutThere) {
  EXPECT_NE(problems(load("", {{"WAYBILL_LIMITS_ACTIV_PER_USER", "1"}})).find("unknown variable"),
            std::string::npos);
  const LoadedConfig loaded = load("", {{"WAYBILL_URL", "x"},
                                        {"WAYBILL_TOKEN", "x"},
                                        {"WAYBILL_DATA", "x"},
                                        {"WAYBILL_BUILD", "x"},
                                        {"WAYBILL_SERVICE_HOST", "10.0.0.1"},
                                        {"WAYBILL_PORT", "tcp://10.0.0.1:80"},
                                        {"WAYBILL_API_PORT_80_TCP_ADDR", "10.0.0.1"}});
  EXPECT_TRUE(loaded.config) << problems(loaded);
}

TEST(Environment, WrongValuesNameTheVariable) {
  EXPECT_NE(problems(load("", {{"WAYBILL_EXPORT_PAGE_RETRIES", "lots"}}))
                .find("WAYBILL_EXPORT_PAGE_RETRIES: export.page_retries: must be a whole number"),
            std::string::npos);
}

TEST(Load, HostileFilesGiveProblemsOnly) {
  ConfigSources sources;
  sources.file_name = "w.yaml";
  struct Hostile {
    std::string text;
    const char* refusal;
  };
  const std::vector<Hostile> files = {
      {std::string(2u << 20, 'x'), "w.yaml: is larger than 1048576 bytes"},
      {std::string(100'000, '['), "w.yaml: is not valid YAML: line 1, column 1: bad file"},
      {std::string("\xff\xfe\x00", 3), "database.url: is required"},
      // An anchor that holds itself must end at the first level, wherever it stands.
      {"a: &a [*a]", "w.yaml:1: a: unknown key"},
      {"server: &a {server: *a}", "w.yaml:1: server.server: unknown key"},
      {"dispatch:\n  retry_backoff_seconds: &a [*a]",
       "dispatch.retry_backoff_seconds: must be a list of single values"},
      {"server: *nowhere", "w.yaml: is not valid YAML: line 1, column 9: "},
      // A merge key is a key like any other: unknown, at the root and in a section.
      {"<<: {x: 1}", "w.yaml:1: <<: unknown key"},
      {"server:\n  <<: {listen: 127.0.0.1:1}", "w.yaml:2: server.<<: unknown key"},
      {"- 1\n", "must be a section with keys"},
      {"? [a]\n: b", "has a key that is not a word"}};
  for (const Hostile& hostile : files) {
    sources.file_text = hostile.text;
    const LoadedConfig loaded = load_config(sources);
    EXPECT_FALSE(loaded.config);
    EXPECT_NE(problems(loaded).find(hostile.refusal), std::string::npos)
        << hostile.text.substr(0, 20) << ": " << problems(loaded);
  }
}

TEST(Show, MasksSecretsAndReadsBackTheSame) {
  const LoadedConfig loaded =
      load("provider_services:\n  iam:\n    base_url: http://iam\n    token: hunter2\n");
  ASSERT_TRUE(loaded.config) << problems(loaded);
  const std::string yaml = show_yaml(*loaded.config, true);
  const std::string json = show_json(*loaded.config, true);
  EXPECT_EQ(yaml.find("hunter2"), std::string::npos);
  EXPECT_EQ(json.find("hunter2"), std::string::npos);
  EXPECT_NE(yaml.find("# /etc/waybill/waybill.yaml:"), std::string::npos);
  ConfigSources again;
  again.file_text = yaml;
  again.file_name = "/etc/waybill/again.yaml";
  const LoadedConfig second = load_config(again);
  ASSERT_TRUE(second.config) << problems(second);
  EXPECT_EQ(second.config->values().size(), loaded.config->values().size());
  EXPECT_EQ(show_yaml(*loaded.config, false).find("default"), std::string::npos);
}

TEST(Show, MasksPasswordsInAddresses) {
  EXPECT_EQ(mask_url("postgres://u:pw@host/db"), "postgres://u:********@host/db");
  EXPECT_EQ(mask_url("http://host:80/a@b"), "http://host:80/a@b");
  EXPECT_EQ(mask_url("sqlite:/x"), "sqlite:/x");
}

TEST(Document, IsTheOneInTheRepository) {
  std::ifstream file(WAYBILL_SOURCE_DIR "/docs/configuration.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), configuration_document())
      << "run: ./waybill config docs > docs/configuration.md";
}

}  // namespace
}  // namespace waybill::app
