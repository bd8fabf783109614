// The clients of a simulated world's clusters: how they find members, and which answers are
// allowed.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "sim/api/server.h"
#include "sim/etcd/net.h"
#include "sim/history.h"
#include "sim/scheduler.h"
#include "sim/world/checker.h"
#include "sim/world/nodes.h"

namespace etcdop::sim {

/// So begins the token of an etcd whose data comes to a volume of ours (Fault::ForeignData).
inline constexpr const char* kStrangerToken = "stranger-";

/// Clients know a cluster only by its Services. A client stays connected to a member until that
/// process ends: a Service without endpoints stops new connections, not old ones. Each client has
/// keys of its cluster, named after the first etcd of the EtcdCluster.
///
/// A key at one etcd is a register of the history; a restored etcd begins with the snapshot's
/// values. Each answer is also checked: its revision is not below one that any client was told
/// before the request; no two writes have the same revision, even across a restore in place; and
/// the answering etcd may answer: no old etcd once the snapshot is restored, and the restored etcd
/// only after the commit.
class Clients {
 public:
  /// All arguments outlive this.
  Clients(Scheduler&, ApiServer&, EtcdNet&, const Nodes&, History&, Checker&);
  /// One read or write by that client of a key of that cluster, at any member that it knows.
  void operate(int client, const api::ObjectKey& cluster, Dice&);
  /// The world ends: operations in flight are not recorded.
  void end() { ending_ = true; }
  /// Addresses that a Service leads to now. As kube-proxy: of selected Pods that are ready, or need
  /// not be.
  std::vector<std::string> endpoints(const api::ObjectKey& service) const;
  /// A user restored the selector of a Service of that cluster. Clients that connect before the
  /// operator sees it are allowed.
  void let_in_by_hand(const api::ObjectKey& cluster);
  /// The highest revision that any client of that etcd's EtcdCluster was told; 0: none.
  std::int64_t highest_told(etcd::ClusterId) const;
  /// How many answers clients got from that etcd.
  std::uint64_t answers_of(etcd::ClusterId) const;
  /// The EtcdCluster through whose Services clients first reached that register.
  api::ObjectKey cluster_of(const std::string& name_of_register) const {
    return registers_.at(name_of_register);
  }
  /// "0123456789abcdef/0123456789abcdef/k1": that etcd's register of a key.
  static std::string register_of(etcd::ClusterId, const std::string& key);
  static std::string key_in(const std::string& name_of_register) {
    return name_of_register.substr(name_of_register.find('/') + 1);
  }

 private:
  struct Member {
    std::string address;
    etcd::ClusterId etcd;
  };
  /// Answers that clients of one EtcdCluster received.
  struct Told {
    std::int64_t highest = 0;
    std::set<std::int64_t> writes;
  };
  std::vector<Member> known_to(int client, const api::v1alpha2::EtcdCluster&);
  void check_who(const api::ObjectKey& cluster, etcd::ClusterId, const char* how);
  std::string token_of(etcd::ClusterId) const;
  void check_revision(const api::ObjectKey& cluster, Told&, std::int64_t before, std::int64_t now,
                      bool write);
  void begin(const api::ObjectKey& cluster, etcd::ClusterId, const std::string& key);

  Scheduler& world_;
  ApiServer& server_;
  EtcdNet& net_;
  const Nodes& nodes_;
  History& history_;
  Checker& checker_;
  /// For each client and EtcdCluster (by UID): the connected processes, by address.
  std::map<std::pair<int, std::string>, std::map<std::string, std::uint64_t>> connected_;
  std::map<std::string, Told> told_;  // By the first etcd of the EtcdCluster.
  std::map<etcd::ClusterId, std::uint64_t> answers_;
  std::map<std::string, api::ObjectKey> registers_;
  std::map<api::ObjectKey, Instant> let_in_;
  std::uint64_t values_ = 0;
  bool ending_ = false;
};

}  // namespace etcdop::sim
