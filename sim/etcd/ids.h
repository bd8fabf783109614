// How etcd computes its IDs. Source: server/etcdserver/api/membership, computeMemberID and genID;
// the contract test compares them with a real member's.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/wall_time.h"
#include "etcd/member.h"

namespace etcdop::sim {

/// The ID of a member of the first list, from its URLs and the token; the same again after data
/// loss.
etcd::MemberId founding_id(std::vector<std::string> peer_urls, const std::string& token);
/// The ID of an added member, from its URLs and the current second.
etcd::MemberId added_id(std::vector<std::string> peer_urls, WallTime);
/// The cluster ID, from the IDs of its first members.
etcd::ClusterId cluster_id(const std::set<etcd::MemberId>& founders);

}  // namespace etcdop::sim
