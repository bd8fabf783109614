// What one pass over an EtcdCluster may look at: read once, then only decided upon. A value;
// nothing here does I/O.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "base/wall_time.h"
#include "etcd/member.h"

namespace etcdop::cluster {

/// One member, as its EtcdMember, its Pod and etcd's own list say. At least one of them knows it.
struct Seat {
  /// The EtcdMember; absent for one that only etcd knows (a ghost).
  struct Object {
    std::string uid;
    bool terminating = false;
    bool seed = false;            ///< spec.bootstrap
    bool has_finalizer = true;    ///< Ours.
    std::string initial_cluster;  ///< Empty: not published yet, so it has no Pod.
    std::string member_id;        ///< status.memberID; empty until etcd has told.
    bool voter = false;           ///< status.isVoter: it has voted at some time.
    bool ready = false;           ///< Condition Ready.
    std::string version;          ///< status.version
    std::string trouble;          ///< Why it is not ready, for people; may be empty.
    WallTime created;
    bool operator==(const Object&) const = default;
  };
  struct Pod {
    std::string node;            ///< Empty until scheduled.
    bool many_learners = false;  ///< Its command carries --max-learners.
    bool operator==(const Pod&) const = default;
  };
  /// From a linearizable list of this pass; absent if there was none.
  struct Listed {
    etcd::MemberId id;
    bool learner = false;
    bool started = false;  ///< etcd knows its name.
    bool operator==(const Listed&) const = default;
  };
  /// Its own answer to Status in this pass, ids checked.
  struct Answer {
    std::string version;
    etcd::MemberId leader;      ///< 0: it knows none.
    std::uint64_t applied = 0;  ///< Raft index up to which it has caught up.
    bool operator==(const Answer&) const = default;
  };
  std::string name;  ///< Of EtcdMember, Pod and etcd member; for a ghost what etcd or its URL says.
  std::string peer_url;
  std::optional<Object> object;
  std::optional<Pod> pod;
  std::optional<Listed> listed;
  std::optional<Answer> answer;
  bool operator==(const Seat&) const = default;
};

struct Observation {
  WallTime now;
  api::v1alpha2::EtcdCluster cluster;
  std::vector<Seat> seats;  ///< Ordered by name.
  /// Names that a new member may not have: used by any EtcdMember, Pod or volume in the namespace.
  std::vector<std::string> taken_names;
  std::optional<etcd::ClusterId> cluster_id;  ///< That all who answered agree on.
  bool linearizable = false;  ///< `seats[].listed` is etcd's answer with quorum, of this pass.
  std::string etcd_error;     ///< Why not, if somebody was asked.
  std::string rejected;  ///< What was refused in the last pass; empty if nothing worth telling.
  bool split = false;    ///< Members answered with different cluster ids.
  bool client_service = false, headless_service = false;  ///< They exist and are ours.
};

}  // namespace etcdop::cluster
