// Names of what an export leaves behind: the download's file name and the object's key. Both are
// made here alone; nothing a provider sends gets into them (E24, E25).

#ifndef WAYBILL_EXPORTING_FILE_NAME_H_
#define WAYBILL_EXPORTING_FILE_NAME_H_

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/time_zone.h"
#include "core/task.h"

namespace waybill::exporting {

inline constexpr std::size_t kMaxTitleInFileName = 60;  // characters
inline constexpr std::string_view kContentType =
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

// "客户列表-20261130-142359.xlsx": characters that some file system refuses become '_', time is
// local.
std::string export_file_name(std::string_view title, base::Millis wall_ms,
                             const base::TimeZone& zone);

// "exports/{taskId}/{version}-{uuid}.xlsx".
std::string export_object_key(const core::Execution& execution, base::Random& random);

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_FILE_NAME_H_
