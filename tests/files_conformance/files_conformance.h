// What every driver of the finished-file seam (files/files.h) must do. A driver instantiates the
// suite:
//
//   INSTANTIATE_TEST_SUITE_P(Directory, FilesConformance, ::testing::Values(driver), driver_name);
//
// and compiles files_conformance.cc into its test program.

#ifndef WAYBILL_TESTS_FILES_CONFORMANCE_FILES_CONFORMANCE_H_
#define WAYBILL_TESTS_FILES_CONFORMANCE_FILES_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "files/files.h"

namespace waybill::files {

// One empty storage for one test; emptied by the destructor.
class StorageUnderTest {
 public:
  virtual ~StorageUnderTest() = default;
  // Another client of the same storage, as another process would be. Never null.
  virtual std::unique_ptr<Files> connect() = 0;
};

struct Driver {
  std::string name;  // letters and digits
  std::function<std::unique_ptr<StorageUnderTest>()> make_storage;
  // Known deviations, with the well-behaved value as default.
  bool knows_free_bytes = true;
};

inline void PrintTo(const Driver& driver, std::ostream* out) { *out << driver.name; }

class FilesConformance : public ::testing::TestWithParam<Driver> {
 protected:
  FilesConformance()
      : storage_(GetParam().make_storage()),
        files_(storage_->connect()),
        other_(storage_->connect()) {}

  std::unique_ptr<StorageUnderTest> storage_;
  std::unique_ptr<Files> files_;
  std::unique_ptr<Files> other_;
};

inline std::string driver_name(const ::testing::TestParamInfo<Driver>& driver) {
  return driver.param.name;
}

}  // namespace waybill::files

#endif  // WAYBILL_TESTS_FILES_CONFORMANCE_FILES_CONFORMANCE_H_
