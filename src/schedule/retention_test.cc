// Hand-written cases; schedule_test.py compares with the definitions over random lists.
#include "schedule/retention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace etcdop::schedule {
namespace {

using Names = std::vector<std::string>;

WallTime at(const char* text) { return *from_rfc3339(text); }

TimeZone zone(const char* name) { return *to_time_zone(name); }

const WallTime kNow = at("2026-11-23T12:00:00Z");  // A Monday.

StoredSnapshot complete(const char* name, const char* time) {
  return {name, at(time), Proof::Complete};
}
StoredSnapshot verified(const char* name, const char* time) {
  return {name, at(time), Proof::Verified};
}
StoredSnapshot unknown(const char* name, const char* time) {
  return {name, at(time), Proof::Unknown};
}

/// Named by their days.
const std::vector<StoredSnapshot> kNovember = {
    complete("23b", "2026-11-23T11:00:00Z"), complete("23a", "2026-11-23T03:00:00Z"),
    complete("22", "2026-11-22T23:30:00Z"),  complete("21", "2026-11-21T03:00:00Z"),
    complete("15", "2026-11-15T03:00:00Z"),  complete("oct", "2026-10-31T23:30:00Z"),
    complete("sep", "2026-09-30T03:00:00Z")};

TEST(Retention, KeepsWhatOneRuleWants) {
  const struct {
    Retention retention;
    const char* zone;
    Names gone;
    const char* because;
  } rows[] = {
      {{}, "UTC", {}, "nothing said keeps all"},
      {{.last = 3}, "UTC", {"sep", "oct", "15", "21"}, "the newest three"},
      {{.last = 100}, "UTC", {}, "there are no more"},
      {{.last = 0}, "UTC", {"sep", "oct", "15", "21", "22", "23a"}, "the newest always stays"},
      {{.time = std::chrono::hours(9)}, "UTC", {"sep", "oct", "15", "21", "22"}, "23a is 9 h old"},
      {{.time = std::chrono::seconds(9 * 3600 - 1)},
       "UTC",
       {"sep", "oct", "15", "21", "22", "23a"},
       "a second less"},
      {{.days = 3}, "UTC", {"sep", "oct", "15", "23a"}, "the 23rd, 22nd and 21st"},
      {{.days = 4}, "UTC", {"sep", "oct", "23a"}, "days without one do not count"},
      {{.days = 2}, "Europe/Berlin", {"sep", "oct", "15", "22", "23a"}, "there the 22nd was 23rd"},
      {{.weeks = 2}, "UTC", {"sep", "oct", "15", "21", "23a"}, "weeks begin on Monday"},
      {{.weeks = 3}, "UTC", {"sep", "oct", "21", "23a"}, "the 15th was a Sunday"},
      {{.months = 2}, "UTC", {"sep", "15", "21", "22", "23a"}, "November and October"},
      {{.months = 2},
       "Europe/Berlin",
       {"oct", "15", "21", "22", "23a"},
       "October's last hour is November's there"},
      {{.last = 2, .months = 3}, "UTC", {"15", "21", "22"}, "either"},
      {{.last = 1, .time = std::chrono::hours(40), .days = 3, .weeks = 3, .months = 3},
       "UTC",
       {},
       "all"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(expired(kNovember, row.retention, zone(row.zone), kNow), row.gone) << row.because;
}

TEST(Retention, NeverTakesTheLastThatIsGood) {
  const Retention one{.last = 1};
  const TimeZone utc = zone("UTC");
  EXPECT_EQ(expired({complete("c", "2026-11-03T00:00:00Z"), verified("b", "2026-11-02T00:00:00Z"),
                     verified("a", "2026-11-01T00:00:00Z")},
                    one, utc, kNow),
            Names{"a"})
      << "c is the newest, b the newest that is verified";
  EXPECT_EQ(expired({verified("old", "2020-01-01T00:00:00Z")}, {.time = std::chrono::hours(1)}, utc,
                    kNow),
            Names());
  EXPECT_EQ(expired({unknown("c", "2026-11-03T00:00:00Z"), complete("b", "2026-11-02T00:00:00Z"),
                     unknown("a", "2026-11-01T00:00:00Z")},
                    one, utc, kNow),
            Names())
      << "what is unknown stays, and is not the one that is kept";
  EXPECT_EQ(expired({unknown("c", "2026-11-03T00:00:00Z"), complete("b", "2026-11-02T00:00:00Z"),
                     complete("a", "2026-11-01T00:00:00Z")},
                    one, utc, kNow),
            Names{"a"});
}

TEST(Retention, DoesNotDependOnTheOrder) {
  const char* const time = "2026-11-01T00:00:00Z";
  std::vector<StoredSnapshot> stored = {complete("a", time), complete("b", time),
                                        verified("c", time), complete("d", time)};
  do EXPECT_EQ(expired(stored, {.last = 1}, zone("UTC"), kNow), (Names{"a", "b"}));
  while (std::ranges::next_permutation(stored, {}, &StoredSnapshot::name).found);
}

TEST(Retention, KeepsWhatIsOfTheFutureAndDoesNotCountIt) {
  const std::vector<StoredSnapshot> stored = {
      complete("a", "2026-11-21T11:00:00Z"), verified("b", "2026-11-22T11:00:00Z"),
      complete("c", "2026-11-23T12:00:00Z"), complete("d", "2026-11-23T12:00:01Z"),
      verified("e", "2027-01-02T00:00:00Z")};
  const struct {
    Retention retention;
    Names gone;
    const char* because;
  } rows[] = {
      {{.last = 1}, {"a"}, "c is the newest, b the newest that is verified"},
      {{.last = 3}, {}, "a, b and c are three"},
      {{.time = std::chrono::minutes(1)}, {"a"}, "a second later than now is later"},
      {{.days = 2}, {"a"}, "the 23rd and the 22nd, not those to come"},
      {{.months = 1}, {"a"}, "November, not January"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(expired(stored, row.retention, zone("UTC"), kNow), row.gone) << row.because;
  EXPECT_EQ(expired({complete("e", "2027-01-02T00:00:00Z")}, {.last = 0}, zone("UTC"), kNow),
            Names())
      << "though there is no other";
}

}  // namespace
}  // namespace etcdop::schedule
