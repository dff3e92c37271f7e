// What every driver of the transport seam (transport/transport.h) must do. A driver instantiates
// the suite:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, TransportConformance, ::testing::Values(driver), driver_name);
//
// and compiles transport_conformance.cc into its test program.

#ifndef WAYBILL_TESTS_TRANSPORT_CONFORMANCE_TRANSPORT_CONFORMANCE_H_
#define WAYBILL_TESTS_TRANSPORT_CONFORMANCE_TRANSPORT_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace waybill::transport {

// One broker for one test: streams and messages of other tests are not seen (a prefix of its own,
// say).
class BrokerUnderTest {
 public:
  virtual ~BrokerUnderTest() = default;
  // Another connection, as another process would have it. Never null.
  virtual std::unique_ptr<Transport> connect() = 0;
  // The clock that deadlines are measured with.
  virtual base::Millis boot_ms() = 0;
};

struct Driver {
  std::string name;  // letters and digits
  std::function<std::unique_ptr<BrokerUnderTest>()> make_broker;
  // Known deviations, with the well-behaved value as default.
  bool keeps_order = true;            // one stream, one receiver, nothing rejected
  base::Millis patience_ms = 10'000;  // how long a message may take from send to receive
  base::Millis quiet_ms = 500;        // nothing within this time counts as "nothing comes"
};

class TransportConformance : public ::testing::TestWithParam<Driver> {
 protected:
  TransportConformance();

  [[nodiscard]] Message message(const std::string& key, int level = 2) const;
  // All must be confirmed.
  void send(const std::vector<Message>& messages);
  // Exactly `count` deliveries within the driver's patience, or fewer when they do not come.
  std::vector<Delivery> receive(Transport& from, std::size_t count, int level = 2);
  std::vector<Delivery> dead_letters(std::size_t count);
  // What arrives although nothing should.
  std::size_t arrivals(Transport& from, int level = 2);
  void ack(Transport& on, const std::vector<Delivery>& deliveries);
  void reject(Transport& on, const std::vector<Delivery>& deliveries);
  [[nodiscard]] Stream stream(int level = 2) const {
    return {.lane = "conformance", .level = level};
  }
  base::Millis deadline() { return broker_->boot_ms() + GetParam().patience_ms; }

  std::unique_ptr<BrokerUnderTest> broker_;
  std::unique_ptr<Transport> transport_;
};

inline std::string driver_name(const ::testing::TestParamInfo<Driver>& driver) {
  return driver.param.name;
}

}  // namespace waybill::transport

#endif  // WAYBILL_TESTS_TRANSPORT_CONFORMANCE_TRANSPORT_CONFORMANCE_H_
