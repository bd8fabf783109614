// Who is who in one observation: the counts that the plan and the conditions decide on.
#pragma once
#include <vector>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Pointers into the observation it was made from, which must outlive it. Lists are ordered by
/// name.
struct Census {
  explicit Census(const Observation& seen);

  int want = 0;                     ///< status.observed.replicas; of a pause 1, which then sleeps.
  bool pause = false;               ///< No members are wanted, but their data is.
  std::vector<const Seat*> voters;  ///< Voters in etcd's list, foreign_members too.
  std::vector<const Seat*> learners;  ///< Learners in etcd's list, foreign_members too.
  std::vector<const Seat*> staying;   ///< Voters whose EtcdMember is there and not terminating.
  std::vector<const Seat*> joiners;   ///< EtcdMembers, not terminating, that do not vote.
  std::vector<const Seat*> leaving;   ///< Terminating EtcdMembers.
  std::vector<const Seat*> foreign_members;  ///< In etcd's list without an EtcdMember.
  int healthy_voters = 0;                    ///< Answered, and know a leader.
  int ready = 0;                             ///< EtcdMembers with condition Ready.
  bool publishing = false;                   ///< A joiner has got its list and has not started yet.
  const Seat* leader = nullptr;  ///< As the voters who answered say; null if they do not know.

  /// Whether a voter that is to stay is not healthy.
  bool broken_staying() const;
};

constexpr int quorum(int voters) { return voters / 2 + 1; }

/// Its data is gone or cannot be read, whatever it answers.
bool lost(const Seat& seat);
/// Answered in this pass, knows a leader and has its data.
bool healthy(const Seat& seat);
/// In etcd's list, but never started.
bool unstarted(const Seat& seat);
/// The status records it by its URL: it is ours, though it may have lost its EtcdMember.
bool recorded(const api::v1alpha2::EtcdClusterStatus& status, const Seat& seat);

}  // namespace etcdop::cluster
