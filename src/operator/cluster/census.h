// The roles of the members in one observation, and the counts that the plan and the conditions use.
#pragma once
#include <vector>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Points into the observation, which must outlive it. Lists are sorted by name.
struct Census {
  explicit Census(const Observation& seen);

  int want = 0;                       ///< status.observed.replicas; in a pause 1, the dormant one.
  bool pause = false;                 ///< replicas is 0: the data stays.
  std::vector<const Seat*> voters;    ///< Voters in etcd's list, foreign_members too.
  std::vector<const Seat*> learners;  ///< Learners in etcd's list, foreign_members too.
  std::vector<const Seat*> staying;   ///< Voters with an EtcdMember that is not terminating.
  std::vector<const Seat*> joiners;   ///< EtcdMembers, not terminating, that do not vote.
  std::vector<const Seat*> leaving;   ///< Terminating EtcdMembers.
  std::vector<const Seat*> foreign_members;  ///< In etcd's list without an EtcdMember.
  int healthy_voters = 0;                    ///< Answered, and know a leader.
  int ready = 0;                             ///< EtcdMembers with condition Ready.
  bool publishing = false;                   ///< A joiner has its member list but has not started.
  const Seat* leader = nullptr;              ///< As the voters that answered say; null: unknown.

  /// Whether a voter that stays is not healthy.
  bool broken_staying() const;
};

/// As many voters as wanted, all ready, no member joining or leaving.
bool is_complete(const Observation& seen, const Census& census);

constexpr int quorum(int voters) { return voters / 2 + 1; }

/// Its data is lost or unreadable, whatever it answers.
bool lost(const Seat& seat);
/// Its own EtcdMember says so: an earlier EtcdCluster of that name may have had another medium.
bool has_data_in_memory(const Observation& seen, const Seat& seat);
/// Answered in this pass, knows a leader and has its data.
bool healthy(const Seat& seat);
/// In etcd's list, but never started.
bool unstarted(const Seat& seat);
/// The status records its URL: it is ours, even without an EtcdMember.
bool recorded(const api::v1alpha2::EtcdClusterStatus& status, const Seat& seat);

}  // namespace etcdop::cluster
