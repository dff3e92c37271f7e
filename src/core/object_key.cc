#include "core/object_key.h"

#include <limits>

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"

namespace waybill::core {

namespace {
constexpr std::string_view kSuffix = ".xlsx";

std::string join(const ObjectKey& key) {
  return std::string(kObjectKeyPrefix) + std::to_string(key.execution.id) + "/" +
         std::to_string(key.execution.version) + "-" + key.uuid + std::string(kSuffix);
}
}  // namespace

std::string make_object_key(const ObjectKey& key) {
  std::string text = join(key);
  WAYBILL_CHECK(parse_object_key(text).has_value(),
                "object keys are made of positive numbers and a UUID");
  return text;
}

std::optional<ObjectKey> parse_object_key(std::string_view text) {
  if (!text.starts_with(kObjectKeyPrefix) || !text.ends_with(kSuffix)) return std::nullopt;
  std::string_view rest = text.substr(kObjectKeyPrefix.size());
  const auto slash = rest.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto id = base::parse_int(rest.substr(0, slash));
  rest = rest.substr(slash + 1);
  const auto dash = rest.find('-');
  if (dash == std::string_view::npos || rest.size() < dash + 1 + kSuffix.size())
    return std::nullopt;
  const auto version = base::parse_int(rest.substr(0, dash));
  rest = rest.substr(dash + 1, rest.size() - dash - 1 - kSuffix.size());
  if (!id || *id < 1 || !version || *version < 1 ||
      *version > std::numeric_limits<std::int32_t>::max() || !base::is_uuid(rest)) {
    return std::nullopt;
  }
  ObjectKey key{{*id, static_cast<std::int32_t>(*version)}, std::string(rest)};
  for (const char c : key.uuid) {
    if (c >= 'A' && c <= 'F') return std::nullopt;
  }
  // Only the one spelling that we write: no leading zeros or signs.
  if (join(key) != text) return std::nullopt;
  return key;
}

}  // namespace waybill::core
