// The directory driver under the conformance suite.

#include <cstdlib>
#include <filesystem>

#include "base/random.h"
#include "files/directory/directory_files.h"
#include "tests/files_conformance/files_conformance.h"

namespace waybill::files {
namespace {

class TemporaryFolder final : public StorageUnderTest {
 public:
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "waybill-files-XXXXXX").string();
    if (::mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~TemporaryFolder() override {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::unique_ptr<Files> connect() override {
    auto files = open_directory(path_.string(), random_);
    return std::move(files).value();
  }

 private:
  base::SystemRandom random_;
  std::filesystem::path path_;
};

INSTANTIATE_TEST_SUITE_P(Directory, FilesConformance,
                         ::testing::Values(Driver{
                             .name = "Folder",
                             .make_storage = [] { return std::make_unique<TemporaryFolder>(); }}),
                         driver_name);

}  // namespace
}  // namespace waybill::files
