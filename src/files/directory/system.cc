#include "files/directory/system.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "base/errno_text.h"

namespace waybill::files::directory {
namespace {

std::string readable_size(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  std::int64_t tenths = bytes * 10;
  for (; tenths >= 10'240 && unit + 1 < std::size(kUnits); ++unit) tenths /= 1'024;
  std::string text = std::to_string(tenths / 10);
  if (unit > 0) text += "." + std::to_string(tenths % 10);
  return text + " " + kUnits[unit];
}

std::string free_text(int fd) {
  const auto free = free_space(fd);
  return free.ok() ? " (" + readable_size(*free) + " free)" : std::string();
}

}  // namespace

base::Error io_error(std::string_view what, int error_number, int fd) {
  const std::string start = "cannot " + std::string(what) + ": ";
  switch (error_number) {
    case ENOSPC:
      return base::unavailable(start + "no space left on the storage" + free_text(fd));
    case EDQUOT:
      return base::unavailable(start + "the storage quota is used up" + free_text(fd));
    case EFBIG:
      return base::unavailable(start + "the operating system's limit for one file is reached" +
                               free_text(fd));
    case EROFS:
      return base::unavailable(start + "the storage is mounted read-only");
    case EACCES:
    case EPERM:
      return base::unavailable(start + "user id " + std::to_string(geteuid()) +
                               " has no permission in the storage folder");
    case ELOOP:
    case EMLINK:
      return base::internal(
          start + "a symbolic link stands in the storage folder, and links are not followed");
    case EISDIR:
    case ENOTDIR:
      return base::internal(start + "files and folders are mixed up in the storage folder");
    default:
      return base::unavailable(start + base::errno_text(error_number));
  }
}

base::Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return io_error("write the file", errno, fd);
    }
    if (written == 0) return io_error("write the file", EIO, fd);  // or this would never end
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

base::Result<std::size_t> read_at(int fd, std::uint64_t offset, std::span<char> buffer) {
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - buffer.size()) {
    return std::size_t{0};  // no file reaches that far
  }
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t got =
        ::pread(fd, buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
    if (got < 0) {
      if (errno == EINTR) continue;
      return io_error("read the file", errno, fd);
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

base::Status sync_file(int fd) {
  while (::fsync(fd) != 0) {
    if (errno != EINTR) return io_error("make the file durable", errno, fd);
  }
  return {};
}

base::Status sync_folder(int fd) {
  while (::fsync(fd) != 0) {
    if (errno == EINVAL) return {};
    if (errno != EINTR) return io_error("make the folder durable", errno, fd);
  }
  return {};
}

base::Result<std::int64_t> free_space(int fd) {
  struct statvfs space{};
  while (::fstatvfs(fd, &space) != 0) {
    if (errno != EINTR) {
      return base::unavailable("cannot ask the storage for its free space: " +
                               base::errno_text(errno));
    }
  }
  const auto bytes = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(bytes < kMost ? bytes : kMost);
}

}  // namespace waybill::files::directory
