// Which changes lead to a pass over which EtcdSnapshotSchedule.
#pragma once
#include "operator/passes/stores.h"
#include "runtime/queue.h"

namespace etcdop::snapshot_schedule {

/// A change of a schedule queues it. A change of an EtcdSnapshot that has not ended, or just has,
/// queues the schedules of its cluster; one of a Job or Pod, the schedule of its EtcdSnapshot. The
/// queue must outlive the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::snapshot_schedule
