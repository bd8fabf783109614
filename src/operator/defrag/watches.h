// Which changes lead to a pass over which EtcdDefrag.
#pragma once
#include "operator/passes/stores.h"
#include "runtime/queue.h"

namespace etcdop::defrag {

/// A change of a run queues all runs of its cluster, as it may be another one's turn. A change of
/// the cluster, its members or snapshots queues the runs that have not ended. The queue must
/// outlive the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::defrag
