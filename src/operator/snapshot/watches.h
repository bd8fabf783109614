// Which changes lead to a pass over which EtcdSnapshot.
#pragma once
#include "operator/passes/stores.h"
#include "runtime/queue.h"

namespace etcdop::snapshot {

/// A change of a snapshot, its Job or Pods queues that snapshot. A change of its cluster, the
/// members or a defragmentation run queues the cluster's snapshots that have not ended. The queue
/// must outlive the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::snapshot
