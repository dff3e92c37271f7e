// Task ids: blocks of kIdBlock from one counter row, handed out in order within this process. No
// clock, no node numbers.

#ifndef WAYBILL_STORE_ID_SOURCE_H_
#define WAYBILL_STORE_ID_SOURCE_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "store/types.h"
#include "store/writer.h"

namespace waybill::store {

// Thread-safe.
class IdSource {
 public:
  explicit IdSource(Writer& writer) : writer_(writer) {}

  // `n` ids, ascending. n <= kIdBlock.
  base::Result<std::vector<TaskId>> take(std::size_t n);
  // An id was used already: the database was restored without skipping a block. Goes beyond
  // everything that exists.
  base::Status skip_used();

 private:
  base::Status refill(bool beyond_used);

  Writer& writer_;
  std::mutex mutex_;
  TaskId next_ = 0;
  TaskId end_ = 0;
};

}  // namespace waybill::store

#endif  // WAYBILL_STORE_ID_SOURCE_H_
