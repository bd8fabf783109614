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

/// A bit for each value that a field takes. Made by to_cron().
struct Cron {
  std::uint64_t minutes = 0, hours = 0, days = 0, months = 0, weekdays = 0;
  /// The field takes all by a star: then it does not restrict, and the other one decides. Where
  /// both restrict, a day that one of them takes is taken.
  bool any_day = false, any_weekday = false;
  bool operator==(const Cron&) const = default;
};

/// "minute hour day-of-month month day-of-week" with any blanks between them, each `*`, `?`, a
/// value, `a-b`, any of them with `/step` (`a/step`: from a on), or a list of these. Months and
/// days of the week also by the first three letters of their English names; Sunday is 0 and not 7.
/// Or
/// @hourly, @daily (@midnight), @weekly, @monthly, @yearly (@annually).
/// Invalid, naming the field: anything else, @every, a time zone in front, and, other than
/// CronJob, a day that none of its months has: that would never run. Nor is taken what robfig/cron
/// takes by accident: `+1`, `*-5` (as `*`), `1,,2`, blanks that are not ASCII.
Result<Cron> to_cron(std::string_view text);

/// Later than `after`, and not later than `upto`.
struct Window {
  WallTime after;
  WallTime upto;
};

/// The first whole minute later than `after` at which the zone's clocks show a time that matches.
/// So, as with CronJob: a time that clocks skip when they are put forward has no run that day, and
/// one that they show twice has two. Other than CronJob where robfig/cron loses count: in zones
/// that skip midnight (Havana, Cairo) it runs on the day of the change though it is not taken,
/// and where clocks move at a part of an hour (Chatham, Lord Howe) it leaves out runs.
/// Nothing within nine years: nullopt.
std::optional<WallTime> next_run(const Cron&, const TimeZone&, WallTime after);

/// The oldest runs in the window, at most so many.
std::vector<WallTime> runs(const Cron&, const TimeZone&, Window, std::size_t count_max);

/// The last run in the window. However many there are, it takes some thirty looks.
std::optional<WallTime> newest_run(const Cron&, const TimeZone&, Window);

}  // namespace etcdop::schedule
