#include "files/directory/directory_sink.h"

#include <utility>

#include "files/directory/folders.h"
#include "files/directory/system.h"

namespace waybill::files::directory {

DirectorySink::DirectorySink(std::shared_ptr<const Descriptor> root, std::string key,
                             std::string name, HiddenFile file)
    : root_(std::move(root)), key_(std::move(key)), name_(std::move(name)), file_(std::move(file)) {
  buffer_.reserve(kBufferBytes);
}

DirectorySink::~DirectorySink() { abort(); }

base::Status DirectorySink::write(std::string_view bytes) {
  if (ended_) return *ended_;
  if (buffer_.size() + bytes.size() > kBufferBytes) WAYBILL_TRY(flush());
  if (bytes.size() < kBufferBytes) {
    buffer_.append(bytes);
    return {};
  }
  auto written = write_all(file_.fd(), bytes);
  return written.ok() ? written : fail(std::move(written).error());
}

base::Status DirectorySink::flush() {
  auto written = write_all(file_.fd(), buffer_);
  if (!written.ok()) return fail(std::move(written).error());
  buffer_.clear();
  return {};
}

base::Status DirectorySink::commit() {
  if (ended_) return *ended_;
  WAYBILL_TRY(flush());
  auto published = file_.publish(name_);
  if (!published.ok()) return fail(std::move(published).error());
  ended_ = base::internal("the file is committed already");
  return {};
}

void DirectorySink::abort() {
  if (!file_.hidden()) return;
  static_cast<void>(file_.discard());  // what stays is swept later
  remove_empty_folders(root_->get(), key_);
  if (!ended_) ended_ = base::internal("the file was aborted already");
}

base::Result<std::size_t> DirectorySink::read_back(std::uint64_t offset, std::span<char> buffer) {
  if (ended_) return *ended_;
  WAYBILL_TRY(flush());
  return read_at(file_.fd(), offset, buffer);
}

base::Status DirectorySink::fail(base::Error error) {
  ended_ = std::move(error);
  return *ended_;
}

}  // namespace waybill::files::directory
