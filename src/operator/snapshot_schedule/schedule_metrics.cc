#include "operator/snapshot_schedule/schedule_metrics.h"

#include "runtime/conditions.h"

namespace etcdop::snapshot_schedule {
namespace {

namespace v1 = api::v1alpha2;
using runtime::Metrics;

Metrics::Labels labels_of(const api::ObjectKey& key) {
  return {{"namespace", key.ns}, {"name", key.name}};
}

}  // namespace

void ScheduleMetrics::saw(const api::ObjectKey& schedule,
                          const v1::EtcdSnapshotScheduleStatus& status) {
  Numbers& out = schedules_[schedule];
  const auto stored = status.last_success ? from_rfc3339(status.last_success->time) : std::nullopt;
  out.last_success = stored.value_or(WallTime{});
  out.failures = status.failures_in_a_row;
  const auto* stale = runtime::find_condition(status.conditions, v1::kBackupStale);
  out.stale = stale && stale->status == "True";
  const auto* unverified = runtime::find_condition(status.conditions, v1::kBackupUnverified);
  out.verifies = unverified != nullptr;
  out.unverified = unverified && unverified->status == "True";
  const auto& proof = status.last_verified;
  out.last_verified = (proof ? from_rfc3339(proof->time) : std::nullopt).value_or(WallTime{});
  out.verified_seconds = proof ? proof->duration_seconds.value_or(0) : 0;
}

void ScheduleMetrics::each_proven(const Metrics::Line& line, double (*of)(const Numbers&)) const {
  for (const auto& [key, numbers] : schedules_)
    if (numbers.verifies && there_.get(key)) line(labels_of(key), of(numbers));
}

/// Metrics of schedules that verify.
void ScheduleMetrics::show_proofs_in(Metrics& metrics) const {
  metrics.gauges("etcd_operator_backup_last_verified_timestamp_seconds",
                 "When a snapshot of the EtcdSnapshotSchedule was last verified; 0: never.",
                 [this](const Metrics::Line& line) {
                   each_proven(line, [](const Numbers& of) {
                     return static_cast<double>(of.last_verified.since_epoch.count());
                   });
                 });
  metrics.gauges("etcd_operator_backup_last_verified_duration_seconds",
                 "How long restoring and comparing it took.", [this](const Metrics::Line& line) {
                   each_proven(line, [](const Numbers& of) {
                     return static_cast<double>(of.verified_seconds);
                   });
                 });
  metrics.gauges("etcd_operator_backup_unverified",
                 "Whether a kept snapshot failed its last verification, or none was verified in "
                 "time: 1, else 0.",
                 [this](const Metrics::Line& line) {
                   each_proven(line, [](const Numbers& of) { return of.unverified ? 1.0 : 0.0; });
                 });
}

void ScheduleMetrics::each(const Metrics::Line& line, double (*of)(const Numbers&)) const {
  for (const auto& [key, numbers] : schedules_)
    if (there_.get(key)) line(labels_of(key), of(numbers));
}

void ScheduleMetrics::show_in(Metrics& metrics) const {
  metrics.gauges("etcd_operator_backup_last_success_timestamp_seconds",
                 "When the newest snapshot of the EtcdSnapshotSchedule was stored; 0: never.",
                 [this](const Metrics::Line& line) {
                   each(line, [](const Numbers& of) {
                     return static_cast<double>(of.last_success.since_epoch.count());
                   });
                 });
  metrics.gauges("etcd_operator_backup_failures_in_a_row",
                 "Snapshots of the EtcdSnapshotSchedule that failed since the last that was "
                 "stored.",
                 [this](const Metrics::Line& line) {
                   each(line, [](const Numbers& of) { return static_cast<double>(of.failures); });
                 });
  metrics.gauges("etcd_operator_backup_stale",
                 "Whether nothing was stored for one and a half intervals: 1, else 0.",
                 [this](const Metrics::Line& line) {
                   each(line, [](const Numbers& of) { return of.stale ? 1.0 : 0.0; });
                 });
  show_proofs_in(metrics);
}

}  // namespace etcdop::snapshot_schedule
