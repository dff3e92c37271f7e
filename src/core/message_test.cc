#include "core/message.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace waybill::core {
namespace {

constexpr std::string_view kUuid = "5b0f6a52-6f0e-4c0e-9d0a-0c1d2e3f4a5b";

CommandMessage sample() {
  CommandMessage message;
  message.execution = {9'007'199'254'740'993, 2};  // beyond 2^53: a double would change it
  message.event_id = kUuid;
  message.kind = TaskKind::kExport;
  message.type = "CUSTOMER_LIST";
  message.occurred_at = 1'764'483'839'123;
  message.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  return message;
}

std::string field_of(const base::Result<CommandMessage>& result) {
  return result.ok() ? "ok" : result.error().field;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// Frozen: messages of this form lie in brokers during an upgrade.
TEST(Message, FormatVersion1) {
  const EncodedMessage encoded = build_message(sample());
  EXPECT_EQ(
      encoded.payload,
      R"({"schemaVersion":1,"eventId":"5b0f6a52-6f0e-4c0e-9d0a-0c1d2e3f4a5b",)"
      R"("taskId":"9007199254740993","kind":"EXPORT","type":"CUSTOMER_LIST",)"
      R"("dispatchVersion":2,)"
      R"("occurredAt":"2025-11-30T06:23:59.123+00:00","traceId":"4bf92f3577b34da6a3ce929d0e0e4736"})");
  EXPECT_EQ(encoded.properties, (MessageProperties{{"eventId", std::string(kUuid)},
                                                   {"taskId", "9007199254740993"},
                                                   {"dispatchVersion", "2"},
                                                   {"schemaVersion", "1"}}));
}

TEST(Message, ReadsWhatItWrites) {
  const EncodedMessage encoded = build_message(sample());
  const auto parsed = parse_message(encoded.payload, encoded.properties);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->execution, sample().execution);
  EXPECT_EQ(parsed->event_id, kUuid);
  EXPECT_EQ(parsed->kind, TaskKind::kExport);
  EXPECT_EQ(parsed->type, "CUSTOMER_LIST");
  EXPECT_EQ(parsed->occurred_at, sample().occurred_at);
  EXPECT_EQ(parsed->trace_id, sample().trace_id);
}

TEST(Message, IgnoresUnknownFieldsAndKnowsNoUnknownKind) {
  const EncodedMessage encoded = build_message(sample());
  auto parsed = parse_message(replaced(encoded.payload, "{", R"({"later":{"a":[1,null]},)"),
                              encoded.properties);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  parsed = parse_message(replaced(encoded.payload, "EXPORT", "REPORT"), encoded.properties);
  ASSERT_TRUE(parsed.ok()) << "an unknown kind is no poison";
  EXPECT_FALSE(parsed->kind.has_value());
  parsed = parse_message(
      replaced(encoded.payload, R"(,"traceId":"4bf92f3577b34da6a3ce929d0e0e4736")", ""),
      encoded.properties);
  EXPECT_TRUE(parsed.ok()) << "a task without a trace";
}

TEST(Message, RefusesANewerSchemaVersion) {
  const EncodedMessage encoded = build_message(sample());
  auto properties = encoded.properties;
  properties["schemaVersion"] = "2";
  const auto parsed = parse_message(
      replaced(encoded.payload, R"("schemaVersion":1)", R"("schemaVersion":2)"), properties);
  EXPECT_EQ(field_of(parsed), "schemaVersion");
  EXPECT_TRUE(parse_locator(properties).ok()) << "the dead-letter role still finds the task";
}

TEST(Message, ABodyThatDisagreesWithItsPropertiesIsPoison) {
  const EncodedMessage encoded = build_message(sample());
  const std::string& good = encoded.payload;
  const struct {
    std::string payload;
    const char* field;
  } cases[] = {
      {replaced(good, "5b0f6a52", "5b0f6a53"), "eventId"},
      {replaced(good, "9007199254740993", "9007199254740992"), "taskId"},
      {replaced(good, R"("9007199254740993")", "9007199254740993"), "taskId"},
      {replaced(good, R"("9007199254740993")", R"("09007199254740993")"), "taskId"},
      {replaced(good, R"("dispatchVersion":2)", R"("dispatchVersion":3)"), "dispatchVersion"},
      {replaced(good, R"("dispatchVersion":2)", R"("dispatchVersion":"2")"), "dispatchVersion"},
      {replaced(good, R"("dispatchVersion":2)", R"("dispatchVersion":2.0)"), "dispatchVersion"},
      {replaced(good, R"("dispatchVersion":2,)", ""), "dispatchVersion"},
      {replaced(good, R"("schemaVersion":1)", R"("schemaVersion":0)"), "schemaVersion"},
      {replaced(good, R"("schemaVersion":1,)", ""), "schemaVersion"},
      {replaced(good, "{", R"({"taskId":"1",)"), "taskId"},
      {replaced(good, "EXPORT", ""), "kind"},
      {replaced(good, R"("EXPORT")", "1"), "kind"},
      {replaced(good, R"("CUSTOMER_LIST")", "null"), "type"},
      {replaced(good, "CUSTOMER_LIST", std::string(65, 'A')), "type"},
      {replaced(good, "CUSTOMER_LIST", "A\\u0000B"), "type"},
      {replaced(good, "CUSTOMER_LIST", "A\\nB"), "type"},
      {replaced(good, "2025-11-30", "yesterday"), "occurredAt"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(field_of(parse_message(c.payload, encoded.properties)), c.field) << c.payload;
  }
}

TEST(Message, HostileBodiesAreErrors) {
  const EncodedMessage encoded = build_message(sample());
  std::string nested(100'000, '[');
  for (const std::string& payload :
       {std::string(), std::string("null"), std::string("[]"), std::string("{"),
        std::string("\xff\xfe{}"), std::string(5u << 20, ' '), nested,
        std::string(kMaxMessageBytes, '['), encoded.payload + "}",
        encoded.payload + encoded.payload, replaced(encoded.payload, "CUSTOMER", "\xc3("),
        replaced(encoded.payload, "CUSTOMER", "\\ud800"), std::string("\0\0\0\0", 4),
        replaced(encoded.payload, "{",
                 R"({"x":)" + std::string(5000, '[') + std::string(5000, ']') + ",")}) {
    EXPECT_EQ(field_of(parse_message(payload, encoded.properties)), "payload")
        << payload.substr(0, 80);
  }
}

TEST(Message, LocatorNeedsAllFourProperties) {
  const MessageProperties good = build_message(sample()).properties;
  ASSERT_TRUE(parse_locator(good).ok());
  for (const auto& [name, value] : good) {
    MessageProperties missing = good;
    missing.erase(name);
    EXPECT_EQ(parse_locator(missing).error().field, name);
    for (const char* bad :
         {"", "0", "-1", "+1", " 1", "01", "1e3", "99999999999999999999", "abc"}) {
      MessageProperties wrong = good;
      wrong[name] = bad;
      EXPECT_FALSE(parse_locator(wrong).ok()) << name << "=" << bad;
    }
    MessageProperties huge = good;
    huge[name] = std::string(1'000'000, '1');
    EXPECT_FALSE(parse_locator(huge).ok());
  }
  MessageProperties beyond = good;
  beyond["dispatchVersion"] = "2147483648";
  EXPECT_FALSE(parse_locator(beyond).ok());
}

// Whatever bytes are changed: an answer, no crash; and what is accepted says what the properties
// say.
TEST(Message, SurvivesMutations) {
  const EncodedMessage encoded = build_message(sample());
  base::SeededRandom random(11);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string payload = encoded.payload;
    for (std::uint64_t i = 0; i <= random.next() % 3; ++i) {
      const auto at = random.next() % payload.size();
      switch (random.next() % 3) {
        case 0:
          payload[at] = static_cast<char>(random.next());
          break;
        case 1:
          payload.erase(at, 1 + random.next() % 4);
          break;
        default:
          payload.insert(at, 1, "{}[]\",:\\0"[random.next() % 9]);
      }
      if (payload.empty()) break;
    }
    const auto parsed = parse_message(payload, encoded.properties);
    ++(parsed.ok() ? accepted : refused);
    if (parsed.ok()) {
      EXPECT_EQ(parsed->execution, sample().execution);
    }
  }
  EXPECT_GT(accepted, 0) << "a parser that refuses everything proves nothing";
  EXPECT_GT(refused, 0) << "a parser that accepts everything proves nothing";
}

}  // namespace
}  // namespace waybill::core
