#include "files/directory/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "files/directory/descriptor.h"
#include "files/directory/folders.h"
#include "files/directory/hidden_file.h"
#include "files/directory/system.h"

namespace waybill::files::directory {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

struct Level {
  std::unique_ptr<DIR, CloseFolder> entries;
  std::string prefix;  // "" or "exports/42/"
};

class Walk {
 public:
  explicit Walk(const std::function<bool(const Listed&)>& visit) : visit_(visit) {}

  base::Status run(int root) {
    WAYBILL_TRY(root_exists(root));
    // Opened anew: a duplicate would share its position with other listings.
    WAYBILL_TRY(enter(root, ".", ""));
    while (!levels_.empty()) {
      errno = 0;
      const dirent* entry = ::readdir(levels_.back().entries.get());
      if (entry == nullptr) {
        if (errno != 0) return io_error("list the storage folder", errno, root);
        levels_.pop_back();
        continue;
      }
      WAYBILL_TRY(look_at(entry->d_name));
      if (stopped_) return {};
    }
    return {};
  }

 private:
  base::Status enter(int parent, const std::string& name, std::string prefix) {
    Descriptor folder = open_folder(parent, name);
    if (!folder.open()) {
      if (errno == ENOENT && !prefix.empty()) return {};  // removed meanwhile
      return io_error("list the storage folder", errno, parent);
    }
    std::unique_ptr<DIR, CloseFolder> entries(::fdopendir(folder.get()));
    if (!entries) return io_error("list the storage folder", errno, parent);
    static_cast<void>(folder.release());  // owned by `entries` now
    levels_.push_back({std::move(entries), std::move(prefix)});
    return {};
  }

  base::Status look_at(const std::string& name) {
    const std::string path = levels_.back().prefix + name;
    const bool hidden = is_hidden_name(name);
    if (!hidden && !valid_key(path)) return {};

    const int folder = ::dirfd(levels_.back().entries.get());
    struct stat info{};
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return {};
      return io_error("look at a stored file", errno, folder);
    }
    if (S_ISDIR(info.st_mode) && !hidden) return enter(folder, name, path + "/");
    if (S_ISREG(info.st_mode)) {
      stopped_ = !visit_({.key = path,
                          .size = static_cast<std::uint64_t>(info.st_size),
                          .modified_ms = static_cast<base::Millis>(info.st_mtim.tv_sec) * 1'000 +
                                         info.st_mtim.tv_nsec / 1'000'000,
                          .hidden = hidden});
    }
    return {};
  }

  const std::function<bool(const Listed&)>& visit_;
  std::vector<Level> levels_;  // as deep as a key has parts, so bounded by kMaxKeyBytes
  bool stopped_ = false;
};

}  // namespace

base::Status list_folder(int root, const std::function<bool(const Listed&)>& visit) {
  return Walk(visit).run(root);
}

}  // namespace waybill::files::directory
