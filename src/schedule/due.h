// Whether a schedule has a run to start now. Pure.
#pragma once
#include <chrono>
#include <optional>

#include "base/wall_time.h"
#include "schedule/cron.h"
#include "schedule/time_zone.h"

namespace etcdop::schedule {

struct Due {
  /// The run to start now, by the time it was planned for: the newest of those that have not been.
  std::optional<WallTime> run;
  /// The one after now; none while suspended.
  std::optional<WallTime> next;
  bool operator==(const Due&) const = default;
};

struct DueQuestion {
  WallTime last;  ///< The planned time of the newest run that was started; without one, the time at
                  ///< which the schedule was made.
  WallTime now;
  /// A run this late is not started any more; none: however late.
  std::optional<std::chrono::seconds> starting_deadline;
  bool suspended = false;
};

/// Runs that were missed, as while nobody was there or while it was suspended, become one.
Due due(const Cron&, const TimeZone&, const DueQuestion&);

}  // namespace etcdop::schedule
