#include "files/directory/directory_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/errno_text.h"
#include "files/directory/descriptor.h"
#include "files/directory/directory_sink.h"
#include "files/directory/folders.h"
#include "files/directory/hidden_file.h"
#include "files/directory/listing.h"
#include "files/directory/system.h"

namespace waybill::files {
namespace directory {
namespace {

// Its name keeps it out of listings, so that no sweep removes it.
constexpr const char* kMarkerName = ".waybill-storage";
constexpr std::size_t kStorageIdLength = 36;
// Enough to need a block of its own, so that a full disk is noticed.
constexpr std::size_t kProbeBytes = 4'096;
// How often a folder may vanish under our hands, by removals elsewhere, before we give up.
constexpr int kMakeAttempts = 16;

class DirectorySource final : public Source {
 public:
  DirectorySource(Descriptor file, std::uint64_t size) : file_(std::move(file)), size_(size) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  base::Result<std::size_t> read(std::uint64_t offset, std::span<char> buffer) override {
    if (offset >= size_ || buffer.empty()) return std::size_t{0};
    const std::uint64_t left = size_ - offset;
    if (buffer.size() > left) buffer = buffer.first(static_cast<std::size_t>(left));
    WAYBILL_ASSIGN(const std::size_t got, read_at(file_.get(), offset, buffer));
    // Finished files never change; a download must break off rather than look complete.
    if (got < buffer.size()) return base::unavailable("the stored file was cut while it was read");
    return got;
  }

