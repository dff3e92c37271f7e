// A file under a temporary hidden name, until it is published under its own name whole and durable,
// or discarded. Used for finished files, the storage marker and the write check alike.

#ifndef WAYBILL_FILES_DIRECTORY_HIDDEN_FILE_H_
#define WAYBILL_FILES_DIRECTORY_HIDDEN_FILE_H_

#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "files/directory/descriptor.h"

namespace waybill::files::directory {

// ".waybill-<uuid>.tmp". The pattern is strict, because what matches it may be swept.
bool is_hidden_name(std::string_view name);

// Not thread-safe. Discarded by its destructor unless published.
class HiddenFile {
 public:
  // An empty file, open for reading and writing. kNotFound when the folder was removed meanwhile.
  static base::Result<HiddenFile> create(Descriptor folder, base::Random& random);

  HiddenFile(HiddenFile&&) noexcept = default;
  HiddenFile& operator=(HiddenFile&&) = delete;
  // What cannot be removed now is swept later.
  ~HiddenFile() { static_cast<void>(discard()); }

  [[nodiscard]] int fd() const { return file_.get(); }
  // False once it was published or discarded.
  [[nodiscard]] bool hidden() const { return !name_.empty(); }

  // fsync, then the name in one step that never replaces an existing file, then fsync of the
  // folder. kConflict when `name` exists; kOutcomeUnknown when the name is given but perhaps not
  // durable.
  base::Status publish(const std::string& name);
  // Removes the file; tried once. Does nothing when published or discarded already.
  base::Status discard();

 private:
  HiddenFile(Descriptor folder, Descriptor file, std::string name)
      : folder_(std::move(folder)), file_(std::move(file)), name_(std::move(name)) {}

  base::Status give_name(const std::string& name);
  base::Status explain_failed_naming(const std::string& name, int error_number);

  Descriptor folder_;
  Descriptor file_;
  std::string name_;  // empty once there is nothing under a hidden name any more
};

}  // namespace waybill::files::directory

#endif  // WAYBILL_FILES_DIRECTORY_HIDDEN_FILE_H_
