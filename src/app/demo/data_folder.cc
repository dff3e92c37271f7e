#include "app/demo/data_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>

#include "app/settings.h"
#include "base/errno_text.h"
#include "base/text.h"

namespace waybill::app::demo {
namespace {

base::Error failed(const std::string& what, const std::string& path, int error) {
  return base::invalid(
      "data", fmt::format("{} {}: {}", what, base::printable(path, 300), base::errno_text(error)));
}

base::Status make_private(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return failed("cannot make the folder", path, errno);
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return failed("cannot look at", path, errno);
  if (!S_ISDIR(info.st_mode))
    return base::invalid("data", base::printable(path, 300) + " is not a folder");
  if (info.st_uid != ::geteuid())
    return base::invalid("data", base::printable(path, 300) + " belongs to somebody else");
  if (::chmod(path.c_str(), 0700) != 0) return failed("cannot close to others", path, errno);
  if (::access(path.c_str(), W_OK | X_OK) != 0) return failed("cannot write into", path, errno);
  return {};
}

api::Identity user(const char* name, const char* tenant, std::set<std::string, std::less<>> more) {
  api::Identity identity;
  identity.user = name;
  identity.tenant = tenant;
  identity.app_code = "demo";
  identity.access_domain = registry::AppScope::kPlatform;
  identity.permissions = {"platform:download:list", "platform:customer:export",
                          "platform:order:export", "platform:report:export"};
  identity.permissions.merge(more);
  return identity;
}

}  // namespace

const std::vector<api::Identity>& users() {
  static const std::vector<api::Identity> kUsers{
      user(kDefaultUser, "north", {"platform:download:all", "platform:task:prioritize"}),
      user("bruno", "north", {}), user("chen", "south", {"platform:download:all"}),
      user("dara", "south", {})};
  return kUsers;
}

std::vector<std::string> tenants() {
  std::set<std::string> names;
  for (const api::Identity& identity : users()) names.insert(identity.tenant);
  return {names.begin(), names.end()};
}

base::Status prepare_folder(const std::string& folder) {
  WAYBILL_TRY(make_private(folder));
  WAYBILL_TRY(make_private(folder + "/files"));
  return make_private(folder + "/tokens");
}

base::Status write_file(const std::string& path, std::string_view text, unsigned mode) {
  const std::string hidden = path + ".new";
  ::unlink(hidden.c_str());  // left by a process that was killed
  const int fd = ::open(hidden.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return failed("cannot write", path, errno);
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  ::fchmod(fd, mode);  // whatever the umask is
  ::close(fd);
  if (!written) {
    ::unlink(hidden.c_str());
    return failed("cannot write", path, error);
  }
  if (::rename(hidden.c_str(), path.c_str()) != 0) return failed("cannot write", path, errno);
  return {};
}

base::Result<std::string> ensure_secret(const std::string& path, base::Random& random) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    std::string secret;
    for (int i = 0; i < 4; ++i) secret += fmt::format("{:016x}", random.next());
    WAYBILL_TRY(write_file(path, secret + "\n", 0600));
  }
  return read_secret(path);
}

}  // namespace waybill::app::demo