 private:
  Descriptor file_;
  std::uint64_t size_;
};

base::Status check_key(std::string_view key) {
  if (valid_key(key)) return {};
  return base::invalid("key",
                       "not a key of a stored file (parts of letters, digits, '.', '_' and "
                       "'-', joined by '/', at most 256 bytes, none starting with a dot)");
}

base::Error absent() { return base::not_found("no such file in the storage"); }

// What stands at a place, links not followed. kNotFound where nothing does.
base::Result<struct stat> look_at(const Place& place) {
  struct stat info{};
  if (place.missing) return absent();
  if (::fstatat(place.folder.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return absent();
    return io_error("look at the stored file", errno, place.folder.get());
  }
  if (S_ISLNK(info.st_mode)) return io_error("use the stored file", ELOOP, place.folder.get());
  return info;
}

class DirectoryFiles final : public Files {
 public:
  DirectoryFiles(Descriptor root, base::Random& random)
      : root_(std::make_shared<const Descriptor>(std::move(root))), random_(random) {}

  base::Result<std::unique_ptr<Sink>> create(std::string_view key) override {
    WAYBILL_TRY(check_key(key));
    for (int attempt = 1;; ++attempt) {
      auto sink = try_create(key);
      const bool vanished = !sink.ok() && sink.error().category == base::ErrorCategory::kNotFound;
      if (!vanished) return sink;
      if (attempt == kMakeAttempts) return base::unavailable(sink.error().message);
    }
  }

  base::Result<std::unique_ptr<Source>> open(std::string_view key) override {
    WAYBILL_TRY(check_key(key));
    WAYBILL_ASSIGN(const Place place, find_place(root(), key));
    if (place.missing) return absent();
    // O_NONBLOCK: a planted pipe must not hang us. It means nothing for files.
    Descriptor file(::openat(place.folder.get(), place.name.c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file.open()) {
      if (errno == ENOENT) return absent();
      return io_error("open the stored file", errno, place.folder.get());
    }
    struct stat info{};
    if (::fstat(file.get(), &info) != 0) return io_error("open the stored file", errno, file.get());
    if (!S_ISREG(info.st_mode)) return absent();
    return std::unique_ptr<Source>(std::make_unique<DirectorySource>(
        std::move(file), static_cast<std::uint64_t>(info.st_size)));
  }

  base::Result<std::uint64_t> size(std::string_view key) override {
    WAYBILL_TRY(check_key(key));
    WAYBILL_ASSIGN(const Place place, find_place(root(), key));
    WAYBILL_ASSIGN(const struct stat info, look_at(place));
    if (!S_ISREG(info.st_mode)) return absent();
    return static_cast<std::uint64_t>(info.st_size);
  }

  base::Status remove(std::string_view key) override {
    WAYBILL_TRY(check_key(key));
    return remove_path(key);
  }

  base::Status remove_hidden(std::string_view name) override {
    const std::size_t slash = name.rfind('/');
    const bool in_folder = slash != std::string_view::npos;
    const bool hidden = is_hidden_name(in_folder ? name.substr(slash + 1) : name) &&
                        (!in_folder || valid_key(name.substr(0, slash)));
    if (!hidden) return base::invalid("key", "not the name of a hidden file");
    return remove_path(name);
  }

  base::Status list(const std::function<bool(const Listed&)>& visit) override {
    return list_folder(root(), visit);
  }

  base::Result<std::string> storage_id() override {
    auto id = read_marker();
    if (id.ok() || id.error().category != base::ErrorCategory::kNotFound) return id;
    WAYBILL_ASSIGN(HiddenFile marker, new_file_in_root());
    WAYBILL_TRY(write_all(marker.fd(), base::make_uuid(random_) + "\n"));
    const base::Status published = marker.publish(kMarkerName);
    if (!published.ok() && published.error().category != base::ErrorCategory::kConflict) {
      return published.error();
    }
    return read_marker();  // on kConflict another process was first, and its id counts
  }

  base::Status check_writable() override {
    WAYBILL_ASSIGN(HiddenFile probe, new_file_in_root());
    WAYBILL_TRY(write_all(probe.fd(), std::string(kProbeBytes, 'w')));
    WAYBILL_TRY(sync_file(probe.fd()));
    return probe.discard();
  }

  base::Result<std::int64_t> free_bytes() override { return free_space(root()); }

 private:
  [[nodiscard]] int root() const { return root_->get(); }

  base::Result<std::unique_ptr<Sink>> try_create(std::string_view key) {
    WAYBILL_ASSIGN(Place place, make_place(root(), key));
    const auto present = look_at(place);
    if (present.ok()) {
      return base::conflict("FILE_EXISTS", "a file with this key exists already");
    }
    if (present.error().category != base::ErrorCategory::kNotFound) return present.error();
    WAYBILL_ASSIGN(HiddenFile file, HiddenFile::create(std::move(place.folder), random_));
    return std::unique_ptr<Sink>(std::make_unique<DirectorySink>(
        root_, std::string(key), std::move(place.name), std::move(file)));
  }

  base::Status remove_path(std::string_view path) {
    WAYBILL_ASSIGN(const Place place, find_place(root(), path));
    // EISDIR: a folder has that name, so no file has.
    if (!place.missing && ::unlinkat(place.folder.get(), place.name.c_str(), 0) != 0 &&
        errno != ENOENT && errno != EISDIR) {
      return io_error("remove the stored file", errno, place.folder.get());
    }
    // Also when it was absent: a removal before a crash may not have been durable, and "gone" must
    // stay true.
    WAYBILL_TRY(sync_folder(place.folder.get()));
    remove_empty_folders(root(), path);
    return {};
  }

  base::Result<HiddenFile> new_file_in_root() {
    Descriptor folder = open_folder(root(), ".");
    if (!folder.open()) return io_error("open the storage folder", errno, root());
    auto file = HiddenFile::create(std::move(folder), random_);
    if (!file.ok() && file.error().category == base::ErrorCategory::kNotFound) {
      return base::unavailable("the storage folder was removed while it was in use");
    }
    return file;
  }

  base::Result<std::string> read_marker() {
    Descriptor file(::openat(root(), kMarkerName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.open()) {
      if (errno == ENOENT) return absent();
      return io_error("read the storage marker", errno, root());
    }
    std::array<char, kStorageIdLength> text{};
    WAYBILL_ASSIGN(const std::size_t got, read_at(file.get(), 0, text));
    std::string id(text.data(), got);
    if (!base::is_uuid(id)) {
      return base::internal("the storage marker " + std::string(kMarkerName) + " is damaged");
    }
    return id;
  }

  std::shared_ptr<const Descriptor> root_;
  base::Random& random_;
};

}  // namespace
}  // namespace directory

base::Result<std::unique_ptr<Files>> open_directory(const std::string& path, base::Random& random) {
  constexpr const char* kField = "files.directory.path";
  if (path.empty() || path.find('\0') != std::string::npos) {
    return base::invalid(kField, "the storage folder's path is empty or holds a NUL character");
  }
  directory::Descriptor root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (root.open()) {
    return std::unique_ptr<Files>(
        std::make_unique<directory::DirectoryFiles>(std::move(root), random));
  }
  switch (errno) {
    case ENOENT:
      return base::invalid(
          kField, "the storage folder " + path + " does not exist; create it or mount its volume");
    case ENOTDIR:
      return base::invalid(kField, "the storage folder " + path + " is not a folder");
    case EACCES:
      return base::invalid(kField, "the storage folder " + path + " cannot be read by user id " +
                                       std::to_string(geteuid()));
    default:
      return base::unavailable("the storage folder " + path +
                               " cannot be opened: " + base::errno_text(errno));
  }
}

}  // namespace waybill::files
