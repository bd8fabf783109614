// Which changes lead to a pass over which EtcdCluster, and what the controller may do in the API.
#pragma once
#include <vector>

#include "kube/api.h"
#include "operator/shared/stores.h"
#include "runtime/queue.h"

namespace etcdop::cluster {

/// The chart's rules are generated from it.
std::vector<kube::Permission> permissions();

/// Every change of a cluster, or of what carries its label, adds its key. The queue outlives the
/// stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::cluster
