// `waybill.lock` beside the database: one serving process per file.

#ifndef WAYBILL_STORE_SQLITE_LOCK_FILE_H_
#define WAYBILL_STORE_SQLITE_LOCK_FILE_H_

#include <memory>
#include <string>

#include "base/result.h"

namespace waybill::store {

// Holds the lock until it is destroyed; the kernel frees it with the process, so a crash leaves
// nothing to clean.
class LockFile {
 public:
  // kConflict (code DATABASE_IN_USE) naming the process that has it; kUnavailable when the file
  // cannot be made.
  static base::Result<std::unique_ptr<LockFile>> take(const std::string& database_path);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_SQLITE_LOCK_FILE_H_
