// Which changes lead to a pass over which EtcdMember, and what the controller may do in the API.
#pragma once
#include <vector>

#include "kube/api.h"
#include "operator/shared/stores.h"
#include "runtime/queue.h"

namespace etcdop::member {

/// The chart's rules are generated from it.
std::vector<kube::Permission> permissions();

/// A change of a cluster, its members, Pods or volumes adds all members of that cluster. The queue
/// outlives the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::member
