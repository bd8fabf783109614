// How backups go, in numbers, for whoever scrapes them. docs/user/operations.md lists them.
#pragma once
#include <cstdint>
#include <map>

#include "api/meta.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "base/wall_time.h"
#include "kube/store.h"
#include "runtime/metrics.h"

namespace etcdop::snapshot_schedule {

class ScheduleMetrics {
 public:
  using Schedules = kube::Store<api::v1alpha2::EtcdSnapshotSchedule>;
  /// Those that are not there any more have no line. It outlives this.
  explicit ScheduleMetrics(const Schedules& schedules) : there_(schedules) {}
  /// A pass reports this.
  void saw(const api::ObjectKey& schedule, const api::v1alpha2::EtcdSnapshotScheduleStatus& status);
  void gone(const api::ObjectKey& schedule) { schedules_.erase(schedule); }
  /// Once. Asked from then on: this must outlive the other, or nobody may scrape any more.
  void show_in(runtime::Metrics&) const;

 private:
  struct Numbers {
    WallTime last_success;  // 0: there was none.
    std::int32_t failures = 0;
    bool stale = false;
    bool verifies = false;   // Only then the rest has lines.
    WallTime last_verified;  // 0: there was none.
    std::int64_t verified_seconds = 0;
    bool unverified = false;
  };
  void each(const runtime::Metrics::Line& line, double (*of)(const Numbers&)) const;
  void each_proven(const runtime::Metrics::Line& line, double (*of)(const Numbers&)) const;
  void show_proofs_in(runtime::Metrics&) const;

  const Schedules& there_;
  std::map<api::ObjectKey, Numbers> schedules_;
};

}  // namespace etcdop::snapshot_schedule
