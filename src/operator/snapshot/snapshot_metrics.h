// Metrics of the EtcdSnapshots of each cluster. Schedules have more metrics
// (operator/snapshot_schedule/schedule_metrics.h). docs/user/operations.md lists them.
#pragma once
#include "api/v1alpha2/etcdsnapshot.h"
#include "kube/store.h"
#include "runtime/metrics.h"

namespace etcdop::snapshot {

/// Call it once. Each scrape reads the store, which must outlive the metrics.
void show_in(runtime::Metrics&, const kube::Store<api::v1alpha2::EtcdSnapshot>&);

}  // namespace etcdop::snapshot
