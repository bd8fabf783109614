// How the EtcdSnapshots of each cluster are, in numbers, for whoever scrapes them. Those of
// schedules have more (operator/snapshot_schedule/schedule_metrics.h). docs/user/operations.md
// lists them.
#pragma once
#include "api/v1alpha2/etcdsnapshot.h"
#include "kube/store.h"
#include "runtime/metrics.h"

namespace etcdop::snapshot {

/// Once. The store is read when somebody asks, and so outlives the other.
void show_in(runtime::Metrics&, const kube::Store<api::v1alpha2::EtcdSnapshot>&);

}  // namespace etcdop::snapshot
