#include "schedule/due.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace etcdop::schedule {
namespace {

constexpr const char* kNone = "";

WallTime at(const char* text) { return *from_rfc3339(text); }

std::string text(std::optional<WallTime> time) { return time ? to_rfc3339(*time) : kNone; }

TEST(Due, IsTheNewestRunThatWasMissed) {
  const std::chrono::seconds hour(3600);
  const char* const last = "2026-11-20T03:00:00Z";
  const char* const next = "2026-11-24T03:00:00Z";
  const struct {
    const char* last;
    const char* now;
    std::optional<std::chrono::seconds> deadline;
    bool suspended;
    const char* run;
    const char* next;
    const char* because;
  } rows[] = {
      {"2026-11-22T03:00:00Z",
       "2026-11-23T02:59:59Z",
       {},
       false,
       kNone,
       "2026-11-23T03:00:00Z",
       "it is not time yet"},
      {"2026-11-22T03:00:00Z",
       "2026-11-23T03:00:00Z",
       {},
       false,
       "2026-11-23T03:00:00Z",
       next,
       "it is time"},
      {"2026-11-23T03:00:00Z", "2026-11-23T03:00:00Z", {}, false, kNone, next, "it was started"},
      {"2026-11-23T02:59:59Z",
       "2026-11-23T03:00:00Z",
       {},
       false,
       "2026-11-23T03:00:00Z",
       next,
       "made a second before"},
      {last,
       "2026-11-23T12:00:00Z",
       {},
       false,
       "2026-11-23T03:00:00Z",
       next,
       "three were missed: one is due, however late"},
      {last, "2026-11-23T12:00:00Z", hour, false, kNone, next, "it is too late for it"},
      {last, "2026-11-23T03:59:59Z", hour, false, "2026-11-23T03:00:00Z", next, "it is not"},
      {last, "2026-11-23T04:00:00Z", hour, false, kNone, next, "the deadline is out"},
      {last, "2026-11-23T12:00:00Z", 72 * hour, false, "2026-11-23T03:00:00Z", next,
       "still one, also if several are not too late"},
      {"2026-11-23T03:00:00Z", "2026-11-23T03:10:00Z", hour, false, kNone, next,
       "the deadline makes no run anew"},
      {"2026-11-22T03:00:00Z", "2026-11-23T03:00:00Z", hour * 0, false, kNone, next,
       "no time at all is left to start one"},
      {last, "2026-11-23T12:00:00Z", {}, true, kNone, kNone, "suspended"},
      {"2026-11-25T03:00:00Z",
       "2026-11-23T12:00:00Z",
       {},
       false,
       kNone,
       next,
       "the clock was put back: what was started is not started again"},
  };
  const Cron nightly = *to_cron("0 3 * * *");
  const TimeZone utc = *to_time_zone("UTC");
  for (const auto& row : rows) {
    const Due answer = due(nightly, utc,
                           {.last = at(row.last),
                            .now = at(row.now),
                            .starting_deadline = row.deadline,
                            .suspended = row.suspended});
    EXPECT_EQ(text(answer.run), row.run) << row.because;
    EXPECT_EQ(text(answer.next), row.next) << row.because;
  }
}

}  // namespace
}  // namespace etcdop::schedule
