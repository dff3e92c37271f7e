#include "tests/transport_conformance/transport_conformance.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "base/spawner.h"

namespace waybill::transport {
namespace {

constexpr base::Millis kStepMs = 100;  // one receive() of the helpers waits this long

std::set<std::string> keys(const std::vector<Delivery>& deliveries) {
  std::set<std::string> all;
  for (const Delivery& delivery : deliveries) all.insert(delivery.message.key);
  return all;
}

std::vector<Token> tokens(const std::vector<Delivery>& deliveries) {
  std::vector<Token> all;
  for (const Delivery& delivery : deliveries) all.push_back(delivery.token);
  return all;
}

}  // namespace

TransportConformance::TransportConformance()
    : broker_(GetParam().make_broker()), transport_(broker_->connect()) {
  std::vector<Stream> streams;
  for (int level = 0; level < 4; ++level) streams.push_back(stream(level));
  const base::Status declared = transport_->declare(streams);
  EXPECT_TRUE(declared.ok()) << (declared.ok() ? "" : declared.error().message);
}

Message TransportConformance::message(const std::string& key, int level) const {
  Message m;
  m.stream = stream(level);
  m.key = key;
  m.tag = "EXPORT_TASK";
  m.properties = {{"eventId", "event-" + key},
                  {"taskId", key},
                  {"dispatchVersion", "1"},
                  {"schemaVersion", "1"}};
  m.payload = "{\"taskId\":\"" + key + "\",\"text\":\"\xE5\x8D\x95\"}";
  return m;
}

void TransportConformance::send(const std::vector<Message>& messages) {
  const auto outcomes = transport_->send(messages, deadline());
  ASSERT_EQ(outcomes.size(), messages.size());
  for (const SendOutcome& outcome : outcomes) ASSERT_TRUE(outcome.confirmed) << outcome.error;
}

std::vector<Delivery> TransportConformance::receive(Transport& from, std::size_t count, int level) {
  std::vector<Delivery> all;
  for (base::Millis waited = 0; all.size() < count && waited < GetParam().patience_ms;
       waited += kStepMs) {
    auto some = from.receive(stream(level), count - all.size(), kStepMs);
    EXPECT_TRUE(some.ok());
    if (!some.ok()) break;
    EXPECT_LE(some->size(), count - all.size()) << "more than the credit";
    std::move(some->begin(), some->end(), std::back_inserter(all));
  }
  return all;
}

std::vector<Delivery> TransportConformance::dead_letters(std::size_t count) {
  std::vector<Delivery> all;
  for (base::Millis waited = 0; all.size() < count && waited < GetParam().patience_ms;
       waited += kStepMs) {
    auto some = transport_->dead_letters(count - all.size(), kStepMs);
    EXPECT_TRUE(some.ok());
    if (!some.ok()) break;
    std::move(some->begin(), some->end(), std::back_inserter(all));
  }
  return all;
}

std::size_t TransportConformance::arrivals(Transport& from, int level) {
  std::size_t n = 0;
  for (base::Millis waited = 0; waited < GetParam().quiet_ms; waited += kStepMs) {
    const auto some = from.receive(stream(level), 100, kStepMs);
    EXPECT_TRUE(some.ok());
    if (some.ok()) n += some->size();
  }
  return n;
}

void TransportConformance::ack(Transport& on, const std::vector<Delivery>& deliveries) {
  EXPECT_TRUE(on.settle(tokens(deliveries), Settle::kAck).ok());
}

void TransportConformance::reject(Transport& on, const std::vector<Delivery>& deliveries) {
  EXPECT_TRUE(on.settle(tokens(deliveries), Settle::kReject).ok());
}

TEST_P(TransportConformance, DeliversWhatWasSentUnchanged) {
  const Message sent = message("1001");
  send({sent});
  const auto got = receive(*transport_, 1);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].message.stream, sent.stream);
  EXPECT_EQ(got[0].message.key, sent.key);
  EXPECT_EQ(got[0].message.payload, sent.payload);
  for (const auto& [name, value] : sent.properties) {
    ASSERT_TRUE(got[0].message.properties.contains(name)) << name;
    EXPECT_EQ(got[0].message.properties.at(name), value);
  }
  EXPECT_FALSE(got[0].broker_message_id.empty());
  EXPECT_EQ(got[0].redeliveries, 0);
  ack(*transport_, got);
  EXPECT_EQ(arrivals(*transport_), 0u);
}

TEST_P(TransportConformance, SendsNothingOfNothing) {
  EXPECT_TRUE(transport_->send({}, deadline()).empty());
  EXPECT_TRUE(transport_->settle({}, Settle::kAck).ok());
}

TEST_P(TransportConformance, DeclareIsIdempotent) {
  const std::vector<Stream> streams{stream(0), stream(2)};
  EXPECT_TRUE(transport_->declare(streams).ok());
  EXPECT_TRUE(transport_->declare(streams).ok());
}

