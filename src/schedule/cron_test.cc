// Hand-written cases; schedule_test.py compares with robfig/cron and with a search minute by
// minute.
#include "schedule/cron.h"

#include <gtest/gtest.h>

#include <string>

namespace etcdop::schedule {
namespace {

WallTime at(const char* text) { return *from_rfc3339(text); }

Cron cron(const char* text) { return *to_cron(text); }

TimeZone zone(const char* name) { return *to_time_zone(name); }

/// The next two runs.
std::string next_two(const char* text, const char* in, const char* after) {
  std::string out;
  for (const WallTime run : runs(cron(text), zone(in), {at(after), kForever}, 2))
    out += (out.empty() ? "" : " ") + to_rfc3339(run);
  return out;
}

TEST(Cron, SaysTheSameInManyWays) {
  const struct {
    const char* one;
    const char* other;
  } rows[] = {
      {"0 * * * *", "@hourly"},
      {"0 0 * * *", "@daily"},
      {"@midnight", "@daily"},
      {"0 0 * * sun", "@weekly"},
      {"0 0 1 * *", "@monthly"},
      {"0 0 1 1 *", "@yearly"},
      {"@annually", "@yearly"},
      {"  0  0 * * ?  ", "0 0 ? * *"},
      {"\t0\t3 \t* *\n*\r\n", "0 3 * * *"},
      {"0 0 * JAN,feb-Apr *", "0 0 * 1-4 *"},
      {"0 0 * * Mon-FRI", "0 0 * * 1-5"},
      {"5/20 * * * *", "5,25,45 * * * *"},
      {"5-30/20 * * * *", "5,25 * * * *"},
      {"007 00-00 * * *", "7 0 * * *"},
      {"*/1 * * * *", "* * * * *"},
      {"0 0 *,13 * fri", "0 0 * * fri"},
      {"30/2000000000 * * * *", "30 * * * *"},
  };
  for (const auto& row : rows) EXPECT_EQ(cron(row.one), cron(row.other)) << row.one;
}

TEST(Cron, NamesTheFieldThatIsWrong) {
  const struct {
    const char* text;
    const char* words;
  } rows[] = {
      {"", "\"\" has 0 fields, not 5: minute, hour, day of the month, month, day of the week"},
      {"0 0 0 * * *",
       "\"0 0 0 * * *\" has 6 fields, not 5: minute, hour, day of the month, month, day of the "
       "week"},
      {"60 * * * *", "minute \"60\": 60 is not in 0 to 59"},
      {"0 1,24 * * *", "hour \"1,24\": 24 is not in 0 to 23"},
      {"0 0 0 * *", "day of the month \"0\": 0 is not in 1 to 31"},
      {"0 0 * janu *", "month \"janu\": \"janu\" is no value"},
      {"0 0 * * 7", "day of the week \"7\": 7 is not in 0 to 6"},
      {"0 0 * mon *", "month \"mon\": \"mon\" is no value"},
      {"5-1 * * * *", "minute \"5-1\": \"5-1\" ends before it begins"},
      {"1-2-3 * * * *", "minute \"1-2-3\": \"1-2-3\" has too many hyphens"},
      {"1/2/3 * * * *", "minute \"1/2/3\": \"1/2/3\" has too many slashes"},
      {"*/0 * * * *", "minute \"*/0\": \"0\" is no step"},
      {"*/ * * * *", "minute \"*/\": \"\" is no step"},
      {"*-5 * * * *", "minute \"*-5\": \"*\" is no value"},
      {"1,,2 * * * *", "minute \"1,,2\": \"\" is no value"},
      {"+1 * * * *", "minute \"+1\": \"+1\" is no value"},
      {"99999999999 * * * *", "minute \"99999999999\": \"99999999999\" is no value"},
      {"0 0 30 2 *", "day of the month \"30\": no month of \"2\" has it: it would never run"},
      {"0 0 31 2,4,jun ?",
       "day of the month \"31\": no month of \"2,4,jun\" has it: it would never run"},
      {"@every 1h",
       "\"@every 1h\" is none of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, "
       "@annually"},
      {"TZ=UTC 0 0 * * *", "the time zone is not part of a schedule: it has its own field"},
      {"CRON_TZ=UTC @daily", "the time zone is not part of a schedule: it has its own field"},
  };
  for (const auto& row : rows) {
    auto read = to_cron(row.text);
    ASSERT_TRUE(read.failed_with(Code::Invalid)) << row.text;
    EXPECT_EQ(read.error().message, row.words);
  }
}

TEST(Cron, NeedNotRunOften) {
  for (const char* text : {"0 0 29 2 *", "0 0 31 2-3 *", "0 0 30,31 2,4 *", "0 0 31 2 mon"})
    EXPECT_TRUE(to_cron(text)) << text;
}

TEST(Cron, RunsNext) {
  const struct {
    const char* text;
    const char* zone;
    const char* after;
    const char* next;
    const char* because;
  } rows[] = {
      {"* * * * *", "UTC", "2026-11-23T12:00:00Z", "2026-11-23T12:01:00Z 2026-11-23T12:02:00Z",
       "later than, not at"},
      {"* * * * *", "UTC", "2026-11-23T11:59:59Z", "2026-11-23T12:00:00Z 2026-11-23T12:01:00Z",
       "at whole minutes"},
      {"0 3 * * *", "Europe/Berlin", "2026-11-23T12:00:00Z",
       "2026-11-24T02:00:00Z 2026-11-25T02:00:00Z", "by the clocks there"},
      {"0 0 1 1 *", "Asia/Tokyo", "2026-11-23T12:00:00Z",
       "2026-12-31T15:00:00Z 2027-12-31T15:00:00Z", "a year begins earlier there"},
      {"0 0 13 * fri", "UTC", "2026-11-01T00:00:00Z", "2026-11-06T00:00:00Z 2026-11-13T00:00:00Z",
       "both restrict: either will do"},
      {"0 0 13 * *", "UTC", "2026-11-01T00:00:00Z", "2026-11-13T00:00:00Z 2026-12-13T00:00:00Z",
       "any weekday"},
      {"0 0 ? * fri", "UTC", "2026-11-08T00:00:00Z", "2026-11-13T00:00:00Z 2026-11-20T00:00:00Z",
       "any day of the month"},
      {"0 0 */10 * fri", "UTC", "2026-11-07T00:00:00Z", "2026-11-11T00:00:00Z 2026-11-13T00:00:00Z",
       "a star with a step restricts"},
      {"0 0 29 2 *", "UTC", "2026-11-23T12:00:00Z", "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z",
       "leap years"},
      {"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z 2108-02-29T00:00:00Z",
       "2100 is none"},
      {"30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z",
       "2027-03-29T00:30:00Z 2027-03-30T00:30:00Z", "it is never half past two on the 28th"},
      {"30 2 * * *", "Europe/Berlin", "2027-10-30T12:00:00Z",
       "2027-10-31T00:30:00Z 2027-10-31T01:30:00Z", "it is half past two twice on the 31st"},
      {"0 * * * *", "Europe/Berlin", "2027-10-31T00:00:00Z",
       "2027-10-31T01:00:00Z 2027-10-31T02:00:00Z", "each hour, whatever it is called"},
      {"0 * * * *", "Europe/Berlin", "2027-03-28T00:00:00Z",
       "2027-03-28T01:00:00Z 2027-03-28T02:00:00Z", "no hour is left out"},
      {"@daily", "America/Havana", "2028-03-11T12:00:00Z",
       "2028-03-13T04:00:00Z 2028-03-14T04:00:00Z", "there is no midnight on the 12th"},
      {"0 1 12 3 *", "America/Havana", "2028-03-11T12:00:00Z",
       "2028-03-12T05:00:00Z 2029-03-12T05:00:00Z", "but there is one o'clock"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(next_two(row.text, row.zone, row.after), row.next) << row.text << row.because;
}

TEST(Cron, RunsInAWindow) {
  const TimeZone utc = zone("UTC");
  const WallTime noon = at("2026-11-23T12:00:00Z"), one = at("2026-11-23T13:00:00Z");
  const std::vector<WallTime> quarters = {at("2026-11-23T12:15:00Z"), at("2026-11-23T12:30:00Z"),
                                          at("2026-11-23T12:45:00Z"), one};
  const Cron quarterly = cron("*/15 * * * *");
  EXPECT_EQ(runs(quarterly, utc, {noon, one}, 100), quarters);
  EXPECT_EQ(runs(quarterly, utc, {noon, one}, 2),
            std::vector(quarters.begin(), quarters.begin() + 2));
  EXPECT_EQ(runs(quarterly, utc, {noon, one}, 0), std::vector<WallTime>());
  EXPECT_EQ(runs(quarterly, utc, {one, noon}, 100), std::vector<WallTime>());
}

TEST(Cron, HasANewestRun) {
  const TimeZone utc = zone("UTC");
  const WallTime noon = at("2026-11-23T12:00:00Z");
  const struct {
    const char* text;
    const char* after;
    std::optional<WallTime> newest;
    const char* because;
  } rows[] = {
      {"* * * * *", "2026-11-23T11:59:59Z", noon, "the end belongs to it"},
      {"* * * * *", "2026-11-23T12:00:00Z", std::nullopt, "the beginning does not"},
      {"* * * * *", "2026-11-24T12:00:00Z", std::nullopt, "it has no time at all"},
      {"* * * * *", "1970-01-01T00:00:00Z", noon, "after 30 million others"},
      {"@yearly", "2000-01-01T00:00:00Z", at("2026-01-01T00:00:00Z"), "months ago"},
      {"* * 29 2 *", "2001-01-01T00:00:00Z", at("2024-02-29T23:59:00Z"), "years ago"},
      {"1 12 * * *", "2026-11-22T12:01:00Z", std::nullopt, "it was yesterday, and comes again"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(newest_run(cron(row.text), utc, {at(row.after), noon}), row.newest) << row.because;
}

}  // namespace
}  // namespace etcdop::schedule
