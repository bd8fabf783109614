// Which changes lead to a pass over which EtcdSnapshot.
#pragma once
#include "operator/passes/stores.h"
#include "runtime/queue.h"

namespace etcdop::snapshot {

/// A change of a snapshot, its Job or Pods adds that snapshot; one of its cluster, the members or a
/// run of defragmentation there those that have not ended. The queue outlives the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::snapshot
