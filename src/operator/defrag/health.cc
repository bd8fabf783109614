#include "operator/defrag/health.h"

#include <algorithm>

namespace etcdop::defrag {
namespace {

/// Entries of the log. A leader that has applied that much less than it has committed takes no more
/// writes (etcd's maxGapBetweenApplyAndCommitIndex).
constexpr std::uint64_t kLagMax = 5000;

/// A member that is far behind the others; null: none. All have answered.
const MemberSeen* laggard(const std::vector<MemberSeen>& members) {
  std::uint64_t newest = 0;
  for (const MemberSeen& member : members) newest = std::max(newest, member.answer->applied);
  for (const MemberSeen& member : members)
    if (newest - member.answer->applied > kLagMax) return &member;
  return nullptr;
}

}  // namespace

std::string not_healthy_by_objects(const Observation& seen) {
  if (!seen.cluster) return "the cluster does not exist";
  const auto& cluster = *seen.cluster;
  if (cluster.metadata.terminating()) return "the cluster is being deleted";
  if (cluster.spec.replicas == 0) return "the cluster is paused";
  if (cluster.restoring()) return "the cluster goes back to a snapshot";
  const auto& status = cluster.status;
  if (status.cluster_id.empty() || !status.observed) return "the cluster is being founded";
  if (status.observed->replicas != cluster.spec.replicas)
    return "the cluster is about to change to " + std::to_string(cluster.spec.replicas) +
           " members";
  if (!status.pending_members.empty())
    return "member " + status.pending_members.front().name + " is joining the cluster";
  for (const MemberSeen& member : seen.members) {
    if (member.terminating) return "member " + member.name + " is leaving the cluster";
    if (!member.voter) return "member " + member.name + " does not vote yet";
  }
  if (std::cmp_not_equal(seen.members.size(), cluster.spec.replicas))
    return "the cluster does not have " + std::to_string(cluster.spec.replicas) + " members";
  return "";
}

const MemberSeen* leader_of(const Observation& seen) {
  if (seen.members.empty() || !seen.members.front().answer) return nullptr;
  const etcd::MemberId id = seen.members.front().answer->leader;
  const MemberSeen* leader = nullptr;
  for (const MemberSeen& member : seen.members) {
    if (!member.answer || member.answer->leader != id || id == etcd::MemberId{}) return nullptr;
    if (member.id == id) leader = &member;
  }
  return leader;
}

std::string not_healthy(const Observation& seen) {
  if (std::string why = not_healthy_by_objects(seen); !why.empty()) return why;
  for (const MemberSeen& member : seen.members)
    if (!member.answer) return "member " + member.name + " does not answer";
  for (const MemberSeen& member : seen.members)
    if (member.answer->leader == etcd::MemberId{})
      return "member " + member.name + " knows no leader";
  if (!seen.linearizable) return "etcd does not list its members with a quorum";
  for (const MemberSeen& member : seen.members) {
    if (member.id == etcd::MemberId{}) return "etcd does not list member " + member.name;
    if (member.learner) return "member " + member.name + " is a learner";
  }
  if (!seen.strangers.empty())
    return "etcd lists " + seen.strangers.front() + ", which has no EtcdMember";
  if (!leader_of(seen)) return "the members do not agree on the leader";
  if (const MemberSeen* member = laggard(seen.members))
    return "member " + member->name + " has not caught up";
  if (!seen.corrupt) return "etcd does not report its alarms";
  if (*seen.corrupt) return "a CORRUPT alarm is raised: members do not have the same data";
  return "";
}

}  // namespace etcdop::defrag
