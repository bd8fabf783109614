// When a schedule runs: the five fields of cron as a Kubernetes CronJob reads them (robfig/cron
// v3). Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/wall_time.h"
#include "schedule/time_zone.h"

namespace etcdop::schedule {

/// One bit for each value that a field matches. Made by to_cron().
struct Cron {
  std::uint64_t minutes = 0, hours = 0, days = 0, months = 0, weekdays = 0;
  /// The field is a star: it does not restrict, and the other field decides. If both restrict, a
  /// day matches if one of them matches.
  bool any_day = false, any_weekday = false;
  bool operator==(const Cron&) const = default;
};

/// "minute hour day-of-month month day-of-week", separated by any blanks. Each is `*`, `?`, a
/// value, `a-b`, any of these with `/step` (`a/step`: from a on), or a list of these. Months and
/// days of the week may also be the first three letters of their English names; Sunday is 0, not 7.
/// Or
/// @hourly, @daily (@midnight), @weekly, @monthly, @yearly (@annually).
/// Invalid, naming the field: anything else, @every, a leading time zone, and, unlike CronJob, a
/// day that none of its months has: it would never run. Also invalid is text that robfig/cron
/// accepts by accident: `+1`, `*-5` (as `*`), `1,,2`, blanks that are not ASCII.
Result<Cron> to_cron(std::string_view text);

/// Later than `after`, and not later than `upto`.
struct Window {
  WallTime after;
  WallTime upto;
};

/// The first whole minute after `after` at which the zone's clocks show a matching time. So, as
/// with CronJob, a time that the clocks skip has no run that day, and a time that they show twice
/// has two. It differs from CronJob where robfig/cron is wrong: in zones that skip midnight
/// (Havana, Cairo), robfig/cron runs on the day of the change although it does not match, and where
/// clocks change by a part of an hour (Chatham, Lord Howe), it misses runs. nullopt: no run within
/// nine years.
std::optional<WallTime> next_run(const Cron&, const TimeZone&, WallTime after);

/// The oldest runs in the window, at most `count_max`.
std::vector<WallTime> runs(const Cron&, const TimeZone&, Window, std::size_t count_max);

/// The last run in the window. Takes about thirty steps, however many runs there are.
std::optional<WallTime> newest_run(const Cron&, const TimeZone&, Window);

}  // namespace etcdop::schedule
