// Which changes lead to a pass over which EtcdRestore.
#pragma once
#include "operator/passes/stores.h"
#include "runtime/queue.h"

namespace etcdop::restore {

/// A change of an EtcdRestore or its Job queues it; a change of a cluster queues its EtcdRestores
/// that have not ended. The queue must outlive the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::restore
