// A schedule's spec as its plan reads it: when it runs, and what is kept. Pure.
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
  std::optional<schedule::Retention> retention;  ///< None: all is kept.
};

/// Invalid, naming the field: what the API server does not check.
Result<Timetable> to_timetable(const api::v1alpha2::EtcdSnapshotScheduleSpec&);

/// "<schedule>-202611231930": one name for each run, whoever makes it, and however often.
std::string run_name(const std::string& schedule, WallTime planned);
/// nullopt: no run of that schedule is called so.
std::optional<WallTime> planned_of(const std::string& schedule, std::string_view name);

/// How many intervals of the timetable lie between the two, in parts of the one that each of them
/// lies in: what is due at night is not late in the evening, though it runs hourly by day. More
/// than `most` are told as more than that.
double intervals_between(const Timetable&, WallTime from, WallTime to, double most);
/// From when on it is more than so many since `from`; nullopt: not in the interval that `now` lies
/// in.
std::optional<WallTime> exceeded_at(const Timetable&, WallTime from, double intervals,
                                    WallTime now);

}  // namespace etcdop::snapshot_schedule
