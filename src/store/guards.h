// Rows of create_guard: the mutexes of creating. Names are stored; they never change.

#ifndef WAYBILL_STORE_GUARDS_H_
#define WAYBILL_STORE_GUARDS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "store/types.h"

namespace waybill::store {

inline constexpr std::string_view kGlobalGuard = "GLOBAL_CREATE";

inline std::string user_guard(int shard) { return "U:" + std::to_string(shard); }
inline std::string type_guard(std::string_view type) { return "T:" + std::string(type); }

// FNV-1a over tenant and user: the same shard in every process and version.
inline int user_shard(std::string_view tenant, std::string_view user) {
  std::uint32_t hash = 2166136261U;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  };
  add(tenant);
  add("\n");
  add(user);
  return static_cast<int>(hash % kUserGuards);
}

}  // namespace waybill::store

#endif  // WAYBILL_STORE_GUARDS_H_
