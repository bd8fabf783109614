// A schedule's spec as its plan reads it: the times of its runs, and its retention. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "base/result.h"
#include "base/wall_time.h"
#include "schedule/cron.h"
#include "schedule/retention.h"
#include "schedule/time_zone.h"

namespace etcdop::snapshot_schedule {

struct Timetable {
  schedule::Cron cron;
  schedule::TimeZone zone;
  std::optional<schedule::Retention> retention;  ///< None: all are kept.
};

/// Invalid, naming the field: a fault that the API server does not check.
Result<Timetable> to_timetable(const api::v1alpha2::EtcdSnapshotScheduleSpec&);

/// "<schedule>-202611231930": one name for each run, whichever pass creates it, and however often.
std::string run_name(const std::string& schedule, WallTime planned);
/// nullopt: not a name of that schedule's runs.
std::optional<WallTime> planned_of(const std::string& schedule, std::string_view name);

/// How many intervals of the timetable lie between the two times, in fractions of the interval that
/// each time lies in. So a backup that is due at night is not late in the evening, even if the
/// schedule runs hourly by day. A result above `most` may be any number above it.
double intervals_between(const Timetable&, WallTime from, WallTime to, double most);
/// When more than that many intervals will have passed since `from`; nullopt: not in the interval
/// of `now`.
std::optional<WallTime> exceeded_at(const Timetable&, WallTime from, double intervals,
                                    WallTime now);

}  // namespace etcdop::snapshot_schedule
