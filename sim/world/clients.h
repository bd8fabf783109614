// The clients of a simulated world's clusters: how they find members, and what they may be told.
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

/// They know a cluster by its Services alone. Whom a client has found it stays connected to, until
/// that process ends: a Service that selects nobody keeps new connections away, no old ones. Each
/// client has keys of its cluster's, which are named after the first etcd that the EtcdCluster had.
///
/// A key at one etcd is a register of the history: an etcd that was restored begins with what the
/// snapshot has. Beside that it is checked of each answer that no client is told of a revision
/// below one that was told before it asked, that no write has the revision of another one, also
/// where the cluster was restored in place meanwhile, and that who answers is who may: nobody of
/// before once the snapshot is restored, and who was restored only once that was committed.
class Clients {
 public:
  /// All outlive this.
  Clients(Scheduler&, ApiServer&, EtcdNet&, const Nodes&, History&, Checker&);
  /// One read or write by that client of a key of that cluster, at any member that it knows.
  void operate(int client, const api::ObjectKey& cluster, Dice&);
  /// The world ends: what is on its way is not taken note of.
  void end() { ending_ = true; }
  /// Addresses that a Service leads to now. As kube-proxy has it: of Pods that it selects, which
  /// are ready, or need not be.
  std::vector<std::string> endpoints(const api::ObjectKey& service) const;
  /// A person gave a Service of that cluster its selector back. Who comes in until the operator has
  /// seen it has done so by that person's leave.
  void let_in_by_hand(const api::ObjectKey& cluster);
  /// The highest revision that any client of the EtcdCluster with that etcd was told; 0: none was.
  std::int64_t highest_told(etcd::ClusterId) const;
  /// How often a client was answered by that etcd.
  std::uint64_t answers_of(etcd::ClusterId) const;
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
  /// What is known of one EtcdCluster.
  struct Told {
    std::int64_t highest = 0;
    std::set<std::int64_t> writes;
  };
  std::vector<Member> known_to(int client, const api::v1alpha2::EtcdCluster&);
  void check_who(const api::ObjectKey& cluster, etcd::ClusterId, const char* how);
  std::string token_of(etcd::ClusterId) const;
  void check_revision(const api::ObjectKey& cluster, Told&, std::int64_t before, std::int64_t now,
                      bool write);
  void begin(etcd::ClusterId, const std::string& key);

  Scheduler& world_;
  ApiServer& server_;
  EtcdNet& net_;
  const Nodes& nodes_;
  History& history_;
  Checker& checker_;
  /// Of each client and EtcdCluster (by UID): the process that it is connected to, by address.
  std::map<std::pair<int, std::string>, std::map<std::string, std::uint64_t>> connected_;
  std::map<std::string, Told> told_;  // By the first etcd of the EtcdCluster.
  std::map<etcd::ClusterId, std::uint64_t> answers_;
  std::set<std::string> registers_;
  std::map<api::ObjectKey, Instant> let_in_;
  std::uint64_t values_ = 0;
  bool ending_ = false;
};

}  // namespace etcdop::sim
