// Whether a cluster's log can be read without --max-learners. Pure.
#pragma once
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Decides status.maxLearners, and keeps status.oldLog.
///
/// A cluster that an earlier release founded, grew or took over may have had several learners at
/// once: its members need the flag to replay their logs. So does a cluster that such a release has
/// managed since: its new Pods have the flag. The flag is dropped when no member needs that part of
/// the log any more; running Pods keep it until they are recreated.
void note_learners(const Observation& seen, api::v1alpha2::EtcdClusterStatus& status);

}  // namespace etcdop::cluster
