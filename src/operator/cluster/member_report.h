// The status of each member, of the leader and of the database, and when it is worth a write; and
// the conditions in one word. Pure.
//
// These values change by themselves, but a cluster at rest costs no write. So they are coarse
// (sizes in whole Mi, a lag as yes or no), and they are written in two cases only: when the status
// is written anyway; or when they differ and are old enough. That is one minute; or five minutes if
// only sizes differ, by at least a tenth and one Mi. Exact numbers are in the metrics
// (cluster_metrics.h).
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "operator/cluster/census.h"
#include "operator/cluster/decision.h"

namespace etcdop::cluster {

/// Fills phase, leader, dbSize, members and reportedAt. Call it last: by then the status shows
/// whether it is written anyway.
void report_members(const Observation& seen, api::v1alpha2::EtcdClusterStatus& status);

/// Whether a patch of the status has only what is told together with another change: the time of
/// the report, and what was measured.
bool has_only_measurements(const json::object& patch);

/// Facts from etcd that the EtcdMembers' status does not have yet.
std::vector<MemberFacts> facts(const Observation& seen);

/// The word for the column Status (kPhase...).
std::string phase_of(const std::vector<api::Condition>& conditions);

/// Entries of the raft log that a member is behind the furthest one that answered. Members are
/// asked concurrently, so a few entries mean nothing. 0 if it did not answer.
std::uint64_t lag_of(const Observation& seen, const Seat& seat);

}  // namespace etcdop::cluster
