#include "app/cli/local_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace waybill::app::cli {

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

int publish_file(int file, const std::string& from, const std::string& to) {
  if (::fsync(file) != 0 || ::rename(from.c_str(), to.c_str()) != 0) return errno;
  const int folder = ::open(folder_of(to).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);  // some file systems refuse it; the rename stands all the same
    ::close(folder);
  }
  return 0;
}

NewFile::~NewFile() {
  if (file_ < 0) return;
  ::close(file_);
  if (!hidden_.empty()) ::unlink(hidden_.c_str());
}

int NewFile::open(const std::string& path) {
  path_ = path;
  const std::filesystem::path target(path);
  hidden_ = (target.parent_path() / ("." + target.filename().string() + ".XXXXXX")).string();
  file_ = ::mkostemp(hidden_.data(), O_CLOEXEC);
  if (file_ < 0) return errno;
  constexpr mode_t kPublicMode = 0644;  // mkostemp() made it for its owner alone
  return ::fchmod(file_, kPublicMode) == 0 ? 0 : errno;
}

int NewFile::publish() {
  const int error = publish_file(file_, hidden_, path_);
  if (error == 0) hidden_.clear();
  return error;
}

}  // namespace waybill::app::cli
