#include "operator/defrag/reconciler.h"

namespace etcdop::defrag {

void connect(Stores& stores, runtime::Queue& queue) {
  stores.defrags.on_change([&stores, &queue](const api::ObjectKey& cluster) {
    for (const auto& run : stores.defrags.in_group(cluster)) queue.add(run->metadata.key());
  });
  const auto add_open = [&stores, &queue](const api::ObjectKey& cluster) {
    for (const auto& run : stores.defrags.in_group(cluster))
      if (!run->status.finished()) queue.add(run->metadata.key());
  };
  stores.clusters.on_change(add_open);
  stores.members.on_change(add_open);
  stores.snapshots.on_change(add_open);
}

}  // namespace etcdop::defrag
