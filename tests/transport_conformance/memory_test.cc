// The broker in memory under the conformance suite.

#include "transport/memory/memory_broker.h"

#include "base/clock.h"
#include "base/random.h"
#include "tests/transport_conformance/transport_conformance.h"

namespace waybill::transport {
namespace {

class InMemory final : public BrokerUnderTest {
 public:
  std::unique_ptr<Transport> connect() override { return broker_.connect(); }
  base::Millis boot_ms() override { return clock_.boot_ms(); }

 private:
  base::SystemClock clock_;
  base::SeededRandom random_{1};
  MemoryBroker broker_{clock_, random_};
};

INSTANTIATE_TEST_SUITE_P(Memory, TransportConformance,
                         ::testing::Values(Driver{
                             .name = "Memory",
                             .make_broker = [] { return std::make_unique<InMemory>(); }}),
                         driver_name);

}  // namespace
}  // namespace waybill::transport
