// The answers of etcd in one pass: each member's own answer, one linearizable list, and the alarms.
// Values; nothing here does I/O.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/describe.h"
#include "etcd/member.h"
#include "operator/passes/value_codecs.h"

namespace etcdop::etcd {

inline auto names(AlarmKind) {
  return std::array{std::pair{AlarmKind::NoSpace, "NOSPACE"},
                    std::pair{AlarmKind::Corrupt, "CORRUPT"}};
}

}  // namespace etcdop::etcd

namespace etcdop {

/// The member's entry in etcd's list.
struct MemberListed {
  etcd::MemberId id;
  bool learner = false;
  bool started = false;  ///< etcd knows its name.
  bool operator==(const MemberListed&) const = default;

  template <class S = MemberListed>
  static auto describe() {
    return api::value(api::sparse("id", &S::id), api::sparse("learner", &S::learner),
                      api::sparse("started", &S::started));
  }
};

/// The member's own answer to Status in this pass, ids checked.
struct MemberAnswer {
  std::string version;
  etcd::MemberId leader;      ///< 0: it knows no leader.
  std::uint64_t applied = 0;  ///< Raft index up to which it has caught up.
  std::uint64_t index = 0;    ///< Raft index of the last committed entry that it knows.
  std::int64_t db_size = 0, db_in_use = 0;  ///< Size of its database file, in bytes.
  std::int64_t revision = 0;                ///< Its newest revision.
  bool operator==(const MemberAnswer&) const = default;

  template <class S = MemberAnswer>
  static auto describe() {
    return api::value(api::sparse("version", &S::version), api::sparse("leader", &S::leader),
                      api::sparse("applied", &S::applied), api::sparse("index", &S::index),
                      api::sparse("dbSize", &S::db_size), api::sparse("dbInUse", &S::db_in_use),
                      api::sparse("revision", &S::revision));
  }
};

/// An alarm that was raised and not disarmed.
struct RaisedAlarm {
  etcd::MemberId member;  ///< May be 0, or no longer a member.
  etcd::AlarmKind kind = etcd::AlarmKind::NoSpace;
  bool operator==(const RaisedAlarm&) const = default;

  template <class S = RaisedAlarm>
  static auto describe() {
    return api::value(api::sparse("member", &S::member), api::required("kind", &S::kind));
  }
};

/// One member, as etcd knows it.
struct MemberView {
  std::string name;      ///< A foreign member's: from etcd, or from its URL.
  std::string peer_url;  ///< As etcd lists it; before that, as it will be added.
  std::optional<MemberListed> listed = std::nullopt;
  std::optional<MemberAnswer> answer = std::nullopt;
  bool elsewhere = false;  ///< It answers as a member of another etcd cluster.
};

struct EtcdView {
  /// First the members that the caller knows, in its order; then the foreign ones, which etcd lists
  /// and the caller does not know.
  std::vector<MemberView> members;
  std::optional<etcd::ClusterId> cluster_id;
  bool linearizable = false;  ///< `members[].listed` is etcd's answer with quorum, of this pass.
  /// Members answered with different cluster ids, before the cluster's own is recorded.
  bool split = false;
  std::string error;  ///< Why it is not linearizable, if a member was asked.
  /// Absent: not asked, or not answered.
  std::optional<std::vector<RaisedAlarm>> alarms;
  bool alarms_hidden = false;  ///< etcd was asked, and did not list them.
};

}  // namespace etcdop
