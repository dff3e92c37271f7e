#include "exporting/prefetched_pages.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>

namespace waybill::exporting {
namespace {

// Counts the pages that exist: fetched or being fetched, and not yet given back by the consumer.
class CountedSource final : public PageSource {
 public:
  explicit CountedSource(int pages) : pages_(pages) {}
  NextPage next() override {
    const int alive = ++alive_;
    int most = most_alive_.load();
    while (alive > most && !most_alive_.compare_exchange_weak(most, alive)) {
    }
    if (on_next) on_next();
    if (given_ == pages_) {
      --alive_;
      if (fail_at_end) return transient(core::FailureClass::kSystem, "broken.");
      return EndOfPages{};
    }
    ProviderPage page;
    page.rows = ++given_;
    return page;
  }
  void consumed() { --alive_; }
  [[nodiscard]] int most_alive() const { return most_alive_; }
  std::function<void()> on_next;
  bool fail_at_end = false;

 private:
  const int pages_;
  int given_ = 0;
  std::atomic<int> alive_{0};
  std::atomic<int> most_alive_{0};
};

class NoThreads final : public base::Spawner {
 public:
  std::unique_ptr<base::Spawned> spawn(const std::string&, std::function<void()>) override {
    return nullptr;
  }
};

class PrefetchedPagesTest : public ::testing::Test {
 protected:
  base::ManualClock clock_;
  std::shared_ptr<dispatch::StopFlag> stop_ = std::make_shared<dispatch::StopFlag>();
  Guard guard_{stop_, clock_, 0};
  base::ThreadSpawner threads_;
};

int drain(PageSource& pages, CountedSource& source) {
  int seen = 0;
  while (true) {
    NextPage next = pages.next();
    auto* page = std::get_if<ProviderPage>(&next);
    if (page == nullptr) return seen;
    EXPECT_EQ(page->rows, ++seen) << "in order";
    source.consumed();
  }
}

TEST_F(PrefetchedPagesTest, MemoryIsBoundedByTheHandOver) {
  for (const std::size_t ahead : {1u, 3u}) {
    CountedSource source(2'000);
    PrefetchedPages pages(source, guard_, threads_, ahead);
    EXPECT_EQ(drain(pages, source), 2'000);
    EXPECT_LE(source.most_alive(), static_cast<int>(ahead) + 1);
  }
}

TEST_F(PrefetchedPagesTest, TheNextPageIsFetchedWhileOneIsWorkedOn) {
  CountedSource source(3);
  std::promise<void> second_asked;
  std::atomic<int> calls{0};
  source.on_next = [&] {
    if (++calls == 2) second_asked.set_value();
  };
  PrefetchedPages pages(source, guard_, threads_, 1);
  const NextPage first = pages.next();
  ASSERT_TRUE(std::holds_alternative<ProviderPage>(first));
  second_asked.get_future().wait();  // never comes when fetching waits for the consumer
}

TEST_F(PrefetchedPagesTest, FailuresArriveAfterThePagesBefore) {
  CountedSource source(5);
  source.fail_at_end = true;
  PrefetchedPages pages(source, guard_, threads_, 2);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(std::holds_alternative<ProviderPage>(pages.next()));
    source.consumed();
  }
  const NextPage last = pages.next();
  EXPECT_TRUE(std::holds_alternative<Failure>(last));
}

TEST_F(PrefetchedPagesTest, LeavingEndsARequestOnItsWay) {
  CountedSource source(1'000);
  std::promise<void> begun;
  source.on_next = [&, once = true]() mutable {
    if (!once) return;
    once = false;
    begun.set_value();
    // Like a slow transfer that asks its stop function.
    while (!guard_.must_stop()) std::this_thread::yield();
  };
  {
    PrefetchedPages pages(source, guard_, threads_, 1);
    begun.get_future().wait();
  }
  EXPECT_TRUE(guard_.must_stop());
  EXPECT_EQ(guard_.reason(), dispatch::StopReason::kNone)
      << "abandoning is no reason to tell anybody";
}

TEST_F(PrefetchedPagesTest, WithoutThreadsPagesComeWhenAskedFor) {
  CountedSource source(10);
  NoThreads none;
  PrefetchedPages pages(source, guard_, none, 1);
  EXPECT_EQ(drain(pages, source), 10);
  EXPECT_EQ(source.most_alive(), 1);
}

}  // namespace
}  // namespace waybill::exporting
