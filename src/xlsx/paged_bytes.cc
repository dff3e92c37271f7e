#include "xlsx/paged_bytes.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace waybill::xlsx {
namespace {

base::Error failed(std::string_view what, int error) {
  return base::unavailable("cannot " + std::string(what) +
                           " a temporary file: " + std::generic_category().message(error));
}

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

}  // namespace

PagedBytes::PagedBytes(std::size_t memory_bytes, std::uint64_t max_bytes, std::string folder)
    : max_frames_(std::max<std::size_t>(2, memory_bytes / kPageBytes)),
      max_bytes_(max_bytes),
      folder_(std::move(folder)) {}

PagedBytes::~PagedBytes() {
  if (file_ >= 0) ::close(file_);
}

base::Status PagedBytes::append(std::string_view bytes) {
  if (bytes.size() > max_bytes_ || size_ > max_bytes_ - bytes.size()) {
    return base::over_limit("temp_bytes", static_cast<std::int64_t>(max_bytes_), "bytes",
                            static_cast<std::int64_t>(size_ + bytes.size()),
                            "the file's strings need more temporary space than is allowed");
  }
  while (!bytes.empty()) {
    const std::size_t number = static_cast<std::size_t>(size_ / kPageBytes);
    const auto inside = static_cast<std::size_t>(size_ % kPageBytes);
    if (inside == 0) {
      frame_of_page_.push_back(kNotInMemory);
      WAYBILL_ASSIGN(const std::size_t frame, frame_for(number));
      frame_of_page_[number] = static_cast<std::int32_t>(frame);
    }
    WAYBILL_ASSIGN(char* const to, page(number));
    frames_[static_cast<std::size_t>(frame_of_page_[number])].dirty = true;
    const std::size_t step = std::min(bytes.size(), kPageBytes - inside);
    std::memcpy(to + inside, bytes.data(), step);
    bytes.remove_prefix(step);
    size_ += step;
  }
  return {};
}

base::Result<std::string_view> PagedBytes::read(std::uint64_t offset, std::size_t bytes) {
  WAYBILL_CHECK(offset <= size_ && bytes <= size_ - offset, "read() behind the end");
  if (bytes == 0) return std::string_view();
  auto number = static_cast<std::size_t>(offset / kPageBytes);
  auto inside = static_cast<std::size_t>(offset % kPageBytes);
  if (bytes <= kPageBytes - inside) {
    WAYBILL_ASSIGN(const char* const from, page(number));
    return std::string_view(from + inside, bytes);
  }
  joined_.clear();
  while (joined_.size() < bytes) {
    WAYBILL_ASSIGN(const char* const from, page(number));
    joined_.append(from + inside, std::min(bytes - joined_.size(), kPageBytes - inside));
    ++number;
    inside = 0;
  }
  return std::string_view(joined_);
}

base::Result<char*> PagedBytes::page(std::size_t number) {
  if (frame_of_page_[number] == kNotInMemory) {
    WAYBILL_ASSIGN(const std::size_t index, frame_for(number));
    char* to = frames_[index].bytes.get();
    for (std::size_t at = 0; at < kPageBytes;) {
      const ssize_t got =
          ::pread(file_, to + at, kPageBytes - at, static_cast<off_t>(number * kPageBytes + at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return failed("read", got < 0 ? errno : EIO);
      at += static_cast<std::size_t>(got);
    }
    frame_of_page_[number] = static_cast<std::int32_t>(index);
  }
  Frame& frame = frames_[static_cast<std::size_t>(frame_of_page_[number])];
  frame.used = true;
  return frame.bytes.get();
}

base::Result<std::size_t> PagedBytes::frame_for(std::size_t number) {
  if (frames_.size() < max_frames_) {
    frames_.push_back({std::make_unique<char[]>(kPageBytes), number, true, false});
    return frames_.size() - 1;
  }
  for (;; hand_ = (hand_ + 1) % frames_.size()) {  // second chance
    if (!std::exchange(frames_[hand_].used, false)) break;
  }
  const std::size_t index = hand_;
  hand_ = (hand_ + 1) % frames_.size();
  Frame& frame = frames_[index];
  if (frame.dirty) WAYBILL_TRY(write_out(frame));
  if (frame_of_page_[frame.page] == static_cast<std::int32_t>(index))
    frame_of_page_[frame.page] = kNotInMemory;
  frame.page = number;
  frame.used = true;
  return index;
}

// Whole pages: what lies behind the end is never read.
base::Status PagedBytes::write_out(Frame& frame) {
  if (file_ < 0) WAYBILL_TRY(open_file());
  for (std::size_t at = 0; at < kPageBytes;) {
    const ssize_t put = ::pwrite(file_, frame.bytes.get() + at, kPageBytes - at,
                                 static_cast<off_t>(frame.page * kPageBytes + at));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return failed("write", put < 0 ? errno : ENOSPC);
    at += static_cast<std::size_t>(put);
  }
  frame.dirty = false;
  return {};
}

base::Status PagedBytes::open_file() {
  const std::string folder = folder_.empty() ? temporary_folder() : folder_;
  file_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ >= 0) return {};
  // Some file systems know no files without a name.
  std::string name = folder + "/waybill-XXXXXX";
  file_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) return failed("make", errno).with_context(base::printable(folder, 200));
  ::unlink(name.c_str());
  return {};
}

}  // namespace waybill::xlsx
