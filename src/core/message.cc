#include "core/message.h"

#include <simdjson.h>

#include <array>
#include <limits>

#include "base/check.h"
#include "base/json_writer.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time_zone.h"
#include "core/validate.h"

namespace waybill::core {

namespace {

constexpr std::string_view kEventId = "eventId";
constexpr std::string_view kTaskId = "taskId";
constexpr std::string_view kDispatchVersion = "dispatchVersion";
constexpr std::string_view kSchemaVersion = "schemaVersion";
constexpr std::size_t kMaxDepth = 8;  // nesting; version 1 needs 1, unknown fields may have some

// A whole number from 1 on, written the only way that we write it.
std::optional<std::int64_t> positive(std::string_view text, std::int64_t largest) {
  const auto number = base::parse_int(text);
  if (!number || *number < 1 || *number > largest || std::to_string(*number) != text)
    return std::nullopt;
  return number;
}

constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

base::Result<std::string_view> property(const MessageProperties& properties,
                                        std::string_view name) {
  const auto found = properties.find(std::string(name));
  if (found == properties.end()) {
    return base::invalid(std::string(name), "property " + std::string(name) + " is missing");
  }
  if (found->second.size() > kMaxPropertyBytes) {
    return base::invalid(std::string(name), "property " + std::string(name) + " is too long");
  }
  return std::string_view(found->second);
}

base::Result<std::int64_t> number_property(const MessageProperties& properties,
                                           std::string_view name, std::int64_t largest) {
  WAYBILL_ASSIGN(const auto text, property(properties, name));
  const auto number = positive(text, largest);
  if (!number) {
    return base::invalid(std::string(name),
                         "property " + std::string(name) + " is not a positive whole number");
  }
  return *number;
}

base::Error bad(std::string_view field, std::string_view why) {
  return base::invalid(std::string(field),
                       "message field " + std::string(field) + " " + std::string(why));
}

// The fields of version 1, each seen at most once.
struct Body {
  std::optional<std::string_view> event_id, task_id, kind, type, occurred_at, trace_id;
  std::optional<std::int64_t> dispatch_version, schema_version;
};

struct StringField {
  std::string_view name;
  std::optional<std::string_view> Body::* member;
};
constexpr std::array<StringField, 6> kStringFields{{{kEventId, &Body::event_id},
                                                    {kTaskId, &Body::task_id},
                                                    {"kind", &Body::kind},
                                                    {"type", &Body::type},
                                                    {"occurredAt", &Body::occurred_at},
                                                    {"traceId", &Body::trace_id}}};
struct NumberField {
  std::string_view name;
  std::optional<std::int64_t> Body::* member;
};
constexpr std::array<NumberField, 2> kNumberFields{
    {{kDispatchVersion, &Body::dispatch_version}, {kSchemaVersion, &Body::schema_version}}};

base::Status read_field(std::string_view name, const simdjson::dom::element& value, Body& body) {
  for (const auto& field : kStringFields) {
    if (field.name != name) continue;
    if (body.*field.member) return bad(name, "appears twice");
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) return bad(name, "is not a string");
    body.*field.member = text;
  }
  for (const auto& field : kNumberFields) {
    if (field.name != name) continue;
    if (body.*field.member) return bad(name, "appears twice");
    std::int64_t number = 0;
    if (value.get_int64().get(number) != simdjson::SUCCESS || number < 1 || number > kMaxInt32) {
      return bad(name, "is not a positive 32-bit number");
    }
    body.*field.member = number;
  }
  return {};
}

// `parser` owns the texts that the body points to.
base::Result<Body> read_body(simdjson::dom::parser& parser, std::string_view payload) {
  if (payload.size() > kMaxMessageBytes) {
    return base::over_limit("payload", static_cast<std::int64_t>(kMaxMessageBytes), "bytes",
                            static_cast<std::int64_t>(payload.size()), "the message is too long");
  }
  if (parser.allocate(kMaxMessageBytes, kMaxDepth) != simdjson::SUCCESS) {
    return base::unavailable("no memory to read a message");
  }
  simdjson::dom::object object;
  if (const auto error = parser.parse(payload.data(), payload.size()).get_object().get(object)) {
    return base::invalid("payload", std::string("the message is not a JSON object: ") +
                                        simdjson::error_message(error));
  }
  Body body;
  for (const auto field : object) WAYBILL_TRY(read_field(field.key, field.value, body));
  return body;
}

base::Result<std::string> word(const std::optional<std::string_view>& text, std::string_view name,
                               bool may_be_empty) {
  if (!text) return bad(name, "is missing");
  if (text->empty() && !may_be_empty) return bad(name, "is empty");
  if (!is_plain_text(*text)) return bad(name, "contains control characters");
  if (base::utf8_length(*text) > kMaxMessageWordLength) return bad(name, "is too long");
  return std::string(*text);
}

base::Status compare(const Body& body, const MessageLocator& locator) {
  if (!body.event_id || *body.event_id != locator.event_id)
    return bad(kEventId, "differs from the property");
  if (!body.task_id || *body.task_id != std::to_string(locator.execution.id)) {
    return bad(kTaskId, "differs from the property");
  }
  if (body.dispatch_version != std::int64_t{locator.execution.version}) {
    return bad(kDispatchVersion, "differs from the property");
  }
  if (body.schema_version != std::int64_t{locator.schema_version}) {
    return bad(kSchemaVersion, "differs from the property");
  }
  return {};
}

}  // namespace

