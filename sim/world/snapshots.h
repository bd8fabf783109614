// Invariants of EtcdSnapshots and their stored objects: checked against the store, etcd's bytes and
// the answers that clients received.
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

/// As in manifests and status: "sha256:" and 64 hex digits.
std::string checksum_of(const std::string& bytes);

/// For each Complete EtcdSnapshot: its object exists, as its status says, and is a database of a
/// cluster that had the name after the EtcdSnapshot was created, with each write acknowledged
/// before its first Job was created. The EtcdSnapshot never changes again, except by a
/// verification; nor does its object, which only a Job of its schedule deletes. No EtcdSnapshot has
/// two objects, and no other owner's object is overwritten. A verified snapshot has the hash that
/// its cluster had, and was not spoilt before it was read.
class SnapshotChecker {
 public:
  /// All arguments outlive this.
  SnapshotChecker(const Clock&, ApiServer&, ObjectStore&, const EtcdNet&, const History&, Checker&);
  /// Each second or so.
  void look();
  /// A user wrote or removed that object: what exists now must stay.
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
  std::map<std::string, Instant> asked_;  // When the EtcdSnapshot was created, by its UID.
  std::map<std::string, Instant> began_;  // When its first Job was created, by its UID.
  /// When an EtcdCluster with that name last had that cluster ID in its status.
  std::map<std::pair<api::ObjectKey, std::string>, Instant> borne_;
  std::map<std::string, s3::Tag> kept_;         // Objects that must not change, by key.
  std::map<std::string, std::string> kept_of_;  // The EtcdSnapshot's UID, by key.
  std::set<std::string> doomed_;  // UIDs of EtcdSnapshots that their schedule deletes.
  std::set<std::string> touched_;
  std::map<std::string, Instant> touched_at_;  // Since when it is as it is, by key.
  std::map<std::string, Instant> proving_;  // Since when it is verified, by the EtcdSnapshot's UID.
};

}  // namespace etcdop::sim
