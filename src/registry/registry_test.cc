#include "registry/registry.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"

namespace waybill::registry {
namespace {

const std::string kGood = R"(# export types
definitions:
  CUSTOMER_LIST:
    title: {zh: 客户列表, en: Customers}
    provider_service: iam-service
    provider_path: /internal/exports/v1/CUSTOMER_LIST/batches
    required_permission: platform:customer:export
    app_scope: PLATFORM
    enabled: true
    max_rows: 100000
    max_attempts: 4
    batch_size: 1000
    lane: export
    priority: P1
    max_duration_minutes: 45
    retention_hours: 24
    max_file_mib: 200
    parameters:
      type: object
      required: [status]
      properties:
        status: {type: string, title: {zh: 状态, en: Status}, enum: [NEW, DONE]}
        rows: {type: integer, minimum: 1, maximum: 500, default: 10}
        days:
          type: array
          items: {type: string, format: date}
  ORDER_LIST:
    title: {zh: 订单, en: Orders}
    provider_service: order-service
    provider_path: /internal/exports/v1/ORDER_LIST/batches
    required_permission: merchant:order-export:do
    app_scope: MERCHANT
)";

RegistryOptions options(std::string file = "registry.yaml") {
  RegistryOptions o;
  o.file = std::move(file);
  o.allowed_services = {"iam-service", "order-service"};
  return o;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string problem(const std::string& yaml) {
  const auto result = parse_registry(yaml, "registry.yaml", options());
  return result.ok() ? "accepted" : result.error().message;
}

std::string line_of(std::string_view text) {
  return std::to_string(
      1 + std::count(kGood.begin(), kGood.begin() + static_cast<long>(kGood.find(text)), '\n'));
}

TEST(ParseRegistry, ReadsEveryKey) {
  const auto result = parse_registry(kGood, "registry.yaml", options());
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->exports.size(), 2u);
  const ExportType* type = result->find_export("CUSTOMER_LIST");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->key, "CUSTOMER_LIST");
  EXPECT_EQ(type->title_zh, "客户列表");
  EXPECT_EQ(type->title_en, "Customers");
  EXPECT_EQ(type->provider_service, "iam-service");
  EXPECT_EQ(type->provider_path, "/internal/exports/v1/CUSTOMER_LIST/batches");
  EXPECT_EQ(type->required_permission, "platform:customer:export");
  EXPECT_EQ(type->app_scope, AppScope::kPlatform);
  EXPECT_TRUE(type->enabled);
  EXPECT_EQ(type->max_rows, 100'000);
  EXPECT_EQ(type->max_attempts, 4);
  EXPECT_EQ(type->batch_size, 1'000);
  EXPECT_EQ(type->lane, "export");
  EXPECT_EQ(type->priority, 1);
  EXPECT_EQ(type->max_duration_ms, 45 * 60'000);
  EXPECT_EQ(type->retention_ms, 24 * 3'600'000);
  EXPECT_EQ(type->max_file_bytes, 200ll << 20);
  EXPECT_FALSE(type->any_parameters);
  ASSERT_EQ(type->parameters.size(), 3u);
  const Parameter& status = type->parameters[0];
  EXPECT_EQ(status.name, "status");
  EXPECT_EQ(status.title_en, "Status");
  EXPECT_TRUE(status.required);
  EXPECT_EQ(status.allowed, (std::vector<std::string>{"NEW", "DONE"}));
  EXPECT_EQ(type->parameters[1].type, ParameterType::kInteger);
  EXPECT_EQ(type->parameters[1].default_json, "10");
  EXPECT_EQ(type->parameters[1].title_zh, "rows") << "a parameter without a title shows its name";
  EXPECT_EQ(type->parameters[2].type, ParameterType::kArray);
  EXPECT_EQ(type->parameters[2].item_type, ParameterType::kDate);
  EXPECT_EQ(result->find_export("NO_SUCH"), nullptr);
}

TEST(ParseRegistry, FillsInDefaults) {
  RegistryOptions o = options();
  o.default_max_duration_ms = 1234;
  o.default_retention_ms = 5678;
  o.default_max_file_bytes = 99;
  const auto result = parse_registry(kGood, "registry.yaml", o);
  ASSERT_TRUE(result.ok());
  const ExportType& type = *result->find_export("ORDER_LIST");
  EXPECT_EQ(type.app_scope, AppScope::kMerchant);
  EXPECT_TRUE(type.enabled);
  EXPECT_EQ(type.max_rows, 200'000);
  EXPECT_EQ(type.max_attempts, 3);
  EXPECT_EQ(type.batch_size, 500);
  EXPECT_EQ(type.lane, "export");
  EXPECT_EQ(type.priority, 2);
  EXPECT_EQ(type.max_duration_ms, 1234);
  EXPECT_EQ(type.retention_ms, 5678);
  EXPECT_EQ(type.max_file_bytes, 99);
  EXPECT_TRUE(type.any_parameters);
}

TEST(ParseRegistry, TheDocumentedExampleIsValid) {
  std::ifstream in(WAYBILL_SOURCE_DIR "/docs/formats.md");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto start = text.find("```yaml\n");
  ASSERT_NE(start, std::string::npos);
  const auto from = start + 8;
  const auto result =
      parse_registry(text.substr(from, text.find("```", from) - from), "formats.md", options());
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->find_export("ORDER_LIST")->parameters.size(), 8u);
}

// E2: each broken rule names the file, the line, the entry and the rule.
TEST(ParseRegistry, RefusesEveryBrokenRule) {
  const struct {
    const char* from;
    const char* to;
    const char* path;
  } cases[] = {
      {"iam-service", "evil-service", ".provider_service"},
      {"provider_service: iam-service\n", "provider_service:\n", ".provider_service"},
      {"/internal/exports/v1/CUSTOMER_LIST/batches", "/internal/exports/v2/CUSTOMER_LIST/batches",
       ".provider_path"},
      {"/internal/exports/v1/CUSTOMER_LIST/batches", "/internal/exports/v1/ORDER_LIST/batches",
       ".provider_path"},
      {"/internal/exports/v1/CUSTOMER_LIST/batches", "/internal/exports/v1/../batches",
       ".provider_path"},
      {"/internal/exports/v1/CUSTOMER_LIST/batches", "/internal/exports/v1//batches",
       ".provider_path"},
      {"/internal/exports/v1/CUSTOMER_LIST/batches", "/internal/exports/v1/batches",
       ".provider_path"},
      {"/internal/exports/v1/CUSTOMER_LIST/batches",
       "http://evil/internal/exports/v1/CUSTOMER_LIST/batches", ".provider_path"},
      {"/internal/exports/v1/CUSTOMER_LIST/batches",
       "\"/internal/exports/v1/CUSTOMER_LIST/batches\\n\"", ".provider_path"},
      {"platform:customer:export", "platform:customer", ".required_permission"},
      {"platform:customer:export", "Platform:customer:export", ".required_permission"},
      {"platform:customer:export", "plat-form:customer:export", ".required_permission"},
      {"platform:customer:export", "platform:customer:export:x", ".required_permission"},
      {"platform:customer:export", "'platform::export'", ".required_permission"},
      {"app_scope: PLATFORM", "app_scope: platform", ".app_scope"},
      {"app_scope: PLATFORM", "app_scopes: PLATFORM", ".app_scope"},
      {"enabled: true", "enabled: yes", ".enabled"},
      {"enabled: true", "enabled: \"true\"", ".enabled"},
      {"max_rows: 100000", "max_rows: 0", ".max_rows"},
      {"max_rows: 100000", "max_rows: 500001", ".max_rows"},
      {"max_rows: 100000", "max_rows: 1e3", ".max_rows"},
      {"max_rows: 100000", "max_rows: '100'", ".max_rows"},
      {"max_rows: 100000", "max_rows: 99999999999999999999", ".max_rows"},
      {"max_rows: 100000", "max_rows: [1]", ".max_rows"},
      {"max_rows: 100000", "max_row: 1", ".max_row"},
      {"max_attempts: 4", "max_attempts: 0", ".max_attempts"},
      {"max_attempts: 4", "max_attempts: 6", ".max_attempts"},
      {"batch_size: 1000", "batch_size: 49", ".batch_size"},
      {"batch_size: 1000", "batch_size: 1001", ".batch_size"},
      {"lane: export", "lane: Export", ".lane"},
      {"lane: export", "lane: a/b", ".lane"},
      {"priority: P1", "priority: P4", ".priority"},
      {"priority: P1", "priority: 1", ".priority"},
      {"max_duration_minutes: 45", "max_duration_minutes: 0.5", ".max_duration_minutes"},
      {"max_duration_minutes: 45", "max_duration_minutes: 721", ".max_duration_minutes"},
      {"max_duration_minutes: 45", "max_duration_minutes: .nan", ".max_duration_minutes"},
      {"retention_hours: 24", "retention_hours: 8761", ".retention_hours"},
      {"max_file_mib: 200", "max_file_mib: 4097", ".max_file_mib"},
      {"title: {zh: 客户列表, en: Customers}", "title: Customers", ".title"},
      {"title: {zh: 客户列表, en: Customers}", "title: {zh: 客户列表}", ".title.en"},
      {"zh: 客户列表", "zh: \"a\\u202Eb\"", ".title.zh"},
      {"zh: 客户列表", "de: Kunden, zh: 客户列表", ".title.de"},
      {"type: object", "type: array", ".parameters.type"},
      {"type: object", "topic: x", ".parameters.topic"},
      {"required: [status]", "required: [nobody]", ".parameters.required"},
      {"required: [status]", "required: status", ".parameters.required"},
      {"status: {type: string", "status: {type: text", ".parameters.properties.status.type"},
      {"status: {type: string", "status: {type: integer", ".parameters.properties.status.enum"},
      {"status: {type: string", "status: {type: string, format: email",
       ".parameters.properties.status.format"},
      {"status: {type: string", "status: {type: string, pattern: '('",
       ".parameters.properties.status.pattern"},
      {"status: {type: string", "status: {type: string, minimum: 1",
       ".parameters.properties.status.minimum"},
      {"status: {type: string", "status: {type: string, minLength: 5, maxLength: 4",
       ".parameters.properties.status.maxLength"},
      {"        status:", "        2status:", ".parameters.properties.2status"},
      {"enum: [NEW, DONE]", "enum: [NEW, NEW]", ".parameters.properties.status.enum"},
      {"enum: [NEW, DONE]", "enum: []", ".parameters.properties.status.enum"},
      {"enum: [NEW, DONE]", "enum: [NEW], default: OLD", ".parameters.properties.status.default"},
      {"default: 10", "default: 501", ".parameters.properties.rows.default"},
      {"default: 10", "default: ten", ".parameters.properties.rows.default"},
      {"default: 10", "default: 1.5", ".parameters.properties.rows.default"},
      {"minimum: 1,", "minimum: 501,", ".parameters.properties.rows.maximum"},
      {"items: {type: string, format: date}", "items: {type: array}",
       ".parameters.properties.days.items.type"},
      {"items: {type: string, format: date}", "default: [2026-11-30]",
       ".parameters.properties.days.items"},
  };
  for (const auto& c : cases) {
    const std::string message = problem(replaced(kGood, c.from, c.to));
    EXPECT_EQ(message.find("registry.yaml:"), 0u) << message;
    EXPECT_NE(message.find("definitions.CUSTOMER_LIST" + std::string(c.path) + ": "),
              std::string::npos)
        << c.to << "\n"
        << message;
  }
  const std::string message = problem(replaced(kGood, "max_rows: 100000", "max_rows: 500001"));
  EXPECT_EQ(message,
            "registry.yaml:" + line_of("max_rows") +
                ": definitions.CUSTOMER_LIST.max_rows: must be a whole number from 1 to 500000, is "
                "\"500001\"");
}

TEST(ParseRegistry, RefusesBadKeysAndTopLevels) {
  for (const char* key :
       {"customer_list", "CUSTOMER-LIST", "1CUSTOMER", "_CUSTOMER", "CUSTOMER LIST"}) {
    EXPECT_NE(
        problem(replaced(kGood, "CUSTOMER_LIST:", std::string(key) + ":")).find("a key must be"),
        std::string::npos)
        << key;
  }
  EXPECT_NE(problem("definitions: []\n").find("definitions: must be a map"), std::string::npos);
  EXPECT_NE(problem("definitions:\n").find("definitions: must be a map, is nothing"),
            std::string::npos);
  EXPECT_NE(problem("definition: {}\n").find("definitions: is missing"), std::string::npos);
  EXPECT_NE(problem("definitions: {}\ntopics: {}\n").find("topics: is not a known key"),
            std::string::npos);
  EXPECT_EQ(problem("[]\n"), "registry.yaml:1: must be a map, is a list");
  EXPECT_EQ(problem("# nothing\n"), "registry.yaml:1: must be a map, is nothing");
  EXPECT_EQ(problem("definitions: {}\n"), "accepted");
}

// Limits of the file as a whole.
TEST(ParseRegistry, RefusesHostileFiles) {
  std::string bomb = "a: &a [x, x]\n";
  for (char c = 'b'; c < 'z'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [*" + static_cast<char>(c - 1) + ", *" +
            static_cast<char>(c - 1) + "]\n";
  }
  std::string deep = "definitions:\n";
  for (int i = 0; i < 100'000; ++i) deep += " [\n";
  std::string stairs = "definitions:\n";
  for (int i = 1; i < 2'000; ++i) stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  std::string wide = "definitions:\n";
  for (std::size_t i = 0; i <= kMaxRegistryEntries; ++i)
    wide += "  A" + std::to_string(i) + ": {}\n";
  std::string many = "definitions: [";
  for (std::size_t i = 0; i < 500'000; ++i) many += i % 4'000 == 0 ? "1,\n" : "1,";
  many += "1]\n";
  const struct {
    std::string text;
    const char* why;
  } cases[] = {
      {"", "is empty"},
      {" \n \n", "is empty"},
      {std::string(kMaxRegistryBytes + 1, '\n'), "is larger than"},
      {bomb, "anchors"},
      {"definitions: *a\n", ""},
      {"definitions: " + std::string(kMaxRegistryBytes - 100, '[') + "\n",
       "more than 400000 values"},
      {deep, "nested deeper"},
      {stairs, "nested deeper"},
      {wide, "more than 2000 keys"},
      {many, "more than 400000 values"},
      {"definitions: !!python/object:os.system {}\n", "tags"},
      {"definitions: {}\n---\ndefinitions: {}\n", "more than one document"},
      {"definitions:\n\tA: {}\n", ":2: a tab"},
      {"definitions: {}\n\xff\xfe\n", ":2: not UTF-8"},
      {std::string("d\0e\0f\0\n\0", 8), "a control character"},
      {std::string("\xff\xfe"
                   "d\0e\0",
                   6),
       "not UTF-8"},
      {"definitions: {A: 1, A: 2}\n", "\"A\" appears twice, first in line 1"},
      {"definitions: {? [a] : b}\n", "a key must be a word"},
      {"definitions: {}", "no line break"},
      {"definitions: {\n", ""},
      {"definitions: \"abc\n", ""},
      {"%YAML 9.9\n", ""},
      {"- - - -\n", ""},
      {": : :\n", ""},
      {"definitions: |\n", ""},
  };
  for (const auto& c : cases) {
    const std::string message = problem(c.text);
    EXPECT_NE(message, "accepted") << c.text.substr(0, 60);
    EXPECT_NE(message.find(c.why), std::string::npos) << message;
  }
}

TEST(ParseRegistry, RefusesADuplicateEntryAndNamesBothLines) {
  const std::string message = problem(kGood + "  ORDER_LIST: {}\n");
  EXPECT_NE(message.find("\"ORDER_LIST\" appears twice, first in line " + line_of("ORDER_LIST:")),
            std::string::npos)
      << message;
}

// A file cut anywhere inside its last entry is refused; cut between entries it is a smaller file,
// which is legitimate.
TEST(ParseRegistry, RefusesHalfWrittenFiles) {
  const std::size_t last = kGood.find("  ORDER_LIST:");
  for (std::size_t cut = last + 1; cut + 1 < kGood.size(); ++cut) {
    EXPECT_NE(problem(kGood.substr(0, cut)), "accepted") << kGood.substr(last, cut - last);
  }
}

TEST(ParseRegistry, SurvivesMutations) {
  base::SeededRandom random(2026);
  const std::string_view pieces[] = {
      "&a ", "*a",     "{",  "}",     "[",     "]",    "\n",
      "  ",  ": ",     "- ", "? ",    "|\n",   ">\n",  "\"",
      "'",   "!!str ", "#",  "---\n", "...\n", "\xc3", "\xf0\x9f\x98\x80",
      "%",   "@",      "`"};
  int accepted = 0;
  for (int round = 0; round < 6'000; ++round) {
    std::string text = kGood;
    for (std::uint64_t i = 0; i <= random.next() % 4; ++i) {
      if (text.empty()) break;
      const std::size_t at = random.next() % text.size();
      switch (random.next() % 5) {
        case 0:
          text[at] = static_cast<char>(random.next());
          break;
        case 1:
          text.erase(at, random.next() % 40);
          break;
        case 2:
          text.insert(at, pieces[random.next() % std::size(pieces)]);
          break;
        case 3:
          text.insert(at, text.substr(random.next() % text.size(), random.next() % 60));
          break;
        default:
          text.resize(at + 1);
      }
    }
    const auto result = parse_registry(text, "registry.yaml", options());
    if (result.ok()) {
      ++accepted;
      for (const auto& [key, type] : result->exports) {
        EXPECT_EQ(type.provider_path, "/internal/exports/v1/" + key + "/batches");
        EXPECT_TRUE(type.provider_service == "iam-service" ||
                    type.provider_service == "order-service");
        EXPECT_TRUE(type.max_rows >= 1 && type.max_rows <= 500'000);
        EXPECT_TRUE(type.batch_size >= 50 && type.batch_size <= 1'000);
      }
    } else {
      EXPECT_FALSE(result.error().message.empty());
    }
  }
  EXPECT_GT(accepted, 0) << "comments and titles may change";
}

// ---- the reloading registry ----

class RegistryFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "waybill_registry_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    file_ = folder_ + "/registry.yaml";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(std::string_view text) { std::ofstream(file_, std::ios::trunc) << text; }
  void replace(std::string_view text) {
    std::ofstream(file_ + ".new") << text;
    std::filesystem::rename(file_ + ".new", file_);
  }
  std::unique_ptr<Registry> load() {
    auto registry = Registry::load(options(file_));
    EXPECT_TRUE(registry.ok()) << registry.error().message;
    return *std::move(registry);
  }
  std::string folder_, file_;
};

TEST_F(RegistryFile, DoesNotStartWithoutAGoodFile) {
  EXPECT_FALSE(Registry::load(options(file_)).ok());
  write("definitions:\n  bad: {}\n");
  EXPECT_FALSE(Registry::load(options(file_)).ok());
  std::filesystem::remove(file_);
  std::filesystem::create_directory(file_);
  EXPECT_FALSE(Registry::load(options(file_)).ok());
  std::filesystem::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_FALSE(Registry::load(options(file_)).ok()) << "a pipe must neither block nor load";
}

TEST_F(RegistryFile, ReloadsWhatChangedAndTellsListeners) {
  write(kGood);
  const auto registry = load();
  std::vector<std::int64_t> heard;
  registry->on_reload([&](const Snapshot& snapshot) { heard.push_back(snapshot.generation); });
  EXPECT_FALSE(registry->reload_if_changed());
  EXPECT_EQ(registry->current()->generation, 1);
  const auto old = registry->current();
  write(replaced(kGood, "max_rows: 100000", "max_rows: 200000"));  // the same size
  EXPECT_FALSE(registry->reload_if_changed()) << "perhaps it is being written";
  const auto result = registry->reload_if_changed();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->ok) << result->error;
  EXPECT_EQ(result->generation, 2);
  EXPECT_EQ(registry->current()->find_export("CUSTOMER_LIST")->max_rows, 200'000);
  EXPECT_EQ(old->find_export("CUSTOMER_LIST")->max_rows, 100'000) << "a snapshot never changes";
  EXPECT_FALSE(registry->reload_if_changed());
  EXPECT_TRUE(registry->reload().ok);
  EXPECT_EQ(heard, (std::vector<std::int64_t>{2, 3}));
}

// D104: whatever happens to the file, the last good registry stays, and the reason is told once.
TEST_F(RegistryFile, KeepsTheOldRegistryOnEveryFailure) {
  write(kGood);
  const auto registry = load();
  int heard = 0;
  registry->on_reload([&](const Snapshot&) { ++heard; });
  const std::string broken[] = {"",
                                "definitions:\n",
                                "definitions: {\n",
                                kGood.substr(0, kGood.size() - 20),
                                replaced(kGood, "iam-service", "evil"),
                                kGood + kGood,
                                "\xff\n"};
  for (const std::string& text : broken) {
    replace(text);
    EXPECT_FALSE(registry->reload_if_changed());
    const auto result = registry->reload_if_changed();
    ASSERT_TRUE(result) << text.substr(0, 40);
    EXPECT_FALSE(result->ok);
    EXPECT_FALSE(result->error.empty());
    EXPECT_EQ(result->generation, 1);
    EXPECT_FALSE(registry->reload_if_changed()) << "the same broken file is told once";
    EXPECT_FALSE(registry->last_result().ok);
    EXPECT_EQ(registry->current()->exports.size(), 2u);
  }
  std::filesystem::remove(file_);
  EXPECT_FALSE(registry->reload_if_changed());
  auto result = registry->reload_if_changed();
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->ok);
  EXPECT_FALSE(registry->reload_if_changed());
  replace(kGood);
  EXPECT_FALSE(registry->reload_if_changed());
  result = registry->reload_if_changed();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->ok);
  EXPECT_TRUE(registry->last_result().ok);
  EXPECT_EQ(heard, 1);
}

// A writer that goes piece by piece is never overtaken, whatever its pieces look like.
TEST_F(RegistryFile, AFileThatIsBeingWrittenIsLeftAlone) {
  write(kGood);
  const auto registry = load();
  const std::size_t between = kGood.find("  ORDER_LIST:");
  write(kGood.substr(0, between));  // valid by itself
  EXPECT_FALSE(registry->reload_if_changed());
  write(kGood + "\n");
  EXPECT_FALSE(registry->reload_if_changed());
  write(kGood);
  EXPECT_FALSE(registry->reload_if_changed());
  EXPECT_EQ(registry->current()->generation, 1);
  const auto result = registry->reload_if_changed();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->ok);
  EXPECT_EQ(registry->current()->exports.size(), 2u);
}

// A file that says where it ends cannot be cut anywhere without a word.
TEST_F(RegistryFile, AMarkedEndTellsACutBetweenTwoEntries) {
  const std::string marked = kGood + "...\n# the end\n";
  write(marked);
  const auto registry = load();
  const std::size_t between = kGood.find("  ORDER_LIST:");
  for (const std::size_t cut : {between, kGood.size(), kGood.size() + 1, kGood.size() + 3}) {
    replace(marked.substr(0, cut));
    const auto result = registry->reload();
    EXPECT_FALSE(result.ok) << cut;
    EXPECT_EQ(registry->current()->exports.size(), 2u);
  }
  replace(kGood.substr(0, between) + "...\n");
  EXPECT_TRUE(registry->reload().ok) << "an entry less, and on purpose";
  EXPECT_EQ(registry->current()->exports.size(), 1u);
  replace(kGood + "... and more\n");
  EXPECT_FALSE(registry->reload().ok);
}

TEST_F(RegistryFile, ATypeThatWasRemovedIsGoneAndAServiceCannotBeAdded) {
  write(kGood);
  const auto registry = load();
  replace(kGood.substr(0, kGood.find("  ORDER_LIST:")));
  EXPECT_TRUE(registry->reload().ok);
  EXPECT_EQ(registry->current()->find_export("ORDER_LIST"), nullptr);
  replace(replaced(kGood, "order-service", "new-service"));
  const auto result = registry->reload();
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.error.find("start-up configuration"), std::string::npos) << result.error;
}

TEST_F(RegistryFile, ReadersSeeWholeSnapshotsDuringReloads) {
  const std::string other = replaced(kGood, "max_rows: 100000", "max_rows: 200000");
  write(kGood);
  const auto registry = load();
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    std::int64_t last = 0;
    while (!stop) {
      const auto snapshot = registry->current();
      EXPECT_EQ(snapshot->exports.size(), 2u);
      EXPECT_GE(snapshot->generation, last);
      last = snapshot->generation;
    }
  });
  for (int i = 0; i < 50; ++i) {
    replace(i % 2 ? kGood : other);
    EXPECT_TRUE(registry->reload().ok);
  }
  stop = true;
  reader.join();
  EXPECT_EQ(registry->current()->generation, 51);
}

}  // namespace
}  // namespace waybill::registry
