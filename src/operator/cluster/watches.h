// The changes that start a pass over an EtcdCluster.
#pragma once
#include "operator/passes/stores.h"
#include "runtime/queue.h"

namespace etcdop::cluster {

/// Every change of a cluster, or of an object with its label, adds the cluster's key. The queue
/// outlives the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::cluster
