#include "operator/cluster/reconciler.h"

namespace etcdop::cluster {

void connect(Stores& stores, runtime::Queue& queue) {
  const auto add = [&queue](const api::ObjectKey& cluster) { queue.add(cluster); };
  stores.clusters.on_change(add);
  stores.members.on_change(add);
  stores.pods.on_change(add);
  stores.services.on_change(add);
  stores.budgets.on_change(add);
  stores.certificates.on_change(add);
  stores.restores.on_change(add);
  // Volumes matter only to a cluster that is not founded yet.
  stores.volumes.on_change([&stores, add](const api::ObjectKey& key) {
    const auto cluster = stores.clusters.get(key);
    if (cluster && cluster->status.cluster_id.empty()) add(key);
  });
}

}  // namespace etcdop::cluster
