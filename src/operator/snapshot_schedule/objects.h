// The objects that a schedule creates: EtcdSnapshots, and Jobs that delete stored data. Pure.
#pragma once
#include <optional>
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "base/json.h"
#include "operator/snapshot_schedule/observation.h"

namespace etcdop::snapshot_schedule {

/// "<snapshot>-delete": the name of the Job.
std::string deletion_name(const std::string& snapshot);

/// The manifest of a run.
Json snapshot(const api::v1alpha2::EtcdSnapshotSchedule& of, const std::string& name);

/// The manifest of the Job that deletes the data that the EtcdSnapshot has stored. The EtcdSnapshot
/// owns it, and it is deleted with its owner. `cluster`: its Secrets pull the image; it may be
/// deleted. `image`: the operator's own.
Json deletion(const api::v1alpha2::EtcdSnapshot& of,
              const std::optional<api::v1alpha2::EtcdCluster>& cluster, const std::string& image);

/// Whether the stored data is not where the spec says, which may have been edited since: the agent
/// looks there.
bool is_displaced(const api::v1alpha2::EtcdSnapshot& of);

}  // namespace etcdop::snapshot_schedule
