#include "store/sqlite/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/text.h"

namespace waybill::store {

namespace {

constexpr mode_t kOwnerOnly = 0600;

std::string holder(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t n = pread(descriptor, text.data(), text.size(), 0);
  const std::string_view pid =
      base::trim(std::string_view(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0));
  return base::parse_int(pid) ? " by process " + std::string(pid)
                              : std::string(" by another process");
}

}  // namespace

base::Result<std::unique_ptr<LockFile>> LockFile::take(const std::string& database_path) {
  const std::string path =
      (std::filesystem::path(database_path).parent_path() / "waybill.lock").string();
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly);
  if (descriptor < 0) {
    return base::unavailable("cannot open the lock file " + path + ": " +
                             std::generic_category().message(errno));
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    std::string who = holder(descriptor);
    close(descriptor);
    return base::conflict("DATABASE_IN_USE", "the database " + database_path +
                                                 " is already served" + who +
                                                 "; one process serves a SQLite file");
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, pid.data(), pid.size(), 0) < 0) {
    close(descriptor);
    return base::unavailable("cannot write the lock file " + path);
  }
  return std::unique_ptr<LockFile>(new LockFile(descriptor));
}

// The file stays: removing it would let two processes lock two different files of one name.
LockFile::~LockFile() { close(descriptor_); }

}  // namespace waybill::store
