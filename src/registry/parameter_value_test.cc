#include "registry/parameter_value.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "base/sha256.h"

namespace waybill::registry {
namespace {

ExportType any_type() {
  ExportType type;
  type.key = "ANY";
  type.any_parameters = true;
  return type;
}

ExportType typed(const std::string& properties) {
  const std::string yaml = R"(definitions:
  T:
    title: {zh: 测, en: T}
    provider_service: s
    provider_path: /internal/exports/v1/T/batches
    required_permission: a:b:c
    app_scope: PLATFORM
    parameters:
)" + properties;
  RegistryOptions options;
  options.allowed_services = {"s"};
  auto parsed = parse_registry(yaml, "test", options);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  return parsed.ok() ? parsed->exports.at("T") : ExportType{};
}

std::string normal(const ExportType& type, std::string_view json) {
  const auto result = normalise_parameters(type, json);
  return result.ok() ? result->json : "! " + result.error().field + ": " + result.error().message;
}

base::Error refused(const ExportType& type, std::string_view json) {
  const auto result = normalise_parameters(type, json);
  EXPECT_FALSE(result.ok()) << json << " -> " << (result.ok() ? result->json : "");
  return result.ok() ? base::Error{} : result.error();
}

TEST(NormaliseParameters, SortsAndTakesNumbersByValue) {
  const ExportType any = any_type();
  EXPECT_EQ(normal(any, R"( { "b" : 1.0 , "a" : [ true , null, "x" ] } )"),
            R"({"a":[true,null,"x"],"b":1})");
  EXPECT_EQ(normal(any, R"({"a":1})"), normal(any, R"({"a":1.0})"));
  EXPECT_EQ(normal(any, R"({"a":1})"), normal(any, R"({"a":10e-1})"));
  EXPECT_EQ(normal(any, R"({"a":-0.0,"b":-0})"), R"({"a":0,"b":0})");
  EXPECT_EQ(normal(any, R"({"a":0.10,"b":1.5e-7,"c":1e3})"), R"({"a":0.1,"b":1.5e-07,"c":1000})");
  EXPECT_EQ(normal(any, R"({"a":9223372036854775807,"b":-9223372036854775808})"),
            R"({"a":9223372036854775807,"b":-9223372036854775808})");
  EXPECT_EQ(normal(any, R"({"\u0061":"\u4e2d\n\/"})"), "{\"a\":\"中\\n/\"}");
  EXPECT_EQ(normal(any, R"({"a":{"z":1,"b":2}})"), R"({"a":{"b":2,"z":1}})");
  EXPECT_EQ(normal(any, ""), "{}");
  EXPECT_EQ(normal(any, "{}"), "{}");
}

TEST(NormaliseParameters, HashesTypeAndNormalForm) {
  const ExportType any = any_type();
  const auto a = normalise_parameters(any, R"({"b":1,"a":2})");
  const auto b = normalise_parameters(any, R"({ "a":2.0, "b":1 })");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->hash, b->hash);
  EXPECT_EQ(a->hash, base::sha256_hex("ANY\n{\"a\":2,\"b\":1}"));
  ExportType other = any_type();
  other.key = "OTHER";
  EXPECT_NE(normalise_parameters(other, R"({"b":1,"a":2})")->hash, a->hash);
}

TEST(NormaliseParameters, ShowsLimitsAsAPersonWritesThem) {
  const ExportType type = typed(R"(      type: object
      properties:
        rows: {type: integer, minimum: 1, maximum: 500000}
        share: {type: number, maximum: 0.5}
)");
  EXPECT_EQ(normal(type, R"({"rows":500001})"),
            "! parameters.rows: parameters.rows must be at most 500000");
  EXPECT_EQ(normal(type, R"({"rows":0})"), "! parameters.rows: parameters.rows must be at least 1");
  EXPECT_EQ(normal(type, R"({"share":0.6})"),
            "! parameters.share: parameters.share must be at most 0.5");
}

