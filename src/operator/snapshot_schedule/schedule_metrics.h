// Metrics of backups. docs/user/operations.md lists them.
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
  /// A deleted schedule has no line. `schedules` must outlive this.
  explicit ScheduleMetrics(const Schedules& schedules) : there_(schedules) {}
  /// Called by each pass.
  void saw(const api::ObjectKey& schedule, const api::v1alpha2::EtcdSnapshotScheduleStatus& status);
  void gone(const api::ObjectKey& schedule) { schedules_.erase(schedule); }
  /// Call it once. Each scrape reads this, so it must outlive the metrics or the last scrape.
  void show_in(runtime::Metrics&) const;

 private:
  struct Numbers {
    WallTime last_success;  // 0: never.
    std::int32_t failures = 0;
    bool stale = false;
    bool verifies = false;   // Only then the fields below have lines.
    WallTime last_verified;  // 0: never.
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
