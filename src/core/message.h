// The command message, format version 1 (docs/formats.md): identifiers only, as one JSON object,
// and the four that a dead-letter handler needs once more as message properties. A body that
// disagrees with its properties is poison.

#ifndef WAYBILL_CORE_MESSAGE_H_
#define WAYBILL_CORE_MESSAGE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "core/task.h"

namespace waybill::core {

// DO NOT CHANGE what a version means. A field is added as optional, and removed over two releases.
inline constexpr std::int32_t kMessageSchemaVersion =
    1;  // the highest that this build reads and writes
inline constexpr std::size_t kMaxMessageBytes = 16u << 10;  // a longer payload is poison
inline constexpr std::size_t kMaxPropertyBytes = 128;       // of one property's value
inline constexpr std::size_t kMaxMessageWordLength = 64;    // characters of type, traceId and kind

using MessageProperties = std::map<std::string, std::string>;

struct CommandMessage {
  Execution execution;
  std::string event_id;  // a UUID
  std::optional<TaskKind>
      kind;  // nullopt: a kind that only a newer build knows; leave the task alone (I14)
  std::string type;
  base::Millis occurred_at = 0;  // when the command became due, by the database's clock
  std::string trace_id;          // may be empty
  std::int32_t schema_version = kMessageSchemaVersion;
};

struct EncodedMessage {
  std::string payload;
  MessageProperties properties;
};

// REQUIRES: a kind, and a schema_version that this build knows.
EncodedMessage build_message(const CommandMessage& message);

// kInvalid with `field` and reason: the message is poison and only then is to be rejected. Unknown
// fields are ignored.
base::Result<CommandMessage> parse_message(std::string_view payload,
                                           const MessageProperties& properties);

// What the properties alone say: enough to quarantine a command whose body is destroyed.
struct MessageLocator {
  Execution execution;
  std::string event_id;
  std::int32_t schema_version = 0;
};
base::Result<MessageLocator> parse_locator(const MessageProperties& properties);

}  // namespace waybill::core

#endif  // WAYBILL_CORE_MESSAGE_H_
