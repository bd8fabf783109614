// The status of an EtcdMember: written here only. Pure.
#pragma once
#include <string>

#include "operator/member/observation.h"

namespace etcdop::member {

/// Fills podName, podUID, pvcName, replicas, selector and the conditions Ready and VersionDrifted.
void report(const Observation& seen, api::v1alpha2::EtcdMemberStatus& status);

/// Keeps Ready true to the Pod of an EtcdMember that has no owner now. Nothing else is said of it,
/// and it gets no new Pod.
void report_orphan(const Observation& seen, api::v1alpha2::EtcdMemberStatus& status);

/// The fault of the certificates that a Pod would get, in words; empty: none.
std::string tls_trouble(const Observation& seen);

/// The part of its spec for which no Pod is created; empty: none. A snapshot in memory would be
/// restored again at each start of its node.
std::string not_implemented(const api::v1alpha2::EtcdMember& member);

/// Why the kubelet ended the Pod, or refused to run it, in its own words; empty: it does not say.
std::string end_of(const kube::Pod& pod);

/// Its data is lost: it had a volume and has none; or its data was in memory, and the only Pod that
/// ever ran is missing or has ended.
bool data_lost(const Observation& seen);

}  // namespace etcdop::member
