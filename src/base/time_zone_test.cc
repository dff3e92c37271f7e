#include "base/time_zone.h"

#include <gtest/gtest.h>

namespace waybill::base {
namespace {

TEST(TimeZoneTest, WritesLocalTimeWithOffset) {
  const TimeZone shanghai = TimeZone::find("Asia/Shanghai").value();
  EXPECT_EQ(shanghai.iso(1796019839123), "2026-11-30T14:23:59.123+08:00");
  EXPECT_EQ(TimeZone().iso(0), "1970-01-01T00:00:00.000+00:00");
  EXPECT_EQ(shanghai.clock_time(1796019839123), "14:23:59");
}

TEST(TimeZoneTest, KnowsDaylightSavingAndOddOffsets) {
  const TimeZone york = TimeZone::find("America/New_York").value();
  EXPECT_EQ(york.offset_seconds(1'783'000'000'000), -4 * 3600);  // July 2026
  EXPECT_EQ(york.offset_seconds(1'796'019'839'000), -5 * 3600);  // November 2026
  EXPECT_EQ(TimeZone::find("Pacific/Chatham").value().iso(1'796'019'839'000).substr(23), "+13:45");
}

TEST(ZoneRule, Texts) {
  const auto at = [](const char* rule, const char* utc) {
    return ZoneRule::parse(rule).value().offset_seconds(parse_iso(utc).value() / 1'000);
  };
  // An hour before the last Sunday of March; two days and two hours after the fourth Thursday.
  EXPECT_EQ(at("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2040-03-25T00:59:59Z"), -7'200);
  EXPECT_EQ(at("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2040-03-25T01:00:00Z"), -3'600);
  EXPECT_EQ(at("EET-2EEST,M3.4.4/50,M10.4.4/50", "2040-03-23T23:59:59Z"), 7'200);
  EXPECT_EQ(at("EET-2EEST,M3.4.4/50,M10.4.4/50", "2040-03-24T00:00:00Z"), 10'800);
  // Days by number, with and without 29 February; the summer that never ends.
  EXPECT_EQ(at("AAA-1BBB,J60/0,J300/0", "2040-02-29T22:59:59Z"), 3'600);
  EXPECT_EQ(at("AAA-1BBB,J60/0,J300/0", "2040-02-29T23:00:00Z"), 7'200);
  EXPECT_EQ(at("AAA-1BBB,59/0,300/0", "2040-02-28T23:00:00Z"), 7'200);
  EXPECT_EQ(at("XXX3EDT4,0/0,J365/23", "2040-12-31T23:59:59Z"), -14'400);
  EXPECT_EQ(at("XXX3EDT4,0/0,J365/23", "2041-01-01T03:00:00Z"), -14'400);
  EXPECT_EQ(at("<+0545>-5:45", "2040-07-01T00:00:00Z"), 20'700);
  for (const char* wrong :
       {"", "CET", "CE-1", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J5",
        "CET-1CEST,366,5", "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0x", "<+1-1",
        "CET-1:60"}) {
    EXPECT_FALSE(ZoneRule::parse(wrong)) << wrong;
  }
}

// D85: what is stored is an instant, so nothing happens twice or never when the clocks change:
// every quarter of an hour of a year has a text of its own, which says the same instant.
// The tables of the zone database end in 2037; a rule says what holds afterwards.
TEST(TimeZoneTest, DaylightSavingGoesOnBehindTheEndOfTheTable) {
  const auto offset = [](const char* zone, const char* utc) {
    return TimeZone::find(zone).value().offset_seconds(parse_iso(utc).value());
  };
  for (const char* year : {"2036", "2037", "2038", "2050", "2400", "9998"}) {
    const std::string summer = std::string(year) + "-07-15T12:00:00Z";
    const std::string winter = std::string(year) + "-01-15T12:00:00Z";
    EXPECT_EQ(offset("Europe/Berlin", summer.c_str()), 7'200) << year;
    EXPECT_EQ(offset("Europe/Berlin", winter.c_str()), 3'600) << year;
    EXPECT_EQ(offset("America/New_York", summer.c_str()), -14'400) << year;
    EXPECT_EQ(offset("America/New_York", winter.c_str()), -18'000) << year;
    EXPECT_EQ(offset("Australia/Lord_Howe", summer.c_str()), 37'800) << year;
    EXPECT_EQ(offset("Australia/Lord_Howe", winter.c_str()), 39'600) << year;
    EXPECT_EQ(offset("Europe/Dublin", summer.c_str()), 3'600) << year;
    EXPECT_EQ(offset("Europe/Dublin", winter.c_str()), 0) << year;
    EXPECT_EQ(offset("Asia/Shanghai", summer.c_str()), 28'800) << year;
  }
  // 28 March 2038, 01:00 UTC.
  EXPECT_EQ(offset("Europe/Berlin", "2038-03-28T00:59:59Z"), 3'600);
  EXPECT_EQ(offset("Europe/Berlin", "2038-03-28T01:00:00Z"), 7'200);
}

TEST(TimeZoneTest, EveryInstantSurvivesBothChangesOfTheClock) {
  constexpr Millis kQuarter = 900'000;
  const Millis first = parse_iso("2026-01-01T00:00:00Z").value();
  const Millis end = parse_iso("2027-01-02T00:00:00Z").value();
  for (const char* name : {"America/New_York", "Australia/Lord_Howe", "Pacific/Chatham"}) {
    const TimeZone zone = TimeZone::find(name).value();
    int changes = 0;
    for (Millis at = first; at < end; at += kQuarter) {
      ASSERT_EQ(parse_iso(zone.iso(at)).value(), at) << zone.iso(at);
      changes += zone.offset_seconds(at) != zone.offset_seconds(at - kQuarter) ? 1 : 0;
    }
    EXPECT_EQ(changes, 2) << name;
  }
  const TimeZone york = TimeZone::find("America/New_York").value();
  const Millis back = parse_iso("2026-11-01T06:00:00Z").value();
  EXPECT_EQ(york.iso(back - 1), "2026-11-01T01:59:59.999-04:00");
  EXPECT_EQ(york.iso(back), "2026-11-01T01:00:00.000-05:00");
  const Millis forth = parse_iso("2026-03-08T07:00:00Z").value();
  EXPECT_EQ(york.iso(forth - 1), "2026-03-08T01:59:59.999-05:00");
  EXPECT_EQ(york.iso(forth), "2026-03-08T03:00:00.000-04:00");
  const TimeZone chatham = TimeZone::find("Pacific/Chatham").value();
  EXPECT_EQ(chatham.iso(parse_iso("2026-12-31T10:15:00Z").value()),
            "2027-01-01T00:00:00.000+13:45");
}

TEST(TimeZoneTest, RefusesUnknownNames) {
  const auto zone = TimeZone::find("Mars/Olympus");
  ASSERT_FALSE(zone.ok());
  EXPECT_NE(zone.error().message.find("Mars/Olympus"), std::string::npos);
  EXPECT_TRUE(TimeZone::find("").ok());
}

TEST(ParseIsoTest, ReadsWhatIsoWrites) {
  const TimeZone zone = TimeZone::find("Asia/Kolkata").value();
  for (const Millis ms : {Millis{0}, Millis{1'796'019'839'123}, Millis{-1}}) {
    EXPECT_EQ(parse_iso(zone.iso(ms)).value(), ms);
  }
  EXPECT_EQ(parse_iso("2026-11-30T14:23Z").value(), 1'796'048'580'000);
  EXPECT_EQ(parse_iso("2026-11-30T14:23:59.1239+0800").value(), 1'796'019'839'123);
}

TEST(ParseIsoTest, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2026", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-30T24:00:00Z",
        "2026-11-30T14:23:59", "2026-11-30T14:23:59.Z", "2026-11-30T14:23:59Zx",
        "-026-11-30T14:23:59Z", "2026-11-30T14:23:59+19:00"}) {
    EXPECT_FALSE(parse_iso(text).ok()) << text;
  }
}

}  // namespace
}  // namespace waybill::base
