// etcd's members and their state as its API reports them. Values only: nothing here does I/O.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etcdop::etcd {

/// An id that compares only with ids of its own kind. Hex in every message, as etcdctl prints it.
template <class Tag>
struct Id {
  std::uint64_t value = 0;
  auto operator<=>(const Id&) const = default;
};
using MemberId = Id<struct MemberIdTag>;
using ClusterId = Id<struct ClusterIdTag>;

/// 16 lower-case hex digits, zero padded, as in status.clusterID and status.memberID.
std::string to_hex(std::uint64_t);
template <class Tag>
std::string to_hex(Id<Tag> id) {
  return to_hex(id.value);
}
/// Up to 16 hex digits; nullopt for anything else.
std::optional<std::uint64_t> from_hex(std::string_view);

/// Header of every answer: the cluster and member that answered.
struct Header {
  ClusterId cluster;
  MemberId member;
  std::uint64_t raft_term = 0;
  bool operator==(const Header&) const = default;
};

/// Source: etcdserverpb.Member. `name` is empty until the member has started once.
struct Member {
  MemberId id;
  std::string name;
  std::vector<std::string> peer_urls, client_urls;
  bool learner = false;
  bool operator==(const Member&) const = default;
};

struct MemberList {
  Header header;
  std::vector<Member> members;
  bool operator==(const MemberList&) const = default;
};

/// Source: etcdserverpb.StatusResponse. Sizes in bytes.
struct Status {
  Header header;
  std::string version;  ///< "3.6.16".
  MemberId leader;      ///< 0: it knows no leader.
  std::uint64_t raft_index = 0, raft_applied_index = 0;
  std::int64_t db_size = 0, db_size_in_use = 0;
  bool learner = false;
  std::vector<std::string> errors;
  std::int64_t revision = 0;  ///< Its newest key revision, from the header.
  bool operator==(const Status&) const = default;
};

/// An alarm that a member has raised and that is not disarmed yet: every member then refuses puts
/// (NoSpace) or all key requests (Corrupt). Source: etcdserverpb.AlarmMember; the numbers are
/// etcd's.
enum class AlarmKind { NoSpace = 1, Corrupt = 2 };
struct Alarm {
  AlarmKind kind = AlarmKind::NoSpace;
  MemberId member;
  auto operator<=>(const Alarm&) const = default;
};

/// Source: etcdserverpb.HashKVResponse.
struct KeyHash {
  std::uint32_t hash = 0;
  std::int64_t revision = 0;   ///< The member's newest revision.
  std::int64_t compacted = 0;  ///< The revision where the hash starts; -1 if never compacted.
  bool operator==(const KeyHash&) const = default;
};

/// Selects keys, as they were at that revision.
struct KeyQuestion {
  std::string from = std::string(1, '\0');  ///< The smallest wanted key; never empty.
  std::int64_t revision = 0;                ///< 0: the newest.
  std::int64_t limit = 1;                   ///< Maximum number of keys; 0: only their count.
};

/// Source: mvccpb.KeyValue.
struct KeyValue {
  std::string key, value;
  std::int64_t created = 0, modified = 0;  ///< Revisions.
  std::int64_t version = 0;                ///< Number of writes since it was created.
  bool operator==(const KeyValue&) const = default;
};

/// Source: etcdserverpb.RangeResponse. Sorted by key.
struct KeyPage {
  std::vector<KeyValue> keys;
  std::int64_t count = 0;  ///< Number of keys from KeyQuestion::from on, whatever its limit.
  bool more = false;       ///< More keys follow.
};

/// `revision` grows with each change of users and roles; tokens of an older revision may be
/// refused.
struct AuthStatus {
  bool enabled = false;
  std::uint64_t revision = 0;
  bool operator==(const AuthStatus&) const = default;
};

}  // namespace etcdop::etcd
