// The input of one pass over an EtcdDefrag. A value; nothing here does I/O.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcddefrag.h"
#include "base/wall_time.h"
#include "etcd/member.h"
#include "operator/members/etcd_view.h"
#include "operator/passes/value_codecs.h"

namespace etcdop::defrag {

/// An EtcdMember of the cluster, and what etcd reports about it.
struct MemberSeen {
  std::string name;
  bool terminating = false;
  bool voter = false;      ///< status.isVoter
  bool learner = false;    ///< As etcd lists it.
  std::int64_t quota = 0;  ///< Size in bytes at which its database refuses writes.
  etcd::MemberId id;       ///< 0: etcd does not list it.
  /// Seconds after which its Pod's liveness probe may end an etcd that does not read; 0: never.
  std::int64_t patience_s = 0;
  std::optional<MemberAnswer> answer;
  bool operator==(const MemberSeen&) const = default;

  template <class S = MemberSeen>
  static auto describe() {
    return api::value(api::required("name", &S::name), api::sparse("terminating", &S::terminating),
                      api::sparse("voter", &S::voter), api::sparse("learner", &S::learner),
                      api::sparse("quota", &S::quota), api::sparse("id", &S::id),
                      api::sparse("patience", &S::patience_s), api::optional("answer", &S::answer));
  }
};

/// The result of this process's last defragmentation: a crash forgets it.
struct Tried {
  std::string member;
  std::int32_t attempt = 0;
  std::string error;  ///< Empty: etcd reported success.
  bool operator==(const Tried&) const = default;

  template <class S = Tried>
  static auto describe() {
    return api::value(api::required("member", &S::member), api::required("attempt", &S::attempt),
                      api::sparse("error", &S::error));
  }
};

struct Observation {
  WallTime now;
  api::v1alpha2::EtcdDefrag run;
  std::string ahead;     ///< The run of the same cluster whose turn it is; empty: this one.
  std::string snapshot;  ///< The EtcdSnapshot of the cluster whose turn it is; empty: none.
  std::optional<api::v1alpha2::EtcdCluster> cluster;  ///< The one that the run names.
  std::vector<MemberSeen> members;                    ///< Ordered by name.
  bool linearizable = false;             ///< `members[].id` are from a list of this pass.
  std::vector<std::string> strangers;    ///< Foreign members.
  std::optional<bool> corrupt;           ///< A CORRUPT alarm is raised; absent: etcd did not say.
  std::vector<etcd::MemberId> no_space;  ///< With a NOSPACE alarm, as etcd lists them.
  bool was_full = false;     ///< It was raised in an earlier pass of this process over this run.
  std::int32_t disarms = 0;  ///< How often this process has tried to disarm it.
  std::optional<Tried> tried;
  std::int32_t moved = 0;  ///< The last one of status.leaderMoves that this process has made.
  bool operator==(const Observation&) const = default;

  template <class S = Observation>
  static auto describe() {
    return api::value(api::required("now", &S::now), api::required("run", &S::run),
                      api::sparse("ahead", &S::ahead), api::sparse("snapshot", &S::snapshot),
                      api::optional("cluster", &S::cluster), api::sparse("members", &S::members),
                      api::sparse("linearizable", &S::linearizable),
                      api::sparse("strangers", &S::strangers),
                      api::optional("corrupt", &S::corrupt), api::sparse("noSpace", &S::no_space),
                      api::sparse("wasFull", &S::was_full), api::sparse("disarms", &S::disarms),
                      api::optional("tried", &S::tried), api::sparse("moved", &S::moved));
  }
};

}  // namespace etcdop::defrag
