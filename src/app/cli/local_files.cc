#include "app/cli/local_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/random.h"

namespace waybill::app::cli {

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string behind_links(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const auto end = std::filesystem::weakly_canonical(path, error);
  return error ? path : end.string();
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
  constexpr int kTries = 100;  // names of 64 random bits
  path_ = behind_links(path);
  base::SystemRandom random;
  for (int i = 0; i < kTries && file_ < 0; ++i) {
    const std::string name = fmt::format(".waybill-{:016x}.part", random.next());
    const std::string hidden = (std::filesystem::path(path_).parent_path() / name).string();
    file_ = ::open(hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ >= 0) hidden_ = hidden;
    if (file_ < 0 && errno != EEXIST) return errno;
  }
  if (file_ < 0) return EEXIST;
  struct stat present{};
  if (::stat(path_.c_str(), &present) != 0) return 0;
  return ::fchmod(file_, present.st_mode & 0777) == 0 ? 0 : errno;
}

int NewFile::publish() {
  const int error = publish_file(file_, hidden_, path_);
  if (error == 0) hidden_.clear();
  return error;
}

}  // namespace waybill::app::cli
