#include "core/timing.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace waybill::core {
namespace {

TEST(Timing, SendsNeverGiveUp) {
  const base::Millis expected[] = {5'000, 15'000, 60'000, 300'000, 900'000, 900'000};
  for (std::int32_t n = 1; n <= 6; ++n) EXPECT_EQ(send_backoff_ms(n), expected[n - 1]);
  EXPECT_EQ(send_backoff_ms(std::numeric_limits<std::int32_t>::max()), 900'000);
  EXPECT_EQ(send_backoff_ms(1, {100, 200}), 100);
  EXPECT_EQ(send_backoff_ms(9, {100, 200}), 200);
}

TEST(Timing, ResendsDoubleFiveTimes) {
  EXPECT_EQ(resend_after_ms(600'000, 0), 600'000);
  EXPECT_EQ(resend_after_ms(600'000, 1), 600'000);
  EXPECT_EQ(resend_after_ms(600'000, 2), 1'200'000);
  EXPECT_EQ(resend_after_ms(600'000, 6), 600'000 * 32);
  EXPECT_EQ(resend_after_ms(600'000, 1'000'000), 600'000 * 32);
}

TEST(Timing, AnOwnerStopsBeforeItsLeaseEnds) {
  EXPECT_EQ(lease_margin_ms(300'000), 30'000);
  EXPECT_EQ(lease_margin_ms(600'000), 30'000);
  EXPECT_EQ(lease_margin_ms(2'000), 200);
  EXPECT_EQ(local_stop_at_ms(1'000, 300'000), 1'000 + 270'000);
}

std::string refused(const Timings& timings) {
  const auto status = check_timings(timings);
  return status.ok() ? "" : status.error().field;
}

TEST(Timing, RefusesSettingsThatBreakEachOther) {
  EXPECT_EQ(refused({}), "");
  Timings t;
  t.heartbeat_ms = 100'000;
  EXPECT_EQ(refused(t), "");
  t.heartbeat_ms = 100'001;
  EXPECT_EQ(refused(t), "dispatch.heartbeat_seconds");
  EXPECT_NE(check_timings(t).error().message.find("100.001 s"), std::string::npos);
  t = {};
  t.read_timeout_ms = t.lease_ms - t.connect_timeout_ms - 1;
  EXPECT_EQ(refused(t), "");
  ++t.read_timeout_ms;
  EXPECT_EQ(refused(t), "export.read_timeout_seconds");
  t = {};
  t.send_timeout_ms = 15'000;
  EXPECT_EQ(refused(t), "");
  t.send_timeout_ms = 15'001;
  EXPECT_EQ(refused(t), "publisher.send_timeout_seconds");
  t = {};
  t.stale_ms = t.publisher_lease_ms;
  EXPECT_EQ(refused(t), "reconciler.stale_seconds");
  t = {};
  t.lease_ms = 0;
  EXPECT_EQ(refused(t), "dispatch.lease_seconds");
  t = {};
  t.lease_ms = std::numeric_limits<base::Millis>::max();
  EXPECT_EQ(refused(t), "dispatch.lease_seconds");
  t = {};
  t.shutdown_grace_ms = 0;
  EXPECT_EQ(refused(t), "");
  t.shutdown_grace_ms = -1;
  EXPECT_EQ(refused(t), "shutdown.grace_seconds");
}

}  // namespace
}  // namespace waybill::core
