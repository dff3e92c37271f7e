// Checks of what callers hand in: nothing longer than its column, nothing that one database takes
// and another refuses.

#ifndef WAYBILL_STORE_FIELDS_H_
#define WAYBILL_STORE_FIELDS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/types.h"

namespace waybill::store {

// Columns, in characters.
inline constexpr std::size_t kMaxType = 64;
inline constexpr std::size_t kMaxLane = 32;
inline constexpr std::size_t kMaxTenant = 64;
inline constexpr std::size_t kMaxApp = 32;
inline constexpr std::size_t kMaxUser = 64;
inline constexpr std::size_t kMaxSerialKey = 64;
inline constexpr std::size_t kMaxTrace = 64;
inline constexpr std::size_t kMaxTaskName = 200;
inline constexpr std::size_t kMaxFormat = 16;
inline constexpr std::size_t kMaxHash = 64;
inline constexpr std::size_t kMaxIdempotencyKey = 128;
inline constexpr std::size_t kMaxOwner = 64;
inline constexpr std::size_t kMaxObjectKey = 512;
inline constexpr std::size_t kMaxStorageId = 64;
inline constexpr std::size_t kMaxFileName = 255;
inline constexpr std::size_t kMaxContentType = 128;
inline constexpr std::size_t kMaxCommandError = 500;

// kInvalid naming `field` for text that is too long, is not UTF-8 or holds a NUL; `required`: empty
// is refused too.
base::Status check_text(std::string_view field, std::string_view text, std::size_t most,
                        bool required = false);
base::Status check_task(const NewTask& task);
base::Status check_export(const CreateExport& request);
base::Status check_result(const ExportResult& result);
base::Status check_owner(std::string_view owner);
base::Status check_batch(std::size_t size);

}  // namespace waybill::store

#endif  // WAYBILL_STORE_FIELDS_H_
