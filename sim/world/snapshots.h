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

class Store;

/// As manifests and status have it: "sha256:" and 64 hex digits.
std::string checksum_of(const std::string& bytes);

/// Of one that is Complete: its object is there, as its status says, a database of a cluster that
/// bore the name after the EtcdSnapshot was made, with each write that was acknowledged before its
/// first Job was. It never changes again, but for what is found when it is verified; nor does its
/// object, which goes only by a Job of its schedule. No EtcdSnapshot has two objects, and nobody
/// else's object is written over. What is found to be good has the hash that its cluster had, and
/// was not spoilt before that was looked at.
class SnapshotChecker {
 public:
  /// All outlive this.
  SnapshotChecker(const Clock&, ApiServer&, ObjectStore&, const EtcdNet&, const History&, Checker&);
  /// Each second or so.
  void look();
  /// A person has written that object, or removed it: what is there now must stay.
  void touched(const std::string& key);
  bool was_touched(const std::string& key) const { return touched_.contains(key); }

 private:
  void changed(const api::Resource&, const ApiServer::Object& before,
               const ApiServer::Object& after);
  void job_made(const Json& job);
  bool bore_the_name(const std::string& cluster_id, const api::v1alpha2::EtcdSnapshot&) const;
  void completed(const api::v1alpha2::EtcdSnapshot&);
  void check_proof(const api::v1alpha2::EtcdSnapshot& was, const api::v1alpha2::EtcdSnapshot& is);
  std::string wrong_proof(const api::v1alpha2::EtcdSnapshot&);
  std::string wrong_object(const api::v1alpha2::EtcdSnapshot&, const std::string& key);
  const Store* born_with(const std::string& cluster_id) const;
  std::string wrong_bytes(const api::v1alpha2::SnapshotArtifact&, const std::string& bytes,
                          Instant began) const;

  const Clock& clock_;
  ApiServer& server_;
  ObjectStore& store_;
  const EtcdNet& net_;
  const History& history_;
  Checker& checker_;
  std::map<std::string, Instant> asked_;  // When the EtcdSnapshot was made, by its UID.
  std::map<std::string, Instant> began_;  // When its first Job was, by the same.
  /// When an EtcdCluster of that name last had that cluster ID in its status.
  std::map<std::pair<api::ObjectKey, std::string>, Instant> borne_;
  std::map<std::string, s3::Tag> kept_;         // Of objects that must not change, by key.
  std::map<std::string, std::string> kept_of_;  // The EtcdSnapshot's UID, of those that have one.
  std::set<std::string> doomed_;  // UIDs of EtcdSnapshots whose schedule lets them go.
  std::set<std::string> touched_;
  std::map<std::string, Instant> touched_at_;  // Since when it is as it is, by key.
  std::map<std::string, Instant> proving_;  // Since when it is verified, by the EtcdSnapshot's UID.
};

}  // namespace etcdop::sim
