// The faults of the broker in memory: what a test orders is what happens.

#include "transport/memory/memory_broker.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace waybill::transport {
namespace {

class MemoryBrokerTest : public ::testing::Test {
 protected:
  MemoryBrokerTest() {
    const std::vector<Stream> streams{stream_};
    EXPECT_TRUE(transport_->declare(streams).ok());
  }
  std::size_t send(int count) {
    std::vector<Message> batch;
    for (int i = 0; i < count; ++i) {
      batch.push_back({.stream = stream_,
                       .key = std::to_string(i),
                       .tag = {},
                       .properties = {},
                       .payload = "body"});
    }
    std::size_t confirmed = 0;
    for (const auto& outcome : transport_->send(batch, clock_.boot_ms() + 1'000))
      confirmed += outcome.confirmed ? 1 : 0;
    return confirmed;
  }
  std::vector<Delivery> receive() {
    const auto got = transport_->receive(stream_, 10'000, 0);
    EXPECT_TRUE(got.ok());
    return got.ok() ? *got : std::vector<Delivery>{};
  }

  const Stream stream_{.lane = "export", .level = 2};
  base::ManualClock clock_;
  base::SeededRandom random_{7};
  MemoryBroker broker_{clock_, random_};
  std::unique_ptr<Transport> transport_ = broker_.connect();
};

TEST_F(MemoryBrokerTest, LosesWhatItConfirmed) {
  broker_.set_faults({.lose = 1});
  EXPECT_EQ(send(10), 10u);
  EXPECT_EQ(broker_.waiting(), 0u);
}

TEST_F(MemoryBrokerTest, KeepsWhatItDidNotConfirm) {
  broker_.set_faults({.drop_confirm = 1});
  EXPECT_EQ(send(10), 0u);
  EXPECT_EQ(receive().size(), 10u);
}

TEST_F(MemoryBrokerTest, RefusesAndRepeats) {
  broker_.set_faults({.refuse = 1});
  EXPECT_EQ(send(10), 0u);
  EXPECT_EQ(broker_.waiting(), 0u);
  broker_.set_faults({.repeat = 1});
  EXPECT_EQ(send(10), 10u);
  EXPECT_EQ(receive().size(), 20u);
}

TEST_F(MemoryBrokerTest, DelaysByTheInjectedClockOnly) {
  broker_.set_faults({.delay = 1, .max_delay_ms = 5'000});
  send(20);
  const std::size_t at_once = receive().size();
  EXPECT_LT(at_once, 20u);
  clock_.advance(5'000);
  EXPECT_EQ(at_once + receive().size(), 20u);
}

TEST_F(MemoryBrokerTest, Reorders) {
  broker_.set_faults({.reorder = 1});
  send(50);
  const auto got = receive();
  ASSERT_EQ(got.size(), 50u);
  bool moved = false;
  for (std::size_t i = 0; i < got.size(); ++i)
    moved = moved || got[i].message.key != std::to_string(i);
  EXPECT_TRUE(moved);
}

TEST_F(MemoryBrokerTest, PoisonDamagesTheBodyAlone) {
  broker_.set_faults({.poison = 1});
  send(1);
  const auto got = receive();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_NE(got[0].message.payload, "body");
  EXPECT_EQ(got[0].message.key, "0");
}

TEST_F(MemoryBrokerTest, AwayKeepsItsMessagesAndARestartLosesThem) {
  send(3);
  broker_.set_down(true);
  EXPECT_EQ(send(1), 0u);
  EXPECT_FALSE(transport_->receive(stream_, 1, 0).ok());
  broker_.set_down(false);
  EXPECT_EQ(broker_.waiting(stream_), 3u);
  const auto got = receive();
  broker_.restart_empty();
  EXPECT_EQ(broker_.unsettled(), 0u);
  const std::vector<Token> old{got[0].token};
  EXPECT_TRUE(transport_->settle(old, Settle::kReject).ok());
  EXPECT_EQ(broker_.waiting(), 0u);
}

TEST_F(MemoryBrokerTest, BrokenConnectionsGiveBackInOrder) {
  send(3);
  ASSERT_EQ(receive().size(), 3u);
  broker_.break_connections();
  const auto again = receive();
  ASSERT_EQ(again.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again[i].message.key, std::to_string(i));
    EXPECT_EQ(again[i].redeliveries, 1);
  }
  EXPECT_EQ(broker_.redelivered(), 3);
}

TEST_F(MemoryBrokerTest, OneSeedIsOneStory) {
  const auto story = [] {
    base::ManualClock clock;
    base::SeededRandom random(42);
    MemoryBroker broker(clock, random);
    const auto transport = broker.connect();
    const Stream stream{.lane = "export", .level = 1};
    EXPECT_TRUE(transport->declare(std::vector{stream}).ok());
    broker.set_faults({.lose = 0.2, .drop_confirm = 0.2, .repeat = 0.2, .reorder = 0.5});
    std::vector<Message> batch;
    for (int i = 0; i < 100; ++i) {
      batch.push_back({.stream = stream,
                       .key = std::to_string(i),
                       .tag = {},
                       .properties = {},
                       .payload = "x"});
    }
    std::string text;
    for (const auto& outcome : transport->send(batch, clock.boot_ms() + 1))
      text += outcome.confirmed ? '+' : '-';
    const auto got = transport->receive(stream, 1'000, 0);
    for (const auto& delivery : *got) text += " " + delivery.message.key;
    return text;
  };
  EXPECT_EQ(story(), story());
}

}  // namespace
}  // namespace waybill::transport
