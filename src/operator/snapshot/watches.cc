#include "operator/snapshot/reconciler.h"

namespace etcdop::snapshot {

void connect(Stores& stores, runtime::Queue& queue) {
  const auto add_open = [&stores, &queue](const api::ObjectKey& cluster) {
    for (const auto& snapshot : stores.snapshots.in_group(cluster))
      queue.add(snapshot->metadata.key());
  };
  stores.snapshots.on_change(add_open);
  stores.clusters.on_change(add_open);
  stores.members.on_change(add_open);
  stores.defrags.on_change(add_open);
  const auto add = [&queue](const api::ObjectKey& snapshot) { queue.add(snapshot); };
  stores.jobs.on_change(add);
  stores.agents.on_change(add);
}

}  // namespace etcdop::snapshot
