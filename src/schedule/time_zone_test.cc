// Hand-written cases; schedule_test.py compares all zones with Python's.
#include "schedule/time_zone.h"

#include <gtest/gtest.h>

#include <string>

namespace etcdop::schedule {
namespace {

WallTime at(const char* text) { return *from_rfc3339(text); }

TimeZone zone(const char* name) { return *to_time_zone(name); }

TEST(TimeZone, ShowsWhatClocksShow) {
  const struct {
    const char* zone;
    const char* utc;
    int east_minutes;
    const char* until;
    const char* because;
  } rows[] = {
      {"UTC", "2026-11-23T12:00:00Z", 0, "9999-12-31T23:59:59Z", "it never changes"},
      {"Europe/Berlin", "2027-03-28T00:59:59Z", 60, "2027-03-28T01:00:00Z", "the last of winter"},
      {"Europe/Berlin", "2027-03-28T01:00:00Z", 120, "2027-10-31T01:00:00Z", "summer"},
      {"Europe/Berlin", "2026-12-31T23:30:00Z", 60, "2027-03-28T01:00:00Z", "over New Year"},
      {"America/New_York", "2026-11-01T05:59:59Z", -240, "2026-11-01T06:00:00Z", "still summer"},
      {"America/St_Johns", "2027-01-01T00:00:00Z", -210, "2027-03-14T05:30:00Z", "half an hour"},
      {"Europe/Dublin", "2027-07-01T00:00:00Z", 60, "2027-10-31T01:00:00Z", "winter is the summer"},
      {"Pacific/Chatham", "2027-01-01T00:00:00Z", 825, "2027-04-03T14:00:00Z", "the south"},
      {"Australia/Lord_Howe", "2027-04-03T15:00:00Z", 630, "2027-10-02T15:30:00Z", "by 30 minutes"},
      {"America/Nuuk", "2027-03-28T01:00:00Z", -60, "2027-10-31T01:00:00Z", "on Saturday there"},
      {"Asia/Gaza", "2100-07-01T00:00:00Z", 180, "2100-10-29T23:00:00Z",
       "after all that is listed"},
      {"Asia/Gaza", "2072-10-01T00:00:00Z", 120, "2072-10-22T00:00:00Z", "Ramadan"},
      {"Africa/Casablanca", "2026-03-01T00:00:00Z", 0, "2026-03-22T02:00:00Z", "Ramadan"},
      {"Africa/Casablanca", "2090-01-01T00:00:00Z", 0, "9999-12-31T23:59:59Z", "ended in 2026"},
      {"America/Vancouver", "2026-03-08T09:59:59Z", -480, "2026-03-08T10:00:00Z",
       "its last winter"},
  };
  for (const auto& row : rows) {
    const Offset offset = zone(row.zone).offset_at(at(row.utc));
    EXPECT_EQ(offset.east, std::chrono::minutes(row.east_minutes)) << row.zone << row.because;
    EXPECT_EQ(to_rfc3339(offset.until), row.until) << row.zone << ": " << row.because;
  }
}

TEST(TimeZone, IsKnownByEachOfItsNames) {
  const WallTime then = at("2027-07-01T00:00:00Z");
  EXPECT_EQ(zone("GB").offset_at(then), zone("Europe/London").offset_at(then));
  EXPECT_EQ(zone("Asia/Calcutta").offset_at(then), zone("Asia/Kolkata").offset_at(then));
  EXPECT_EQ(zone("Etc/GMT-14").offset_at(then).east, std::chrono::hours(14));
}

TEST(TimeZone, IsNotKnownByAnythingElse) {
  for (const char* name : {"", " ", "europe/berlin", "Europe", "Europe/Berlin ", "Local", "CEST",
                           "GMT0 UTC", "Africa/Abidjan Africa/Accra"})
    EXPECT_TRUE(to_time_zone(name).failed_with(Code::Invalid)) << name;
  EXPECT_EQ(to_time_zone("Mars/Base").error().message,
            "there is no time zone \"Mars/Base\" in version " + std::string(zone_version()) +
                " of the IANA database");
}

}  // namespace
}  // namespace etcdop::schedule
