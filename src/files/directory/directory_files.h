// Finished files in a folder of this host or of a volume that several hosts share (NFS, CephFS).
//
// A file is written under a hidden name beside its final place and gets its name by one atomic step
// that never replaces anything; file, name and every folder on the way are fsynced before commit()
// answers. The process must ignore SIGXFSZ if it runs under a limit on file sizes; the limit then
// is an error like a full disk.

#ifndef WAYBILL_FILES_DIRECTORY_DIRECTORY_FILES_H_
#define WAYBILL_FILES_DIRECTORY_DIRECTORY_FILES_H_

#include <memory>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "files/files.h"

namespace waybill::files {

// `path` is an existing folder (it may itself be reached through links); only listing and reading
// permission is needed until something is written. kInvalid (field "files.directory.path") when it
// is missing, no folder, or not readable. `random` makes names and the storage id; it must be
// thread-safe and outlive the result and its sinks.
//
// Listing: hidden files are Waybill's own temporary names and nothing else. Names that valid_key()
// refuses, other hidden names, links, devices and sockets are not Waybill's and are never listed,
// so no sweep can remove them (lost+found, snapshots, an administrator's notes). A folder that
// becomes empty by a removal is removed.
base::Result<std::unique_ptr<Files>> open_directory(const std::string& path, base::Random& random);

}  // namespace waybill::files

#endif  // WAYBILL_FILES_DIRECTORY_DIRECTORY_FILES_H_
