#include "files/directory/hidden_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "files/directory/system.h"

namespace waybill::files::directory {
namespace {
constexpr std::string_view kPrefix = ".waybill-";
constexpr std::string_view kSuffix = ".tmp";
constexpr std::size_t kUuidLength = 36;
constexpr mode_t kFileMode = 0640;
constexpr int kNameAttempts = 8;
}  // namespace

bool is_hidden_name(std::string_view name) {
  return name.size() == kPrefix.size() + kUuidLength + kSuffix.size() &&
         name.starts_with(kPrefix) && name.ends_with(kSuffix) &&
         base::is_uuid(name.substr(kPrefix.size(), kUuidLength));
}

base::Result<HiddenFile> HiddenFile::create(Descriptor folder, base::Random& random) {
  for (int attempt = 1;; ++attempt) {
    std::string name = std::string(kPrefix) + base::make_uuid(random) + std::string(kSuffix);
    Descriptor file(::openat(folder.get(), name.c_str(),
                             O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    if (file.open()) return HiddenFile(std::move(folder), std::move(file), std::move(name));
    if (errno == ENOENT) return base::not_found("the file's folder was removed meanwhile");
    // A process that was forked may repeat the random numbers of its parent.
    if (errno != EEXIST || attempt == kNameAttempts) {
      return io_error("create a file", errno, folder.get());
    }
  }
}

base::Status HiddenFile::publish(const std::string& name) {
  WAYBILL_TRY(sync_file(file_.get()));
  WAYBILL_TRY(give_name(name));
  const base::Status durable = sync_folder(folder_.get());
  if (!durable.ok()) {
    return base::outcome_unknown("the file has its name, but perhaps not after a power loss: " +
                                 durable.error().message);
  }
  return {};
}

base::Status HiddenFile::give_name(const std::string& name) {
  const int folder = folder_.get();
  if (::renameat2(folder, name_.c_str(), folder, name.c_str(), RENAME_NOREPLACE) == 0) {
    name_.clear();
    return {};
  }
  int error_number = errno;
  if (error_number == EINVAL || error_number == ENOSYS) {
    // NFS and others know no RENAME_NOREPLACE; a hard link never replaces either.
    if (::linkat(folder, name_.c_str(), folder, name.c_str(), 0) == 0) {
      static_cast<void>(discard());  // the second name; swept later if it stays
      return {};
    }
    error_number = errno;
  }
  return explain_failed_naming(name, error_number);
}

base::Status HiddenFile::explain_failed_naming(const std::string& name, int error_number) {
  struct stat mine{};
  struct stat theirs{};
  if (::fstat(file_.get(), &mine) != 0) {
    return base::outcome_unknown("the storage did not say whether the file got its name");
  }
  if (::fstatat(folder_.get(), name.c_str(), &theirs, AT_SYMLINK_NOFOLLOW) == 0) {
    if (mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino) {
      // A network mount repeated a request whose answer was lost, and the repetition failed.
      static_cast<void>(discard());
      return {};
    }
    return base::conflict("FILE_EXISTS", "a file with this key exists already");
  }
  if (errno != ENOENT) {
    return base::outcome_unknown("the storage did not say whether the file got its name");
  }
  if (error_number == ENOENT) {
    return base::unavailable("the temporary file was removed before it was finished");
  }
  return io_error("give the file its name", error_number, folder_.get());
}

base::Status HiddenFile::discard() {
  if (name_.empty() || !folder_.open()) return {};
  const std::string name = std::exchange(name_, {});
  file_.reset();  // or its space would stay in use
  if (::unlinkat(folder_.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
    return io_error("remove a temporary file", errno, folder_.get());
  }
  return {};
}

}  // namespace waybill::files::directory
