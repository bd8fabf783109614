// What the status of an EtcdMember says: written here only. Pure.
#pragma once
#include <string>

#include "operator/member/observation.h"

namespace etcdop::member {

/// Fills podName, podUID, pvcName, replicas, selector and the conditions Ready and VersionDrifted.
void report(const Observation& seen, api::v1alpha2::EtcdMemberStatus& status);

/// What is wrong with the certificates that a Pod would be given, in words; empty: nothing.
std::string tls_trouble(const Observation& seen);

/// What its spec asks for and no Pod is made for; empty: nothing. Restored into memory, a snapshot
/// would be restored anew whenever its node is started.
std::string not_implemented(const api::v1alpha2::EtcdMember& member);

/// Its data is gone: it had a volume and has none; or its data was in memory, and the one Pod that
/// ever ran is there no more, or has ended.
bool data_lost(const Observation& seen);

}  // namespace etcdop::member
