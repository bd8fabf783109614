// etcd's members and their state as its API reports them. Values only: nothing here does I/O.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etcdop::etcd {

/// A number that only compares with its own kind. Hex in every message, as etcdctl prints it.
template <class Tag>
struct Id {
  std::uint64_t value = 0;
  auto operator<=>(const Id&) const = default;
};
using MemberId = Id<struct MemberIdTag>;
using ClusterId = Id<struct ClusterIdTag>;

/// 16 lower-case hex digits, zero padded, as status.clusterID and status.memberID have it.
std::string to_hex(std::uint64_t);
template <class Tag>
std::string to_hex(Id<Tag> id) {
  return to_hex(id.value);
}
/// Up to 16 hex digits; nullopt for anything else.
std::optional<std::uint64_t> from_hex(std::string_view);

/// What comes with every answer: who spoke.
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
  MemberId leader;      ///< 0: it knows none.
  std::uint64_t raft_index = 0, raft_applied_index = 0;
  std::int64_t db_size = 0, db_size_in_use = 0;
  bool learner = false;
  std::vector<std::string> errors;
  bool operator==(const Status&) const = default;
};

}  // namespace etcdop::etcd
