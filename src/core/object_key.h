// Keys of finished files: exports/{taskId}/{version}-{uuid}.xlsx. Made by Waybill only; nothing
// from a request or a provider becomes part of one. The version in the key makes sure that no late
// upload replaces a newer file.

#ifndef WAYBILL_CORE_OBJECT_KEY_H_
#define WAYBILL_CORE_OBJECT_KEY_H_

#include <optional>
#include <string>
#include <string_view>

#include "core/task.h"

namespace waybill::core {

inline constexpr std::string_view kObjectKeyPrefix = "exports/";

struct ObjectKey {
  Execution execution;
  std::string uuid;  // lower case
};

// REQUIRES: positive numbers and a UUID in lower case (base::make_uuid).
std::string make_object_key(const ObjectKey& key);

// nullopt for every text that make_object_key() does not make.
std::optional<ObjectKey> parse_object_key(std::string_view text);

}  // namespace waybill::core

#endif  // WAYBILL_CORE_OBJECT_KEY_H_
