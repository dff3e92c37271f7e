// What texts from outside may look like before they reach a column. Lengths are in characters and
// equal the columns'.

#ifndef WAYBILL_CORE_VALIDATE_H_
#define WAYBILL_CORE_VALIDATE_H_

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace waybill::core {

inline constexpr std::size_t kMaxTypeLength = 64;  // characters, as all below
inline constexpr std::size_t kMaxLaneLength = 32;
inline constexpr std::size_t kMaxTenantLength = 64;
inline constexpr std::size_t kMaxAppCodeLength = 32;
inline constexpr std::size_t kMaxRequestedByLength = 64;
inline constexpr std::size_t kMaxSerialKeyLength = 64;
inline constexpr std::size_t kMaxTraceIdLength = 64;
inline constexpr std::size_t kMaxIdempotencyKeyLength = 128;
inline constexpr std::size_t kMaxTaskNameLength = 100;

// UTF-8 without control characters (C0, DEL, C1, line and paragraph separators, bidirectional
// overrides), which could forge a log line, a file name or what a person reads.
bool is_plain_text(std::string_view text);

// kInvalid or kLimit naming `field`. Plain text of 1..max_length characters.
base::Status check_text(std::string_view field, std::string_view text, std::size_t max_length);

// [A-Z][A-Z0-9_]{0,63}
bool valid_type(std::string_view type);
// [a-z][a-z0-9-]{0,31}
bool valid_lane(std::string_view lane);

// Field "taskName": 1..100 characters of plain text, not only blanks.
base::Status check_task_name(std::string_view name);
// Field "Idempotency-Key": 1..128 printable ASCII characters without blanks.
base::Status check_idempotency_key(std::string_view key);

}  // namespace waybill::core

#endif  // WAYBILL_CORE_VALIDATE_H_
