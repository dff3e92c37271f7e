#include "exporting/prefetched_pages.h"

#include <utility>

namespace waybill::exporting {

PrefetchedPages::PrefetchedPages(PageSource& source, Guard& guard, base::Spawner& spawner,
                                 std::size_t ahead)
    : source_(source), guard_(guard), ahead_(ahead) {
  thread_ = spawner.spawn("export-fetch", [this] { fetch_all(); });
}

PrefetchedPages::~PrefetchedPages() {
  guard_.abandon();
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  thread_.reset();
}

void PrefetchedPages::fetch_all() {
  bool more = true;
  while (more) {
    {
      // The room is waited for before the fetch: a page without a place would be one more in
      // memory.
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || ready_.size() < ahead_; });
      if (closed_) return;
    }
    NextPage page = source_.next();
    more = std::holds_alternative<ProviderPage>(page);
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(std::move(page));
    }
    changed_.notify_all();
  }
}

NextPage PrefetchedPages::next() {
  if (!thread_) return source_.next();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty(); });
  NextPage page = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  return page;
}

}  // namespace waybill::exporting
