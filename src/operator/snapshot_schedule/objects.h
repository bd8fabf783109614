// What a schedule makes: EtcdSnapshots, and Jobs that delete what these have stored. Pure.
#pragma once
#include <optional>
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "base/json.h"
#include "operator/snapshot_schedule/observation.h"

namespace etcdop::snapshot_schedule {

/// "<snapshot>-delete", of the Job.
std::string deletion_name(const std::string& snapshot);

/// The manifest of a run.
Json snapshot(const api::v1alpha2::EtcdSnapshotSchedule& of, const std::string& name);

/// The manifest of the Job that deletes what the EtcdSnapshot has stored. It belongs to that one
/// and goes with it. `cluster`: whose images are pulled with its Secrets; it may be no more.
/// `image`: the operator's own.
Json deletion(const api::v1alpha2::EtcdSnapshot& of,
              const std::optional<api::v1alpha2::EtcdCluster>& cluster, const std::string& image);

/// Whether its agent would find what is stored: it looks where the spec says, which may have been
/// edited since.
bool is_displaced(const api::v1alpha2::EtcdSnapshot& of);

}  // namespace etcdop::snapshot_schedule
