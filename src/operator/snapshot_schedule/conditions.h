// The results of a schedule's EtcdSnapshots, and whether the last stored one is recent, in words
// for users. Pure.
#pragma once
#include <string>

#include "operator/snapshot_schedule/observation.h"
#include "operator/snapshot_schedule/timetable.h"

namespace etcdop::snapshot_schedule {

/// Fills all but the conditions and the next run from the runs; values of deleted runs stay as in
/// the status. A run that was planned for later than now does not count: a clock was wrong.
void tell_runs(const Observation& seen, api::v1alpha2::EtcdSnapshotScheduleStatus& status);

/// When the last snapshot was stored, or else when the schedule was created.
WallTime stored_last(const Observation& seen,
                     const api::v1alpha2::EtcdSnapshotScheduleStatus& status);

struct Verdict {
  const char* status;
  std::string reason, message;
};

/// BackupUnverified, likewise; for a schedule that verifies.
Verdict proof(const Observation& seen, const Timetable& of,
              const api::v1alpha2::EtcdSnapshotScheduleStatus& status);

/// BackupStale, for a status that tell_runs() has filled.
Verdict staleness(const Observation& seen, const Timetable& of,
                  const api::v1alpha2::EtcdSnapshotScheduleStatus& status);

}  // namespace etcdop::snapshot_schedule