TEST(NormaliseParameters, RefusesNumbersThatWouldLoseDigits) {
  const ExportType any = any_type();
  for (const char* number :
       {"9223372036854775808", "18446744073709551615", "99999999999999999999999", "1e20", "1e308",
        "-1e400", "9007199254740993.0"}) {
    EXPECT_EQ(refused(any, "{\"a\":" + std::string(number) + "}").category,
              base::ErrorCategory::kInvalid)
        << number;
  }
  for (const char* number : {"01", "1.", ".5", "+1", "0x10", "NaN", "Infinity", "--1", "1e"}) {
    refused(any, "{\"a\":" + std::string(number) + "}");
  }
}

TEST(NormaliseParameters, NamesTheFieldAndTheLimit) {
  const ExportType any = any_type();
  std::string many = "{", longest = std::string(256, 'x');
  for (int i = 0; i < 21; ++i) many += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":1";
  base::Error error = refused(any, many + "}");
  EXPECT_EQ(error.category, base::ErrorCategory::kLimit);
  EXPECT_EQ(error.limit, "20");
  EXPECT_EQ(error.unit, "keys");
  EXPECT_NE(normal(any, "{\"a\":\"" + longest + "\"}")[0], '!');
  error = refused(any, "{\"a\":\"" + longest + "x\"}");
  EXPECT_EQ(error.field, "parameters.a");
  EXPECT_EQ(error.limit, "256");
  EXPECT_EQ(error.actual, "257");
  std::string chinese;
  for (int i = 0; i < 256; ++i) chinese += "中";
  EXPECT_NE(normal(any, "{\"a\":\"" + chinese + "\"}")[0], '!') << "characters, not bytes";
  EXPECT_EQ(normal(any, R"({"a":[1]})"), R"({"a":[1]})");
  error = refused(any, R"({"a":{"b":[1]}})");
  EXPECT_EQ(error.field, "parameters.a.b");
  EXPECT_EQ(error.unit, "levels");
  EXPECT_EQ(refused(any, "{\"a\":" + std::string(40, '[') + std::string(40, ']') + "}").unit,
            "levels");
  error = refused(any, "{\"a\":1" + std::string(kMaxParametersBytes, ' ') + "}");
  EXPECT_EQ(error.unit, "bytes");
  EXPECT_EQ(error.limit, "4096");
}

TEST(NormaliseParameters, RefusesWhatIsNoCleanObject) {
  const ExportType any = any_type();
  for (const char* json :
       {"[]", "null", "1", "\"a\"", "{", "{\"a\":1}x", "{\"a\":1,}", "{a:1}", "{\"a\":'b'}",
        "{\"a\":\"\xff\"}", "{\"a\":\"\\ud800\"}", "{\"a\":\"\n\"}", "// {}"}) {
    EXPECT_EQ(refused(any, json).field, "parameters") << json;
  }
  EXPECT_EQ(refused(any, R"({"a":1,"a":1})").field, "parameters.a");
  EXPECT_EQ(refused(any, R"({"a":1,"\u0061":2})").field, "parameters.a");
  EXPECT_EQ(refused(any, R"({"a":{"b":1,"b":2}})").field, "parameters.a.b");
}

