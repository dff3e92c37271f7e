// Walking from the storage folder to the folder of a key, one name at a time and never through a
// symbolic link, so that nothing planted inside can lead out. Keys given here are valid_key().

#ifndef WAYBILL_FILES_DIRECTORY_FOLDERS_H_
#define WAYBILL_FILES_DIRECTORY_FOLDERS_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "files/directory/descriptor.h"

namespace waybill::files::directory {

// What a key, or the path of a hidden file, means on disk.
struct Place {
  Descriptor folder;  // that holds it, or where `missing`, its deepest ancestor that exists
  std::string name;   // the last part of the key
  bool missing = false;
};

// kUnavailable when the storage folder itself was removed: then nothing in it can be called absent.
base::Status root_exists(int root);

// kUnavailable as root_exists().
base::Result<Place> find_place(int root, std::string_view path);

// The same, making the folders on the way. Every name on the way is durable when it returns,
// whoever made it. kNotFound when another process removed a folder meanwhile (see
// remove_empty_folders): try again.
base::Result<Place> make_place(int root, std::string_view path);

// Removes the folders of `path` that are empty, innermost first. Best effort: an empty folder that
// stays costs nothing.
void remove_empty_folders(int root, std::string_view path);

// Opens the folder `name` in `parent`; on failure the descriptor is closed and errno says why,
// ELOOP for a link.
Descriptor open_folder(int parent, const std::string& name);

}  // namespace waybill::files::directory

#endif  // WAYBILL_FILES_DIRECTORY_FOLDERS_H_
