// What the status of an EtcdMember says: written here only. Pure.
#pragma once
#include "operator/member/observation.h"

namespace etcdop::member {

/// Fills podName, podUID, pvcName, replicas, selector and the conditions Ready and VersionDrifted.
void report(const Observation& seen, api::v1alpha2::EtcdMemberStatus& status);

/// It had a volume and has none: its data is gone.
bool volume_lost(const Observation& seen);

}  // namespace etcdop::member
