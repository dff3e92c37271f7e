#include "files/directory/folders.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "base/text.h"
#include "files/directory/system.h"

namespace waybill::files::directory {
namespace {

constexpr mode_t kFolderMode = 0750;

base::Result<Descriptor> duplicate(int fd) {
  Descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy.open()) return io_error("open the storage folder", errno, fd);
  return copy;
}

base::Status make_folder(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), kFolderMode) == 0 || errno == EEXIST) return {};
  if (errno == ENOENT) return base::not_found("a folder of the file was removed meanwhile");
  return io_error("make a folder for the file", errno, parent);
}

}  // namespace

base::Status root_exists(int root) {
  struct stat info{};
  if (::fstat(root, &info) != 0) return io_error("look at the storage folder", errno, root);
  if (info.st_nlink == 0) {
    return base::unavailable("the storage folder was removed while it was in use");
  }
  return {};
}

Descriptor open_folder(int parent, const std::string& name) {
  Descriptor folder(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.open() && errno == ENOTDIR) {
    // The kernel says ENOTDIR for a link too; the difference matters to whoever reads the message.
    struct stat info{};
    const bool link =
        ::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
    errno = link ? ELOOP : ENOTDIR;
  }
  return folder;
}

base::Result<Place> find_place(int root, std::string_view path) {
  const std::vector<std::string_view> parts = base::split(path, '/');
  WAYBILL_TRY(root_exists(root));
  Place place{.folder = {}, .name = std::string(parts.back())};
  WAYBILL_ASSIGN(place.folder, duplicate(root));
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    Descriptor next = open_folder(place.folder.get(), std::string(parts[i]));
    if (!next.open()) {
      // A file where a folder would be: the key has no file below it.
      if (errno != ENOENT && errno != ENOTDIR) {
        return io_error("open the file's folder", errno, place.folder.get());
      }
      place.missing = true;
      return place;
    }
    place.folder = std::move(next);
  }
  return place;
}

base::Result<Place> make_place(int root, std::string_view path) {
  const std::vector<std::string_view> parts = base::split(path, '/');
  WAYBILL_TRY(root_exists(root));
  Place place{.folder = {}, .name = std::string(parts.back())};
  WAYBILL_ASSIGN(place.folder, duplicate(root));
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const std::string name(parts[i]);
    const int parent = place.folder.get();
    Descriptor next = open_folder(parent, name);
    if (!next.open() && errno == ENOENT) {
      WAYBILL_TRY(make_folder(parent, name));
      next = open_folder(parent, name);
    }
    if (!next.open()) {
      if (errno == ENOENT) return base::not_found("a folder of the file was removed meanwhile");
      if (errno == ENOTDIR) {
        return base::conflict("FILE_EXISTS", "a file stands where the new file needs a folder");
      }
      return io_error("open the file's folder", errno, parent);
    }
    // Also where somebody else made it: they may not have synced it yet, and our commit relies on
    // it.
    WAYBILL_TRY(sync_folder(parent));
    place.folder = std::move(next);
  }
  return place;
}

void remove_empty_folders(int root, std::string_view path) {
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos;
       slash = path.rfind('/')) {
    path = path.substr(0, slash);
    auto place = find_place(root, path);
    if (!place.ok() || place->missing) return;
    if (::unlinkat(place->folder.get(), place->name.c_str(), AT_REMOVEDIR) != 0) return;
  }
}

}  // namespace waybill::files::directory
