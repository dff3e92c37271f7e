#include "exporting/object_remover.h"

#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace waybill::exporting {

ObjectRemover::ObjectRemover(files::Files& files, ExportObserver& observer)
    : files_(files), observer_(observer) {}

base::Result<bool> ObjectRemover::remove(std::string_view storage_id, std::string_view key) {
  if (key.empty()) return true;
  Pending object{std::string(storage_id), std::string(key)};
  auto gone = try_remove(object);
  if (!gone.ok()) keep_for_later(std::move(object));
  return gone;
}

std::size_t ObjectRemover::step() {
  for (std::size_t todo = pending(); todo > 0; --todo) {
    Pending object;
    {
      const std::lock_guard lock(mutex_);
      if (pending_.empty()) break;
      object = std::move(pending_.front());
      pending_.pop_front();
    }
    if (!try_remove(object).ok()) keep_for_later(std::move(object));
  }
  return pending();
}

std::size_t ObjectRemover::pending() const {
  const std::lock_guard lock(mutex_);
  return pending_.size();
}

void ObjectRemover::keep_for_later(Pending object) {
  // A key that no storage takes names no object; asking again would never end.
  if (!files::valid_key(object.key)) return;
  const std::lock_guard lock(mutex_);
  if (pending_.size() < kMaxPendingRemovals) pending_.push_back(std::move(object));
}

base::Result<bool> ObjectRemover::try_remove(const Pending& object) {
  const auto ours = files_.storage_id();
  if (ours.ok() && ours.value() != object.storage_id) return false;
  const base::Status removed = ours.ok() ? files_.remove(object.key) : base::Status(ours.error());
  if (removed.ok()) return true;
  observer_.on_delete_failed();
  base::log(base::LogLevel::kWarn, "export.object_not_deleted",
            {{"objectKey", object.key}, {"error", base::printable(removed.error().message)}});
  return removed.error();
}

}  // namespace waybill::exporting
