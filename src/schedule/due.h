// Whether a schedule has a run to start now. Pure.
#pragma once
#include <chrono>
#include <optional>

#include "base/wall_time.h"
#include "schedule/cron.h"
#include "schedule/time_zone.h"

namespace etcdop::schedule {

struct Due {
  /// The run to start now, by its planned time: the newest run that is due and not started.
  std::optional<WallTime> run;
  /// The next planned time; nullopt while suspended.
  std::optional<WallTime> next;
  bool operator==(const Due&) const = default;
};

struct DueQuestion {
  WallTime last;  ///< The planned time of the newest started run; without one, the time at which
                  ///< the schedule was created.
  WallTime now;
  /// A run later than this is not started; nullopt: no limit.
  std::optional<std::chrono::seconds> starting_deadline;
  bool suspended = false;
};

/// Several missed runs, for example while the operator was down or the schedule suspended, become
/// one run.
Due due(const Cron&, const TimeZone&, const DueQuestion&);

}  // namespace etcdop::schedule
