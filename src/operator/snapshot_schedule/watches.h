// Which changes lead to a pass over which EtcdSnapshotSchedule.
#pragma once
#include "operator/passes/stores.h"
#include "runtime/queue.h"

namespace etcdop::snapshot_schedule {

/// A change of a schedule adds it; one of an EtcdSnapshot that has not ended, or just has, the
/// schedules of its cluster; one of a Job or Pod the schedule of its EtcdSnapshot. The queue
/// outlives the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::snapshot_schedule
