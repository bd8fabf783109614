#include "operator/member/reconciler.h"

namespace etcdop::member {

void connect(Stores& stores, runtime::Queue& queue) {
  const auto add = [&stores, &queue](const api::ObjectKey& cluster) {
    for (const auto& member : stores.members.in_group(cluster)) queue.add(member->metadata.key());
  };
  stores.clusters.on_change(add);
  stores.members.on_change(add);
  stores.pods.on_change(add);
  stores.volumes.on_change(add);
  stores.services.on_change(add);
}

}  // namespace etcdop::member
