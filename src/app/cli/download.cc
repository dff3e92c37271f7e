#include "app/cli/download.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "app/cli/local_files.h"
#include "base/errno_text.h"
#include "base/sha256.h"
#include "base/text.h"

namespace waybill::app::cli {
namespace {

constexpr std::size_t kReadBytes = 256u << 10;

Failure local(const std::string& what, int error) {
  return {
      kLocalFile,
      base::printable(what, 300) + (error == 0 ? "" : std::string(": ") + base::errno_text(error)),
      false};
}

// The hidden part: open, locked, and with its present bytes hashed.
class Part {
 public:
  Part() = default;
  ~Part() {
    if (fd_ >= 0) ::close(fd_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  std::optional<Failure> open(const std::string& path) {
    path_ = path;
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd_ < 0) return local("cannot write " + path, errno);
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0)
      return local("another download is writing " + path, 0);
    return hash_present();
  }
  std::optional<Failure> restart() {
    hash_ = std::make_unique<base::Sha256>();
    size_ = 0;
    if (::ftruncate(fd_, 0) != 0 || ::lseek(fd_, 0, SEEK_SET) < 0)
      return local("cannot write " + path_, errno);
    return std::nullopt;
  }
  base::Status append(std::string_view bytes) {
    hash_->update(bytes.data(), bytes.size());
    size_ += static_cast<std::int64_t>(bytes.size());
    write_error_ = write_all(fd_, bytes);
    if (write_error_ != 0) return base::internal("cannot write");
    return {};
  }
  std::string digest() { return base::to_hex(hash_->finish()); }
  std::optional<Failure> publish(const std::string& target) {
    if (const int error = publish_file(fd_, path_, target))
      return local("cannot make " + target, error);
    return std::nullopt;
  }
  void remove() { ::unlink(path_.c_str()); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] int write_error() const { return write_error_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::optional<Failure> hash_present() {
    std::string buffer(kReadBytes, '\0');
    for (;;) {
      const ssize_t n = ::read(fd_, buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return local("cannot read " + path_, errno);
      if (n == 0) return std::nullopt;
      hash_->update(buffer.data(), static_cast<std::size_t>(n));
      size_ += n;
    }
  }

  std::string path_;
  int fd_ = -1;
  int write_error_ = 0;
  std::unique_ptr<base::Sha256> hash_ = std::make_unique<base::Sha256>();
  std::int64_t size_ = 0;
};

std::string part_name(const std::string& path, const std::string& task_id) {
  const std::filesystem::path target(path);
  return (target.parent_path() / ("." + target.filename().string() + "." + task_id + ".part"))
      .string();
}

// Transfers what is missing.
std::optional<Failure> fill(ApiCaller& api, const TaskView& task, Part& part, Console& console) {
  const std::int64_t had = part.size();
  ApiCaller::Headers headers;
  if (had > 0) {
    headers = {{"Range", fmt::format("bytes={}-", had)}, {"If-Range", "\"" + task.sha256 + "\""}};
    console.note(
        fmt::format("going on after {} of {}", readable_size(had), readable_size(task.size)));
  }
  const auto append = [&](std::string_view bytes) -> base::Status {
    WAYBILL_TRY(part.append(bytes));
    if (part.size() > task.size) return base::internal("too long");
    if (console.is_terminal())
      console.bar(fmt::format("downloading {} of {}", readable_size(part.size()),
                              readable_size(task.size)));
    return {};
  };
  const auto answer =
      api.download("/files/export-tasks/" + url_encode(task.id) + "/download", headers, append);
  if (part.write_error() != 0) return local("cannot write " + part.path(), part.write_error());
  if (const auto* failure = std::get_if<Failure>(&answer)) {
    if (part.size() > task.size)
      return Failure{kInternal, "the server sent more bytes than the file has", false};
    return *failure;
  }
  const auto& done = std::get<ApiCaller::Downloaded>(answer);
  if (!done.etag.empty() && done.etag != task.sha256) {
    return Failure{kInternal, "the server sent another file than the task names", false};
  }
  if (had > 0 && done.status != 206)
    return Failure{kInternal, "the server did not go on where the part ends", true};
  return std::nullopt;
}

}  // namespace

std::optional<Failure> check_output(const std::string& wanted) {
  if (wanted.empty()) return local("the name of the file to write is empty", 0);
  if (wanted == "-")
    return local("cannot write to the standard output: --output needs the name of a file", 0);
  const std::string path = behind_links(wanted);
  const std::string folder = folder_of(path);
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0)
    return local("cannot write " + path + ": the folder " + folder, errno);
  if (!S_ISDIR(info.st_mode))
    return local("cannot write " + path + ": " + folder + " is not a folder", 0);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return local("cannot write into the folder " + folder, errno);
  if (path.ends_with('/') || (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))) {
    return local("cannot write " + path + ": it is not a file", 0);
  }
  return std::nullopt;
}

std::optional<Failure> download_file(ApiCaller& api, const TaskView& task,
                                     const std::string& wanted, Console& console) {
  if (const auto failure = check_output(wanted)) return failure;
  const std::string path = behind_links(wanted);
  Part part;
  if (auto failure = part.open(part_name(path, task.id))) return failure;
  if (part.size() > task.size) {
    if (auto failure = part.restart()) return failure;
  }
  if (part.size() < task.size) {
    if (auto failure = fill(api, task, part, console)) {
      // What can be continued stays; what is wrong or empty goes.
      const bool resumable =
          (failure->transient || failure->exit_code == kInterrupted) && part.size() > 0;
      if (!resumable) part.remove();
      if (resumable) failure->message += " (the next download goes on from here)";
      return failure;
    }
  }
  if (part.size() != task.size || part.digest() != task.sha256) {
    part.remove();
    return Failure{kInternal,
                   "the downloaded file is damaged: size or SHA-256 differ from the server's",
                   false};
  }
  if (auto failure = part.publish(path)) {
    part.remove();
    return failure;
  }
  return std::nullopt;
}

std::string safe_file_name(std::string_view name, std::string_view task_id) {
  constexpr std::size_t kMaxNameBytes = 200;
  std::string safe;
  for (const char c : base::to_utf8(name)) {
    const auto byte = static_cast<unsigned char>(c);
    safe += c == '/' || c == '\\' || byte < 0x20 || byte == 0x7f ? '_' : c;
  }
  while (!safe.empty() && (safe.front() == '.' || safe.front() == ' ' || safe.front() == '-'))
    safe.erase(0, 1);
  while (safe.size() > kMaxNameBytes)
    safe = std::string(base::utf8_prefix(safe, base::utf8_length(safe) - 1));
  return safe.empty() ? "export-" + std::string(task_id) + ".xlsx" : safe;
}

}  // namespace waybill::app::cli
