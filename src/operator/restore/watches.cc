#include "operator/restore/reconciler.h"

namespace etcdop::restore {

void connect(Stores& stores, runtime::Queue& queue) {
  const auto add_open = [&stores, &queue](const api::ObjectKey& cluster) {
    for (const auto& restore : stores.restores.in_group(cluster))
      if (!restore->status.finished()) queue.add(restore->metadata.key());
  };
  stores.restores.on_change(add_open);
  stores.clusters.on_change(add_open);
  stores.jobs.on_change([&queue](const api::ObjectKey& owner) { queue.add(owner); });
}

}  // namespace etcdop::restore
