// How etcd makes its ids. Source: server/etcdserver/api/membership, computeMemberID and genID; the
// contract test compares them with a real member's.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/wall_time.h"
#include "etcd/member.h"

namespace etcdop::sim {

/// Of a member of the first list: its URLs and the token, so the same again after the data is lost.
etcd::MemberId founding_id(std::vector<std::string> peer_urls, const std::string& token);
/// Of a member that is added: its URLs and the second.
etcd::MemberId added_id(std::vector<std::string> peer_urls, WallTime);
/// Of the cluster: the ids of its first members.
etcd::ClusterId cluster_id(const std::set<etcd::MemberId>& founders);

}  // namespace etcdop::sim
