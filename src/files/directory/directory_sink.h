// The sink of the directory driver.

#ifndef WAYBILL_FILES_DIRECTORY_DIRECTORY_SINK_H_
#define WAYBILL_FILES_DIRECTORY_DIRECTORY_SINK_H_

#include <memory>
#include <optional>
#include <string>

#include "files/directory/descriptor.h"
#include "files/directory/hidden_file.h"
#include "files/files.h"

namespace waybill::files::directory {

// Bytes gathered before a write(2): compressed parts arrive in small pieces.
inline constexpr std::size_t kBufferBytes = 256u << 10;

class DirectorySink final : public Sink {
 public:
  // `root` is the storage folder; shared, so that a sink may outlive the Files object that made it.
  DirectorySink(std::shared_ptr<const Descriptor> root, std::string key, std::string name,
                HiddenFile file);
  ~DirectorySink() override;
  DirectorySink(const DirectorySink&) = delete;
  DirectorySink& operator=(const DirectorySink&) = delete;

  base::Status write(std::string_view bytes) override;
  base::Status commit() override;
  void abort() override;
  base::Result<std::size_t> read_back(std::uint64_t offset, std::span<char> buffer) override;

 private:
  base::Status flush();
  base::Status fail(base::Error error);

  std::shared_ptr<const Descriptor> root_;
  std::string key_;
  std::string name_;
  HiddenFile file_;
  std::string buffer_;
  std::optional<base::Error> ended_;  // why no further call can succeed
};

}  // namespace waybill::files::directory

#endif  // WAYBILL_FILES_DIRECTORY_DIRECTORY_SINK_H_
