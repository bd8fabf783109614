// Which changes lead to a pass over which EtcdRestore.
#pragma once
#include "operator/passes/stores.h"
#include "runtime/queue.h"

namespace etcdop::restore {

/// A change of an EtcdRestore or its Job adds it; one of a cluster those there that have not ended.
/// The queue outlives the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::restore