TEST_P(TransportConformance, ConfirmsEachMessageOfABatch) {
  std::vector<Message> batch;
  for (int i = 0; i < 200; ++i) batch.push_back(message(std::to_string(2000 + i)));
  send(batch);
  const auto got = receive(*transport_, batch.size());
  EXPECT_EQ(keys(got).size(), batch.size());
  if (GetParam().keeps_order) {
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].message.key, batch[i].key);
  }
  ack(*transport_, got);
}

TEST_P(TransportConformance, NeverGivesMoreThanTheCredit) {
  std::vector<Message> batch;
  for (int i = 0; i < 20; ++i) batch.push_back(message(std::to_string(3000 + i)));
  send(batch);
  const auto first = receive(*transport_, 3);
  EXPECT_EQ(first.size(), 3u);
  const auto none = transport_->receive(stream(), 0, 0);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
  // The rest is not lost by having been left.
  const auto rest = receive(*transport_, 17);
  EXPECT_EQ(rest.size(), 17u);
  auto all = keys(first);
  all.merge(keys(rest));
  EXPECT_EQ(all.size(), 20u);
}

TEST_P(TransportConformance, LevelsAreSeparateStreams) {
  send({message("30", 3), message("00", 0)});
  const auto urgent = receive(*transport_, 1, 0);
  ASSERT_EQ(urgent.size(), 1u);
  EXPECT_EQ(urgent[0].message.key, "00");
  const auto archive = receive(*transport_, 1, 3);
  ASSERT_EQ(archive.size(), 1u);
  EXPECT_EQ(archive[0].message.key, "30");
}

TEST_P(TransportConformance, OneOfTwoReceiversGetsAMessage) {
  const auto other = broker_->connect();
  send({message("40")});
  std::size_t n = 0;
  for (base::Millis waited = 0; n == 0 && waited < GetParam().patience_ms; waited += kStepMs) {
    for (Transport* t : {transport_.get(), other.get()}) {
      const auto some = t->receive(stream(), 10, kStepMs / 2);
      ASSERT_TRUE(some.ok());
      n += some->size();
    }
  }
  EXPECT_EQ(n, 1u);
  EXPECT_EQ(arrivals(*other), 0u);
}

TEST_P(TransportConformance, NoAnswerIsLegal) {
  send({message("50"), message("51")});
  const auto held = receive(*transport_, 1);
  ASSERT_EQ(held.size(), 1u);
  // Others pass while this one has no answer, and it does not come again on a living connection.
  const auto next = receive(*transport_, 1);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_NE(next[0].message.key, held[0].message.key);
  ack(*transport_, next);
  EXPECT_EQ(arrivals(*transport_), 0u);
  ack(*transport_, held);
}

TEST_P(TransportConformance, UnsettledMessagesComeAgainAfterClose) {
  send({message("60"), message("61"), message("62")});
  const auto first = receive(*transport_, 3);
  ASSERT_EQ(first.size(), 3u);
  ack(*transport_, {first[0]});
  transport_->close();
  const auto other = broker_->connect();
  const auto again = receive(*other, 2);
  EXPECT_EQ(keys(again), (std::set{first[1].message.key, first[2].message.key}));
  for (const Delivery& delivery : again) EXPECT_GE(delivery.redeliveries, 1);
}

TEST_P(TransportConformance, AClosedTransportSendsAndReceivesNothing) {
  transport_->close();
  transport_->close();
  const std::vector<Message> one{message("70")};
  const auto outcomes = transport_->send(one, deadline());
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_FALSE(outcomes[0].confirmed);
  EXPECT_FALSE(outcomes[0].error.empty());
  EXPECT_FALSE(transport_->receive(stream(), 1, 0).ok());
}

TEST_P(TransportConformance, HoldStopsAndResumeContinues) {
  transport_->hold(stream());
  send({message("80"), message("81", 1)});
  EXPECT_EQ(arrivals(*transport_), 0u);
  EXPECT_EQ(receive(*transport_, 1, 1).size(), 1u) << "another stream is not on hold";
  transport_->resume(stream());
  EXPECT_EQ(receive(*transport_, 1).size(), 1u);
}

TEST_P(TransportConformance, TwoRedeliveriesThenADeadLetter) {
  const Message sent = message("90");
  send({sent});
  for (int delivery = 0; delivery <= 2; ++delivery) {
    const auto got = receive(*transport_, 1);
    ASSERT_EQ(got.size(), 1u) << "delivery " << delivery;
    EXPECT_EQ(got[0].redeliveries, delivery);
    reject(*transport_, got);
  }
  EXPECT_EQ(arrivals(*transport_), 0u);
  const auto dead = dead_letters(1);
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0].message.properties.at("taskId"), "90");
  EXPECT_EQ(dead[0].message.properties.at("eventId"), "event-90");
  EXPECT_FALSE(dead[0].broker_message_id.empty());
  ack(*transport_, dead);
  const auto none = transport_->dead_letters(10, GetParam().quiet_ms);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

