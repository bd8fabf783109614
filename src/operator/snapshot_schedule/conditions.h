// What users read of a schedule: what its EtcdSnapshots have come to, and whether the last one that
// is stored is recent. Pure.
#pragma once
#include <string>

#include "operator/snapshot_schedule/observation.h"
#include "operator/snapshot_schedule/timetable.h"

namespace etcdop::snapshot_schedule {

/// All but conditions and the next run: read off the runs; what is gone of them stays as the status
/// has it. What was planned for later than now does not count: a clock was wrong.
void tell_runs(const Observation& seen, api::v1alpha2::EtcdSnapshotScheduleStatus& status);

/// When the last snapshot was stored, or else the schedule was made.
WallTime stored_last(const Observation& seen,
                     const api::v1alpha2::EtcdSnapshotScheduleStatus& status);

struct Verdict {
  const char* status;
  std::string reason, message;
};

/// BackupUnverified, likewise; of a schedule that verifies.
Verdict proof(const Observation& seen, const Timetable& of,
              const api::v1alpha2::EtcdSnapshotScheduleStatus& status);

/// BackupStale, of a status that tell_runs() has seen.
Verdict staleness(const Observation& seen, const Timetable& of,
                  const api::v1alpha2::EtcdSnapshotScheduleStatus& status);

}  // namespace etcdop::snapshot_schedule
