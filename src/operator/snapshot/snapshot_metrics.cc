#include "operator/snapshot/snapshot_metrics.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "api/v1alpha2/names.h"
#include "base/wall_time.h"
#include "runtime/conditions.h"

namespace etcdop::snapshot {
namespace {

namespace v1 = api::v1alpha2;
using runtime::Metrics;
using Snapshots = kube::Store<v1::EtcdSnapshot>;

api::ObjectKey cluster_of(const v1::EtcdSnapshot& of) {
  return {of.metadata.ns, of.spec.cluster_ref.name};
}

void count(const Snapshots& there, const Metrics::Line& line) {
  std::map<std::pair<api::ObjectKey, std::string>, int> counts;
  for (const auto& one : there.all())
    ++counts[{cluster_of(*one),
              one->status.phase.empty() ? v1::kSnapshotPending : one->status.phase}];
  for (const auto& [of, number] : counts)
    line({{"namespace", of.first.ns}, {"name", of.first.name}, {"phase", of.second}}, number);
}

/// When it was stored; nullopt: never.
std::optional<WallTime> stored_at(const v1::EtcdSnapshot& of) {
  const auto* ready = runtime::find_condition(of.status.conditions, v1::kReady);
  if (of.status.phase != v1::kSnapshotComplete || !ready) return std::nullopt;
  return from_rfc3339(ready->last_transition_time);
}

void tell_newest(const Snapshots& there, const Metrics::Line& line) {
  std::map<api::ObjectKey, std::int64_t> newest;  // Seconds.
  for (const auto& one : there.all())
    if (const auto at = stored_at(*one)) {
      std::int64_t& so_far = newest[cluster_of(*one)];
      so_far = std::max<std::int64_t>(so_far, at->since_epoch.count());
    }
  for (const auto& [of, seconds] : newest)
    line({{"namespace", of.ns}, {"name", of.name}}, static_cast<double>(seconds));
}

}  // namespace

void show_in(Metrics& metrics, const Snapshots& there) {
  metrics.gauges("etcd_operator_snapshots",
                 "EtcdSnapshots of the cluster whose status.phase is the label phase.",
                 [&there](const Metrics::Line& line) { count(there, line); });
  metrics.gauges("etcd_operator_snapshot_last_stored_timestamp_seconds",
                 "When the newest EtcdSnapshot of the cluster that is there was stored.",
                 [&there](const Metrics::Line& line) { tell_newest(there, line); });
}

}  // namespace etcdop::snapshot
