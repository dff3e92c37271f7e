// The name a download gets. Made here alone; nothing a provider sends gets into it (E24).

#ifndef WAYBILL_EXPORTING_FILE_NAME_H_
#define WAYBILL_EXPORTING_FILE_NAME_H_

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/time_zone.h"

namespace waybill::exporting {

inline constexpr std::size_t kMaxTitleInFileName = 60;  // characters
inline constexpr std::string_view kContentType =
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

// "客户列表-20261130-142359.xlsx": characters that some file system refuses become '_', time is
// local.
std::string export_file_name(std::string_view title, base::Millis wall_ms,
                             const base::TimeZone& zone);

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_FILE_NAME_H_
