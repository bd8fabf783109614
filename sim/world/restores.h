// Invariants of clusters that start from a snapshot, or are restored in place: checked against
// volumes, the store and etcd's births.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "sim/api/server.h"
#include "sim/etcd/net.h"
#include "sim/store/object_store.h"
#include "sim/world/checker.h"
#include "sim/world/nodes.h"
#include "sim/world/snapshots.h"

namespace etcdop::sim {

/// A cluster to be restored is never founded empty, and no other cluster starts from a snapshot. It
/// begins with exactly the named object's contents, and with the revision that its spec asks for:
/// no client of it is ever told of an older one, or misses a key of the snapshot. A cluster that is
/// restored in place begins above each revision that its etcd had before.
class RestoreChecker {
 public:
  /// All arguments outlive this.
  RestoreChecker(ApiServer&, ObjectStore&, const EtcdNet&, const Nodes&, const SnapshotChecker&,
                 Checker&);
  /// Each second or so.
  void look();

 private:
  void changed(const api::v1alpha2::EtcdCluster&);
  void check_birth(const EtcdNet::Birth&);
  void check_revision(const EtcdNet::Birth&);
  std::string wrong_start(const Restored&, const api::v1alpha2::RestoreSpec&);
  void check_keys(const DataDir&);

  ApiServer& server_;
  ObjectStore& store_;
  const EtcdNet& net_;
  const Nodes& nodes_;
  const SnapshotChecker& snapshots_;
  Checker& checker_;
  std::size_t births_ = 0;
  std::map<std::string, api::v1alpha2::BootstrapSpec> asked_;  // By token.
  /// For restores in place: the old cluster ID, and the lowest revision to begin with.
  struct Before {
    std::string cluster_id;
    std::int64_t least = 0;
  };
  std::map<std::string, Before> before_;  // By token.
};

}  // namespace etcdop::sim
