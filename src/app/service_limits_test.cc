#include "app/service_limits.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace waybill::app {
namespace {

// Answers when it is told to; counts how many are inside.
class Held final : public client::HttpClient {
 public:
  base::Result<client::Response> send(const client::Request&) override {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    ++calls_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --inside_;
    return client::Response{};
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_for_calls(int calls) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_ >= calls; });
  }
  int most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int inside_ = 0, most_ = 0, calls_ = 0;
};

client::Request to(const std::string& url) {
  client::Request request;
  request.url = url;
  return request;
}

class ServiceLimits : public testing::Test {
 protected:
  std::unique_ptr<client::HttpClient> limited(double rate, std::int64_t concurrent) {
    auto held = std::make_unique<Held>();
    held_ = held.get();
    return limit_services(std::move(held), {{"http://a:1", rate, concurrent}}, clock_);
  }
  Held* held_ = nullptr;
  base::ManualClock clock_;
};

TEST_F(ServiceLimits, NoLimitIsNoWrapper) {
  const auto client = limited(0, 0);
  EXPECT_EQ(client.get(), held_);
}

TEST_F(ServiceLimits, AtTheSameTime) {
  const auto client = limited(0, 2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] { EXPECT_TRUE(client->send(to("http://a:1/x")).ok()); });
  held_->wait_for_calls(2);
  std::thread elsewhere([&] { EXPECT_TRUE(client->send(to("http://a:10/x")).ok()); });
  held_->wait_for_calls(3);  // another place is not held back
  held_->open();
  for (auto& thread : threads) thread.join();
  elsewhere.join();
  EXPECT_EQ(held_->most(), 3);
}

TEST_F(ServiceLimits, WaitingEndsWhenStopped) {
  const auto client = limited(0, 1);
  std::thread first([&] { EXPECT_TRUE(client->send(to("http://a:1")).ok()); });
  held_->wait_for_calls(1);
  client::Request request = to("http://a:1");
  request.stop = [] { return true; };
  const auto stopped = client->send(request);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().category, base::ErrorCategory::kCancelled);
  held_->open();
  first.join();
}

TEST_F(ServiceLimits, PerSecond) {
  const auto client = limited(2, 0);  // one every 500 ms
  held_->open();
  EXPECT_TRUE(client->send(to("http://a:1")).ok());
  client::Request early = to("http://a:1");
  int asked = 0;
  early.stop = [&asked] { return ++asked > 2; };
  EXPECT_FALSE(client->send(early).ok()) << "the clock stands still, so its turn does not come";
  clock_.advance(500);
  EXPECT_TRUE(client->send(to("http://a:1")).ok());
}

}  // namespace
}  // namespace waybill::app
