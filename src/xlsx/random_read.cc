#include "xlsx/random_read.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <memory>
#include <system_error>

#include "base/text.h"

namespace waybill::xlsx {
namespace {

base::Error too_short() { return base::invalid("file", "it is shorter than its records say"); }

std::string why(int error) { return std::generic_category().message(error); }

}  // namespace

base::Status ByteSource::read(std::uint64_t offset, std::span<char> buffer) const {
  if (offset > size_ || buffer.size() > size_ - offset) return too_short();
  while (!buffer.empty()) {
    WAYBILL_ASSIGN(const std::size_t got, read_(offset, buffer));
    if (got == 0 || got > buffer.size()) return too_short();
    offset += got;
    buffer = buffer.subspan(got);
  }
  return {};
}

base::Result<std::string> ByteSource::text(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > size_ || bytes > size_ - offset) return too_short();
  std::string out(bytes, '\0');
  WAYBILL_TRY(read(offset, out));
  return out;
}

base::Result<LocalFile> open_local_file(const std::string& path) {
  const std::string name = base::printable(path, 500);
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) {
    const int error = errno;
    const std::string words = "cannot open " + name + ": " + why(error);
    return error == ENOENT ? base::not_found(words) : base::unavailable(words);
  }
  const std::shared_ptr<const int> file(new int(opened), [](const int* fd) {
    ::close(*fd);
    delete fd;
  });
  struct stat status{};
  if (::fstat(*file, &status) != 0)
    return base::unavailable("cannot look at " + name + ": " + why(errno));
  if (!S_ISREG(status.st_mode)) return base::invalid("file", name + " is not a file");
  return LocalFile{
      static_cast<std::uint64_t>(status.st_size),
      [file, name](std::uint64_t offset, std::span<char> buffer) -> base::Result<std::size_t> {
        for (;;) {
          const ssize_t got =
              ::pread(*file, buffer.data(), buffer.size(), static_cast<off_t>(offset));
          if (got >= 0) return static_cast<std::size_t>(got);
          if (errno != EINTR) return base::unavailable("cannot read " + name + ": " + why(errno));
        }
      }};
}

}  // namespace waybill::xlsx
