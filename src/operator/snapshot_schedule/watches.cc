#include "operator/snapshot_schedule/reconciler.h"

namespace etcdop::snapshot_schedule {

void connect(Stores& stores, runtime::Queue& queue) {
  const auto add_all = [&stores, &queue](const api::ObjectKey& cluster) {
    for (const auto& one : stores.schedules.in_group(cluster)) queue.add(one->metadata.key());
  };
  stores.schedules.on_change(add_all);
  stores.snapshots.on_change(add_all);
  const auto add_its = [&stores, &queue](const api::ObjectKey& snapshot) {
    const auto of = stores.snapshots.get(snapshot);
    if (!of) return;
    const auto& labels = of->metadata.labels;
    if (const auto label = labels.find(api::v1alpha2::kScheduleLabel); label != labels.end())
      queue.add({snapshot.ns, label->second});
  };
  stores.jobs.on_change(add_its);
  stores.agents.on_change(add_its);
}

}  // namespace etcdop::snapshot_schedule
