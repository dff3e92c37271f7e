// Visiting everything in the storage folder.

#ifndef WAYBILL_FILES_DIRECTORY_LISTING_H_
#define WAYBILL_FILES_DIRECTORY_LISTING_H_

#include <functional>

#include "base/result.h"
#include "files/files.h"

namespace waybill::files::directory {

// Holds one open folder per level, never a folder's contents. What appears or goes while it runs
// may or may not be visited. See open_directory() for what counts.
base::Status list_folder(int root, const std::function<bool(const Listed&)>& visit);

}  // namespace waybill::files::directory

#endif  // WAYBILL_FILES_DIRECTORY_LISTING_H_
