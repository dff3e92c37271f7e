// The demo's data folder: who may read it, what lies in it, how it is written.

#ifndef WAYBILL_APP_DEMO_DATA_FOLDER_H_
#define WAYBILL_APP_DEMO_DATA_FOLDER_H_

#include <string>
#include <string_view>
#include <vector>

#include "api/identity.h"
#include "base/random.h"
#include "base/result.h"

namespace waybill::app::demo {

inline constexpr const char* kDescriptionFile = "demo.json";
inline constexpr const char* kDefaultUser = "alice";  // whose token the command line takes

// Four invented users in two tenants, one of them with every permission.
const std::vector<api::Identity>& users();
std::vector<std::string> tenants();

// Makes the folder and its subfolders (mode 0700) as far as they are missing. kInvalid when
// something else stands there, others may write to it, or it cannot be made.
base::Status prepare_folder(const std::string& folder);

// Writes a whole file in one step with this mode: readers see the old or the new text, never half
// of it.
base::Status write_file(const std::string& path, std::string_view text, unsigned mode);

// The text of a secret file, made from random bytes (mode 0600) when it is missing.
base::Result<std::string> ensure_secret(const std::string& path, base::Random& random);

}  // namespace waybill::app::demo

#endif  // WAYBILL_APP_DEMO_DATA_FOLDER_H_
