// Which changes lead to a pass over which EtcdCluster.
#pragma once
#include "operator/passes/stores.h"
#include "runtime/queue.h"

namespace etcdop::cluster {

/// Every change of a cluster, or of what carries its label, adds its key. The queue outlives the
/// stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::cluster
