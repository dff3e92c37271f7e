#include "store/id_source.h"

#include <algorithm>

namespace waybill::store {

base::Result<std::vector<TaskId>> IdSource::take(std::size_t n) {
  const std::lock_guard lock(mutex_);
  std::vector<TaskId> ids;
  ids.reserve(n);
  while (ids.size() < n) {
    if (next_ == end_) WAYBILL_TRY(refill(false));
    ids.push_back(next_++);
  }
  return ids;
}

base::Status IdSource::skip_used() {
  const std::lock_guard lock(mutex_);
  return refill(true);
}

base::Status IdSource::refill(bool beyond_used) {
  TaskId first = 0;
  const auto status = writer_.run("take_ids", [&](Session& session) {
    auto rows = session.run("id_block_read");
    if (!rows.next())
      throw Abort{
          base::internal("the row 'task' of table id_block is missing; run waybill migrate")};
    first = rows.integer(0);
    if (beyond_used) {
      auto highest = session.run("id_highest");
      if (highest.next()) first = std::max(first, highest.integer(0) + 1);
    }
    session.run("id_block_move", first + kIdBlock);
  });
  // After a lost answer the block may be anybody's: it is left alone, ids are plenty.
  WAYBILL_TRY(status);
  next_ = first;
  end_ = first + kIdBlock;
  return {};
}

}  // namespace waybill::store
