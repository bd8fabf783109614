// Which changes lead to a pass over which EtcdMember.
#pragma once
#include "operator/passes/stores.h"
#include "runtime/queue.h"

namespace etcdop::member {

/// A change of a cluster, its members, Pods or volumes queues all members of that cluster. The
/// queue must outlive the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::member
