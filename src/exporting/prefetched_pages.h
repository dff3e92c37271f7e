// Fetches page n+1 while page n is formatted and stored: a thread of its own in front of another
// source, with a bounded hand-over.

#ifndef WAYBILL_EXPORTING_PREFETCHED_PAGES_H_
#define WAYBILL_EXPORTING_PREFETCHED_PAGES_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "base/spawner.h"
#include "exporting/guard.h"
#include "exporting/page_source.h"

namespace waybill::exporting {

// Pages alive at any moment: `ahead` fetched or on their way, and one with the caller. next() is
// for one thread.
class PrefetchedPages final : public PageSource {
 public:
  // `source` and `guard` must outlive this. Where no thread can be had, pages are fetched when they
  // are asked for.
  PrefetchedPages(PageSource& source, Guard& guard, base::Spawner& spawner, std::size_t ahead);
  // Abandons the guard, so that a request on its way ends, and waits for the thread.
  ~PrefetchedPages() override;

  NextPage next() override;

 private:
  void fetch_all();

  PageSource& source_;
  Guard& guard_;
  const std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<NextPage> ready_;
  bool closed_ = false;
  std::unique_ptr<base::Spawned> thread_;  // last: it uses everything above
};

}  // namespace waybill::exporting

#endif  // WAYBILL_EXPORTING_PREFETCHED_PAGES_H_