EncodedMessage build_message(const CommandMessage& message) {
  WAYBILL_CHECK(message.kind.has_value(), "a command has a kind");
  WAYBILL_CHECK(message.schema_version == kMessageSchemaVersion, "no such message version");
  const std::string id = std::to_string(message.execution.id);
  base::JsonWriter json;
  json.begin_object()
      .field(kSchemaVersion, message.schema_version)
      .field(kEventId, message.event_id)
      .field(kTaskId, id)
      .field("kind", to_string(*message.kind))
      .field("type", message.type)
      .field(kDispatchVersion, message.execution.version)
      .field("occurredAt", base::TimeZone().iso(message.occurred_at))
      .field("traceId", message.trace_id)
      .end_object();
  return {json.take(),
          {{std::string(kEventId), message.event_id},
           {std::string(kTaskId), id},
           {std::string(kDispatchVersion), std::to_string(message.execution.version)},
           {std::string(kSchemaVersion), std::to_string(message.schema_version)}}};
}

base::Result<MessageLocator> parse_locator(const MessageProperties& properties) {
  MessageLocator locator;
  WAYBILL_ASSIGN(const auto event_id, property(properties, kEventId));
  if (!base::is_uuid(event_id)) {
    return base::invalid(std::string(kEventId), "property eventId is not a UUID");
  }
  locator.event_id = event_id;
  WAYBILL_ASSIGN(locator.execution.id, number_property(properties, kTaskId, kMaxInt64));
  WAYBILL_ASSIGN(const auto version, number_property(properties, kDispatchVersion, kMaxInt32));
  WAYBILL_ASSIGN(const auto schema, number_property(properties, kSchemaVersion, kMaxInt32));
  locator.execution.version = static_cast<std::int32_t>(version);
  locator.schema_version = static_cast<std::int32_t>(schema);
  return locator;
}

base::Result<CommandMessage> parse_message(std::string_view payload,
                                           const MessageProperties& properties) {
  WAYBILL_ASSIGN(const MessageLocator locator, parse_locator(properties));
  if (locator.schema_version > kMessageSchemaVersion) {
    return base::invalid(std::string(kSchemaVersion), "schemaVersion " +
                                                          std::to_string(locator.schema_version) +
                                                          " is newer than the supported " +
                                                          std::to_string(kMessageSchemaVersion));
  }
  simdjson::dom::parser parser;
  WAYBILL_ASSIGN(const Body body, read_body(parser, payload));
  WAYBILL_TRY(compare(body, locator));

  CommandMessage message;
  message.execution = locator.execution;
  message.event_id = locator.event_id;
  message.schema_version = locator.schema_version;
  WAYBILL_ASSIGN(const std::string kind, word(body.kind, "kind", false));
  message.kind = parse_task_kind(kind);
  WAYBILL_ASSIGN(message.type, word(body.type, "type", false));
  WAYBILL_ASSIGN(message.trace_id, word(body.trace_id.value_or(""), "traceId", true));
  if (!body.occurred_at) return bad("occurredAt", "is missing");
  auto occurred_at = base::parse_iso(*body.occurred_at);
  if (!occurred_at) return bad("occurredAt", "is not an ISO-8601 time");
  message.occurred_at = *occurred_at;
  return message;
}

}  // namespace waybill::core
