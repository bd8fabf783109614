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

/// Of one that is Complete: its object is there, as its status says, a database of a cluster that
/// bore the name after the EtcdSnapshot was made, with each write that was acknowledged before its
/// first Job was. It never changes again, nor does its object. No EtcdSnapshot has two objects, and
/// nobody else's object is written over.
class SnapshotChecker {
 public:
  /// All outlive this.
  SnapshotChecker(const Clock&, ApiServer&, ObjectStore&, const History&, Checker&);
  /// Each second or so.
  void look();
  /// A person has written that object, or removed it: what is there now must stay.
  void touched(const std::string& key);

 private:
  void changed(const api::Resource&, const ApiServer::Object& before,
               const ApiServer::Object& after);
  void job_made(const Json& job);
  bool bore_the_name(const std::string& cluster_id, const api::v1alpha2::EtcdSnapshot&) const;
  void completed(const api::v1alpha2::EtcdSnapshot&);
  std::string wrong_object(const api::v1alpha2::EtcdSnapshot&, const std::string& key);
  std::string wrong_bytes(const api::v1alpha2::SnapshotArtifact&, const std::string& bytes,
                          Instant began) const;

  const Clock& clock_;
  ApiServer& server_;
  ObjectStore& store_;
  const History& history_;
  Checker& checker_;
  std::map<std::string, Instant> asked_;  // When the EtcdSnapshot was made, by its UID.
  std::map<std::string, Instant> began_;  // When its first Job was, by the same.
  /// When an EtcdCluster of that name last had that cluster ID in its status.
  std::map<std::pair<api::ObjectKey, std::string>, Instant> borne_;
  std::map<std::string, s3::Tag> kept_;  // Of objects that must not change, by key.
  std::set<std::string> touched_;
};

}  // namespace etcdop::sim
