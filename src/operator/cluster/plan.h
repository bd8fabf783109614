// What to report and what to do next for one etcd cluster. Pure: same observation, same plan; no
// clock, no I/O.
//
// Growing and shrinking are design section 10 of the API contract: intent, EtcdMember, learner,
// published list, Pod, vote; and EtcdMember deleted, removed from etcd, confirmed by a linearizable
// list, finalizer off.
#pragma once
#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

struct NoStep {
  bool operator==(const NoStep&) const = default;
};
/// Creates an EtcdMember that the status to be reported already records. The seed alone carries its
/// initial cluster.
struct CreateMember {
  std::string name, peer_url;
  bool seed = false;
  bool operator==(const CreateMember&) const = default;
};
struct AddLearner {
  std::string name, peer_url;
  bool operator==(const AddLearner&) const = default;
};
/// Writes the member list of this pass into a joiner that has not started: from then on it may have
/// a Pod.
struct Publish {
  std::string name, initial_cluster;
  bool operator==(const Publish&) const = default;
};
struct Promote {
  std::string name;
  etcd::MemberId id;
  bool operator==(const Promote&) const = default;
};
struct MoveLeader {
  std::string from, name;
  etcd::MemberId to;
  bool operator==(const MoveLeader&) const = default;
};
/// Deletes the EtcdMember; it stays until it is out of etcd.
struct DeleteMember {
  std::string name, uid;
  bool operator==(const DeleteMember&) const = default;
};
struct RemoveFromEtcd {
  std::string name;
  etcd::MemberId id;
  bool operator==(const RemoveFromEtcd&) const = default;
};
/// Takes our finalizer off: Pod and volume go.
struct ReleaseMember {
  std::string name, uid;
  bool operator==(const ReleaseMember&) const = default;
};

/// At most one is carried out per pass; the next pass observes its effect.
using Step = std::variant<NoStep, CreateMember, AddLearner, Publish, Promote, MoveLeader,
                          DeleteMember, RemoveFromEtcd, ReleaseMember>;

/// What etcd says of a member, for the status of its EtcdMember.
struct MemberFacts {
  std::string name, uid;
  std::string member_id, version;
  bool voter = false;
  bool operator==(const MemberFacts&) const = default;
};

struct Plan {
  api::v1alpha2::EtcdClusterStatus status;  ///< The whole status as it should be.
  std::vector<MemberFacts> facts;           ///< Of members whose status says otherwise.
  bool make_headless_service = false, make_client_service = false;
  Step step;
  std::string waiting_for;             ///< Why there is no step, for the log; empty: converged.
  std::chrono::milliseconds again{0};  ///< When to look again if no watch fires first.
};

Plan plan(const Observation& seen);

/// How long to wait between two looks: the longer the cluster has been on its way, the longer. 300
/// ms to 60 s.
std::chrono::milliseconds pace(const Observation& seen,
                               const api::v1alpha2::EtcdClusterStatus& status);

/// "add-learner db-x1y2z", as the log and the tests have it.
std::string to_string(const Step& step);

constexpr int quorum(int voters) { return voters / 2 + 1; }

/// "<cluster>-" and five characters that follow from the cluster's UID and the sequence.
std::string member_name(const std::string& cluster, const std::string& uid, std::int64_t sequence);

/// "http://<member>.<cluster>.<namespace>.svc:2380"
std::string peer_url(const api::ObjectKey& cluster, const std::string& member);

}  // namespace etcdop::cluster