TEST(NormaliseParameters, ChecksAgainstTheSchema) {
  const ExportType type = typed(R"(      required: [status]
      properties:
        status: {type: string, enum: [NEW, 完成], default: NEW}
        code: {type: string, pattern: "^[A-Z]{2}.$", minLength: 3, maxLength: 3}
        day: {type: string, format: date}
        since: {type: string, format: date-time}
        rows: {type: integer, minimum: 1, maximum: 500}
        ratio: {type: number, minimum: 0, maximum: 1.5}
        level: {type: integer, enum: [1, 2]}
        active: {type: boolean, default: false}
        ids: {type: array, items: {type: integer, minimum: 0}, default: [3, 2]}
)");
  EXPECT_EQ(normal(type, "{}"), R"({"active":false,"ids":[3,2],"status":"NEW"})");
  EXPECT_EQ(
      normal(type, R"({"status":"完成","rows":500.0,"ratio":1.5,"level":1.0,"active":true,"ids":[],
                             "code":"AB中","day":"2028-02-29",
                             "since":"2026-11-30T14:23:59+08:00"})"),
      R"({"active":true,"code":"AB中","day":"2028-02-29","ids":[],"level":1,)"
      R"("ratio":1.5,"rows":500,)"
      R"("since":"2026-11-30T14:23:59+08:00","status":"完成"})");
  const struct {
    const char* json;
    const char* field;
  } cases[] = {
      {R"({"unknown":1})", "parameters.unknown"},
      {R"({"status":"OLD"})", "parameters.status"},
      {R"({"status":null})", "parameters.status"},
      {R"({"status":1})", "parameters.status"},
      {R"({"code":"AB"})", "parameters.code"},
      {R"({"code":"abc"})", "parameters.code"},
      {R"({"day":"2026-02-29"})", "parameters.day"},
      {R"({"day":"2026-2-9"})", "parameters.day"},
      {R"({"day":"2026-11-30T00:00:00Z"})", "parameters.day"},
      {R"({"since":"2026-11-30"})", "parameters.since"},
      {R"({"rows":0})", "parameters.rows"},
      {R"({"rows":501})", "parameters.rows"},
      {R"({"rows":1.5})", "parameters.rows"},
      {R"({"rows":"1"})", "parameters.rows"},
      {R"({"ratio":1.6})", "parameters.ratio"},
      {R"({"level":3})", "parameters.level"},
      {R"({"active":"true"})", "parameters.active"},
      {R"({"active":1})", "parameters.active"},
      {R"({"ids":1})", "parameters.ids"},
      {R"({"ids":[1,-1]})", "parameters.ids[1]"},
      {R"({"ids":[[1]]})", "parameters.ids[0]"},
  };
  for (const auto& c : cases) EXPECT_EQ(refused(type, c.json).field, c.field) << c.json;
}

TEST(NormaliseParameters, RequiredAndEmptySchemas) {
  const ExportType type = typed(
      "      required: [day]\n      properties:\n        day: {type: string, format: date}\n");
  EXPECT_EQ(refused(type, "{}").field, "parameters.day");
  ExportType none = typed("      {}\n");
  EXPECT_EQ(normal(none, "{}"), "{}");
  EXPECT_EQ(refused(none, R"({"a":1})").field, "parameters.a");
}

TEST(Patterns, CannotHang) {
  Parameter parameter;
  parameter.name = "p";
  parameter.pattern = "^(a+)+$";
  ASSERT_TRUE(check_pattern(parameter.pattern).ok());
  EXPECT_FALSE(normalise_value(parameter, '"' + std::string(250, 'a') + "b\"").ok());
  EXPECT_FALSE(check_pattern("(").ok());
  EXPECT_FALSE(check_pattern(std::string(257, 'a')).ok());
}

TEST(NormaliseParameters, IsStableAndSurvivesMutations) {
  const ExportType any = any_type();
  const std::string good =
      R"({"a":[1,2.50,"x"],"b":{"c":true,"d":null},"e":"\u4e2d","f":-12.5e3,"g":""})";
  base::SeededRandom random(5);
  int accepted = 0;
  int refusals = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string text = good;
    for (std::uint64_t i = 0; i <= random.next() % 3; ++i) {
      const auto at = random.next() % text.size();
      switch (random.next() % 3) {
        case 0:
          text[at] = static_cast<char>(random.next());
          break;
        case 1:
          text.erase(at, 1 + random.next() % 3);
          break;
        default:
          text.insert(at, 1, "{}[]\",:\\0e.-"[random.next() % 12]);
      }
      if (text.empty()) break;
    }
    const auto once = normalise_parameters(any, text);
    ++(once.ok() ? accepted : refusals);
    if (!once.ok()) continue;
    const auto twice = normalise_parameters(any, once->json);
    ASSERT_TRUE(twice.ok()) << once->json;
    EXPECT_EQ(once->json, twice->json);
    EXPECT_EQ(once->hash, twice->hash);
  }
  EXPECT_GT(accepted, 0) << "a parser that refuses everything proves nothing";
  EXPECT_GT(refusals, 0) << "a parser that accepts everything proves nothing";
}

}  // namespace
}  // namespace waybill::registry
