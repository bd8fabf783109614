// What must hold of EtcdSnapshots and of what is stored for them: asked of the store, of etcd's
// bytes and of what clients were told.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "api/v1alpha2/etcdsnapshot.h"
#include "sim/api/server.h"
#include "sim/etcd/net.h"
#include "sim/history.h"
#include "sim/store/object_store.h"
#include "sim/world/checker.h"

namespace etcdop::sim {

/// Of one that is Complete: its object is there, as its status says, a database of that cluster
/// with each write that was acknowledged before its first Job was made. It never changes again, nor
/// does its object. No EtcdSnapshot has two objects, and nobody else's object is written over.
class SnapshotChecker {
 public:
  /// All outlive this.
  SnapshotChecker(const Clock&, ApiServer&, ObjectStore&, const History&, Checker&);
  /// Each second or so.
  void look();
  /// A person has written that object, or removed it: what is there now must stay.
  void touched(const std::string& key);

 private:
  struct Began {
    Instant when;
    std::set<std::string> cluster_ids;  // Of who bore its cluster's name whenever a Job was made.
  };
  void changed(const api::Resource&, const ApiServer::Object& before,
               const ApiServer::Object& after);
  void job_made(const Json& job);
  std::string cluster_id_of(const api::v1alpha2::EtcdSnapshot&) const;
  void completed(const api::v1alpha2::EtcdSnapshot&);
  std::string wrong_object(const api::v1alpha2::EtcdSnapshot&, const std::string& key);
  std::string wrong_bytes(const api::v1alpha2::SnapshotArtifact&, const std::string& bytes,
                          const Began&) const;

  const Clock& clock_;
  ApiServer& server_;
  ObjectStore& store_;
  const History& history_;
  Checker& checker_;
  std::map<std::string, Began> began_;   // By UID of the EtcdSnapshot.
  std::map<std::string, s3::Tag> kept_;  // Of objects that must not change, by key.
  std::set<std::string> touched_;
};

}  // namespace etcdop::sim
