// What the status tells of each member, of the leader and of the database, and when that is worth a
// write; and the conditions in one word. Pure.
//
// These wander by themselves, and a cluster at rest costs no write. So they are coarse (sizes in
// whole Mi, a lag as a yes or no), and they are all written anew in each of two cases: when the
// status is written anyway; or when they would say something else and are old enough: a minute, and
// if only sizes differ, by a tenth and a Mi at least, five minutes. Numbers are what metrics are
// for (cluster_metrics.h).
#pragma once
#include <string>
#include <vector>

#include "operator/cluster/census.h"
#include "operator/cluster/decision.h"

namespace etcdop::cluster {

/// Fills phase, leader, dbSize, members and reportedAt. The last thing that is done to a status: by
/// then it tells whether it is written anyway.
void report_members(const Observation& seen, api::v1alpha2::EtcdClusterStatus& status);

/// What etcd says and the EtcdMembers' status does not, yet.
std::vector<MemberFacts> facts(const Observation& seen);

/// The word for the column Status (kPhase...).
std::string phase_of(const std::vector<api::Condition>& conditions);

/// Entries of the raft log that a member lacks, against the furthest that answered: members are
/// asked side by side, so a few are nothing. 0 if it did not answer.
std::uint64_t lag_of(const Observation& seen, const Seat& seat);

}  // namespace etcdop::cluster
