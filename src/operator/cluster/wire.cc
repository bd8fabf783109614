#include "operator/cluster/wire.h"

#include <iterator>

namespace etcdop::cluster {

std::vector<kube::Permission> permissions() {
  return {std::begin(kPermissions), std::end(kPermissions)};
}

void connect(Stores& stores, runtime::Queue& queue) {
  const auto add = [&queue](const api::ObjectKey& cluster) { queue.add(cluster); };
  stores.clusters.on_change(add);
  stores.members.on_change(add);
  stores.pods.on_change(add);
  stores.services.on_change(add);
  stores.budgets.on_change(add);
  stores.certificates.on_change(add);
  stores.restores.on_change(add);
}

}  // namespace etcdop::cluster
