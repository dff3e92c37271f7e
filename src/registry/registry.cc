#include "registry/registry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/errno_text.h"
#include "base/log.h"
#include "base/text.h"

namespace waybill::registry {

namespace {

constexpr int kReadTries = 3;  // of a file that changes meanwhile
constexpr std::string_view kEndMark = "...";

// What tells one state of the file from the next. The change time too: an editor may restore the
// modification time.
struct Stamp {
  bool exists = false;
  std::int64_t device = 0, inode = 0, size = 0, modified_ns = 0, changed_ns = 0;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

Stamp stamp_of(const struct stat& info) {
  const auto nanoseconds = [](const timespec& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; };
  return {true,
          static_cast<std::int64_t>(info.st_dev),
          static_cast<std::int64_t>(info.st_ino),
          info.st_size,
          nanoseconds(info.st_mtim),
          nanoseconds(info.st_ctim)};
}

Stamp look(const std::string& file) {
  struct stat info{};
  return ::stat(file.c_str(), &info) == 0 ? stamp_of(info) : Stamp{};
}

class Descriptor {
 public:
  // Non-blocking, so that a pipe in the file's place cannot stop the process.
  explicit Descriptor(const std::string& file)
      : fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

base::Error unreadable(const std::string& file, const std::string& why) {
  return base::unavailable("cannot read the registry file " + file + ": " + why);
}

base::Result<std::string> read_all(int fd, const std::string& file) {
  std::string text;
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unreadable(file, base::errno_text(errno));
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > kMaxRegistryBytes) return text;  // parse_registry() refuses it by its size
  }
}

// Whether the text ends with YAML's end-of-document line; blank lines and comments may follow it.
bool has_end_mark(std::string_view text) {
  const auto lines = base::split(text, '\n');
  const auto last = std::find_if(lines.rbegin(), lines.rend(), [](std::string_view line) {
    const std::string_view words = base::trim(line);
    return !words.empty() && !words.starts_with('#');
  });
  return last != lines.rend() && last->starts_with(kEndMark);
}

// One state of the file: a text that changed while it was read is no text.
base::Result<std::string> try_read_file(const std::string& file, bool& changed) {
  const Descriptor descriptor(file);
  if (descriptor.get() < 0) return unreadable(file, base::errno_text(errno));
  struct stat before{}, after{};
  if (::fstat(descriptor.get(), &before) != 0) return unreadable(file, base::errno_text(errno));
  if (!S_ISREG(before.st_mode)) return unreadable(file, "not a regular file");
  WAYBILL_ASSIGN(std::string text, read_all(descriptor.get(), file));
  if (::fstat(descriptor.get(), &after) != 0) return unreadable(file, base::errno_text(errno));
  changed = stamp_of(before) != stamp_of(after);
  if (changed) return unreadable(file, "it changed while it was read");
  return text;
}

// Being replaced by a rename is a change as well: whoever looks again finds the new file whole.
base::Result<std::string> read_file(const std::string& file) {
  for (int tried = 1;; ++tried) {
    bool changed = false;
    auto text = try_read_file(file, changed);
    if (!changed || tried == kReadTries) return text;
  }
}

}  // namespace

struct Registry::Impl {
  explicit Impl(RegistryOptions o) : options(std::move(o)) {}

  const RegistryOptions options;

  std::mutex reloading;  // one reload at a time; held while the file is read and listeners run
  Stamp seen;            // guarded by reloading
  Stamp changing;  // what the last look saw, while it differs from `seen`; guarded by reloading
  bool marked = false;  // the text in force ends with kEndMark; guarded by reloading
  std::vector<std::function<void(const Snapshot&)>> listeners;  // guarded by reloading

  mutable std::mutex mutex;  // held only to copy or swap what stands below
  std::shared_ptr<const Snapshot> current;
  ReloadResult last;

  base::Result<Snapshot> read() {
    seen =
        look(options.file);  // before reading: a change after this moment is seen by the next look
    WAYBILL_ASSIGN(const std::string text, read_file(options.file));
    const bool mark = has_end_mark(text);
    // A cut between two entries leaves a file that is valid by itself.
    if (marked && !mark) {
      return base::invalid("file", options.file +
                                       ": the line \"...\" at its end is missing, which the "
                                       "registry in force has: was it cut off?");
    }
    WAYBILL_ASSIGN(Snapshot snapshot, parse_registry(text, options.file, options));
    marked = mark;
    return snapshot;
  }

  void publish(Snapshot snapshot, std::int64_t generation) {
    snapshot.generation = generation;
    auto made = std::make_shared<const Snapshot>(std::move(snapshot));
    const std::lock_guard lock(mutex);
    current = std::move(made);
    last = {true, "", generation};
  }

  std::shared_ptr<const Snapshot> snapshot() const {
    const std::lock_guard lock(mutex);
    return current;
  }

  ReloadResult reload() {
    const auto old = snapshot();
    auto loaded = read();
    if (!loaded) {
      base::log(base::LogLevel::kError, "registry reload failed, the old one stays in force",
                {{"error", loaded.error().message}});
      const std::lock_guard lock(mutex);
      last = {false, loaded.error().message, old->generation};
      return last;
    }
    publish(*std::move(loaded), old->generation + 1);
    const auto fresh = snapshot();
    for (const auto& listener : listeners) listener(*fresh);
    return {true, "", fresh->generation};
  }
};

Registry::Registry(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Registry::~Registry() = default;

base::Result<std::unique_ptr<Registry>> Registry::load(RegistryOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  WAYBILL_ASSIGN(Snapshot snapshot, impl->read());
  impl->publish(std::move(snapshot), 1);
  return std::unique_ptr<Registry>(new Registry(std::move(impl)));
}

std::shared_ptr<const Snapshot> Registry::current() const { return impl_->snapshot(); }

ReloadResult Registry::reload() {
  const std::lock_guard lock(impl_->reloading);
  return impl_->reload();
}

std::optional<ReloadResult> Registry::reload_if_changed() {
  const std::lock_guard lock(impl_->reloading);
  const Stamp now = look(impl_->options.file);
  if (now == impl_->seen) return std::nullopt;
  // It may be in the middle of being written: it is read when two looks in a row see the same.
  if (now != std::exchange(impl_->changing, now)) return std::nullopt;
  return impl_->reload();
}

ReloadResult Registry::last_result() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->last;
}

void Registry::on_reload(std::function<void(const Snapshot&)> listener) {
  const std::lock_guard lock(impl_->reloading);
  impl_->listeners.push_back(std::move(listener));
}

}  // namespace waybill::registry