TEST_P(TransportConformance, ARejectedMessageHoldsNoOtherBack) {
  send({message("95"), message("96")});
  auto got = receive(*transport_, 2);
  ASSERT_EQ(got.size(), 2u);
  const bool first_is_poison = got[0].message.key == "95";
  const Delivery poison = got[first_is_poison ? 0 : 1];
  const Delivery good = got[first_is_poison ? 1 : 0];
  reject(*transport_, {poison});
  ack(*transport_, {good});
  const auto again = receive(*transport_, 1);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].message.key, "95");
}

TEST_P(TransportConformance, SettlingTwiceOrNonsenseIsHarmless) {
  send({message("97")});
  const auto got = receive(*transport_, 1);
  ASSERT_EQ(got.size(), 1u);
  ack(*transport_, got);
  ack(*transport_, got);
  reject(*transport_, got);
  const std::vector<Token> nonsense{0, 999'999'999};
  EXPECT_TRUE(transport_->settle(nonsense, Settle::kAck).ok());
  EXPECT_EQ(arrivals(*transport_), 0u);
}

TEST_P(TransportConformance, OversizeIsRefusedAndTheRestPasses) {
  Message large = message("98");
  large.payload.assign(kMaxPayloadBytes + 1, 'x');
  Message largest = message("99");
  largest.payload.assign(kMaxPayloadBytes, 'y');
  const std::vector<Message> batch{large, largest, message("100")};
  const auto outcomes = transport_->send(batch, deadline());
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_FALSE(outcomes[0].confirmed);
  EXPECT_FALSE(outcomes[0].error.empty());
  EXPECT_TRUE(outcomes[1].confirmed) << outcomes[1].error;
  EXPECT_TRUE(outcomes[2].confirmed) << outcomes[2].error;
  const auto got = receive(*transport_, 2);
  EXPECT_EQ(keys(got), (std::set<std::string>{"99", "100"}));
}

TEST_P(TransportConformance, AnUnknownStreamIsAnError) {
  const Stream nowhere{.lane = "nowhere", .level = 2};
  Message lost = message("101");
  lost.stream = nowhere;
  const std::vector<Message> batch{lost, message("102")};
  const auto outcomes = transport_->send(batch, deadline());
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_FALSE(outcomes[0].confirmed);
  EXPECT_FALSE(outcomes[0].error.empty());
  EXPECT_TRUE(outcomes[1].confirmed) << outcomes[1].error;
  EXPECT_FALSE(transport_->receive(nowhere, 1, 0).ok());
}

TEST_P(TransportConformance, ADeadlineInThePastConfirmsNothing) {
  const std::vector<Message> one{message("103")};
  const auto outcomes = transport_->send(one, broker_->boot_ms() - 1);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_FALSE(outcomes[0].confirmed);
}

TEST_P(TransportConformance, IsHealthyAndSaysWhenItIsNot) {
  EXPECT_TRUE(transport_->health().ok) << transport_->health().problem;
  transport_->close();
  EXPECT_FALSE(transport_->health().ok);
  EXPECT_FALSE(transport_->health().problem.empty());
}

TEST_P(TransportConformance, MayBeUsedFromManyThreads) {
  constexpr int kSenders = 4;
  constexpr int kEach = 100;
  std::mutex mutex;
  std::multiset<std::string> received;
  std::atomic<int> senders_left{kSenders};
  base::ThreadSpawner spawner;
  std::vector<std::unique_ptr<base::Spawned>> threads;
  for (int s = 0; s < kSenders; ++s) {
    threads.push_back(spawner.spawn("sender", [&, s] {
      for (int i = 0; i < kEach; ++i) {
        const std::vector<Message> one{message(std::to_string(s * 1000 + i), i % 4)};
        const auto outcomes = transport_->send(one, deadline());
        EXPECT_TRUE(outcomes.size() == 1 && outcomes[0].confirmed);
      }
      --senders_left;
    }));
  }
  const auto done = [&] {
    const std::lock_guard lock(mutex);
    return senders_left == 0 && received.size() >= kSenders * kEach;
  };
  for (int level = 0; level < 4; ++level) {
    threads.push_back(spawner.spawn("receiver", [&, level] {
      const base::Millis until = broker_->boot_ms() + 3 * GetParam().patience_ms;
      while (!done() && broker_->boot_ms() < until) {
        const auto some = transport_->receive(stream(level), 7, kStepMs);
        if (!some.ok()) continue;
        EXPECT_TRUE(transport_->settle(tokens(*some), Settle::kAck).ok());
        const std::lock_guard lock(mutex);
        for (const Delivery& delivery : *some) received.insert(delivery.message.key);
      }
    }));
  }
  threads.clear();
  EXPECT_EQ(std::set<std::string>(received.begin(), received.end()).size(),
            std::size_t{kSenders * kEach});
}

}  // namespace waybill::transport
