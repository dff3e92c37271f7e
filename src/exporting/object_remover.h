// Deletes objects that must not survive: half-written files, results whose commit was refused, what
// the reconciler finds. A deletion that fails is logged, counted and tried again; what a restart
// forgets, the orphan scan finds.

#ifndef WAYBILL_EXPORTING_OBJECT_REMOVER_H_
#define WAYBILL_EXPORTING_OBJECT_REMOVER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "exporting/observer.h"
#include "files/files.h"

namespace waybill::exporting {

inline constexpr std::size_t kMaxPendingRemovals =
    10'000;  // keys; beyond it the orphan scan has to do

// Thread-safe.
class ObjectRemover {
 public:
  // The references must outlive the remover.
  ObjectRemover(files::Files& files, ExportObserver& observer);

  // Deletes the object now. True: gone (an empty key is nothing to do). False: not on our storage;
  // left to who runs there, as "absent" here would prove nothing (09 F26.6). An error: logged,
  // counted and noted for step().
  base::Result<bool> remove(std::string_view storage_id, std::string_view key);

  // Tries the noted ones again, each at most once. Returns how many are still there.
  std::size_t step();

  [[nodiscard]] std::size_t pending() const;

 private:
  struct Pending {
    std::string storage_id;
    std::string key;
  };
  base::Result<bool> try_remove(const Pending& object);
  void keep_for_later(Pending object);

  files::Files& files_;
  ExportObserver& observer_;
  mutable std::mutex mutex_;
  std::deque<Pending> pending_;
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_OBJECT_REMOVER_H_
