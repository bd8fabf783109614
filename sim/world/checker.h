// The invariants of design/faults.md, checked against the world itself: what the API server holds,
// what etcd's members hold, what volumes hold. Never against what an operator believes.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "kube/api.h"
#include "sim/api/server.h"
#include "sim/etcd/net.h"
#include "sim/world/trace.h"

namespace etcdop::sim {

class Nodes;

/// The first violation is kept; nothing is checked after it.
class Checker {
 public:
  struct Violation {
    std::string invariant;  ///< "I5".
    std::string what;
    Instant when;
  };
  /// All of them outlive this, and belong to one world.
  Checker(const Clock&, ApiServer&, EtcdNet&, Trace&);
  void nodes(const Nodes& nodes) { nodes_ = &nodes; }

  void violated(const std::string& invariant, const std::string& what);
  const std::optional<Violation>& violation() const { return violation_; }

  // --- around an operator's writes
  /// Whom a write to the API concerns.
  struct Doubt {
    std::optional<api::ObjectKey> cluster;
    bool had_quorum = false;
    bool was_paused = false;  ///< When it was sent: the last Pod was meant to go.
    bool restored = false;    ///< Likewise: a restore in place wanted that Pod to end.
  };
  Doubt before_write(const std::string& who, const kube::Call&, Instant sent);
  void after_write(const std::string& who, const kube::Call&, bool done, const Doubt&);
  /// Around an operator's change of etcd. What it makes of a membership is judged when it is made:
  /// the answer may come late, to an operator that stood still.
  void before_change(const std::string& who, const std::string& what, const std::string& address);
  void after_change(const std::string& who, const std::string& what);
  void membership_changed(etcd::ClusterId);

  // --- what happens anyway
  /// Each second or so.
  void look();
  /// Somebody who may (a person, or fate) took data away: what that costs is not ours.
  void fate_took(const std::string& ns, const std::string& cluster);
  bool fated(const std::string& ns, const std::string& cluster) const;
  /// Something just killed a process or cut its lines. Whoever acts now may have looked before.
  void struck() { struck_ = clock_.now(); }
  /// Nobody can write now what should be written: no operator, no API server.
  void hindered() { hindered_ = clock_.now(); }
  /// An operator got an answer from there.
  void answered(const std::string& address, std::string_view path);
  /// That text is a secret: nothing of it may be in what is written, but in Secrets (I15). The
  /// trace is listened to from then on.
  void guard(const std::string& secret);
  /// Somebody gave root a password that no Secret has.
  void locked_out_by_hand(etcd::ClusterId id) { locked_out_.insert(id); }
  /// A person may delete anything.
  void user_deleted(const std::string& uid) { deleted_by_user_.insert(uid); }
  /// The last restore in place of that EtcdCluster, with all that it ever said of what was before;
  /// null: there was none.
  const api::v1alpha2::RestoreRecord* restore_of(const std::string& cluster_uid) const;
  /// The UID of the EtcdCluster that has or had that cluster ID; empty: nobody had it, yet.
  std::string owner_of(const std::string& cluster_id) const;
  /// The first cluster ID of the EtcdCluster that has or had that one; itself if nobody had it.
  std::string home_of(const std::string& cluster_id) const;

 private:
  bool was_paused(const api::ObjectKey& cluster, Instant when) const;
  bool restore_ends(const api::ObjectKey& cluster, const Json& pod, Instant sent) const;
  void changed(const api::Resource&, const ApiServer::Object& before,
               const ApiServer::Object& after);
  void memory_gone(const Json& pod);
  void volume_gone(const Json& volume);
  bool restore_keeps(const api::ObjectKey& cluster, const Json& volume);
  void check_identity(const api::v1alpha2::EtcdCluster& is);
  void check_stage(const api::v1alpha2::EtcdCluster& is);
  void cluster_reported(const Json& cluster);
  void pod_changed(const Json& pod);
  /// What an operator has asked of etcd and has no answer to.
  struct Change {
    std::string who, what;
    etcd::ClusterId cluster;
    std::vector<EtcdNet::Member> members;  // Before.
  };
  void judge(const Change&, const std::vector<EtcdNet::Member>& now);
  void check_births();
  bool is_restored_once_more(const EtcdNet::Birth&) const;
  void check_passwords();
  void check_secrecy(const std::string& who, std::string_view what);
  void check_versions();
  void check_truth();
  bool quorate(etcd::ClusterId, const std::vector<EtcdNet::Member>& members,
               const std::string& without = "") const;
  void note_who_serves();
  std::optional<etcd::ClusterId> etcd_of(const api::ObjectKey& cluster) const;
  bool being_deleted(const api::ObjectKey& cluster) const;

  const Clock& clock_;
  ApiServer& server_;
  EtcdNet& net_;
  Trace& trace_;
  const Nodes* nodes_ = nullptr;
  std::optional<Violation> violation_;
  std::set<api::ObjectKey> fated_;
  std::set<std::string> deleted_by_user_;
  std::set<etcd::ClusterId> quorum_seen_, locked_out_;
  std::set<std::string> guarded_;
  std::map<etcd::ClusterId, Instant> quorum_at_;  // When it was last there and somebody looked.
  struct Pause {
    bool now = false;
    Instant until = Instant::min();
  };
  std::map<api::ObjectKey, Pause> pauses_;  // Who was told to sleep.
  std::set<std::string> announced_;         // UIDs of clusters that were called available.
  Instant hindered_ = Instant::min();
  std::map<std::pair<etcd::ClusterId, etcd::MemberId>, Instant> served_;
  Instant struck_ = Instant::min();
  std::map<api::ObjectKey, std::pair<Instant, int>> wanted_;  // The most in the last minute.
  std::vector<Change> changes_;
  std::size_t births_ = 0;
  std::map<std::string, int> births_of_;  // By token.
  /// What an EtcdCluster's status has, by UID. A restore in place may go back to `way_back`.
  struct Identity {
    std::string cluster_id, token, way_back;
  };
  std::map<std::string, Identity> latched_;
  /// UIDs of EtcdRestores whose clusters have no way back any more.
  std::set<std::string> committed_;
  /// When a token stood in the status of an EtcdCluster for the last time, as its own or as the way
  /// back; max: it still does.
  std::map<std::string, Instant> tokens_;
  std::map<std::string, std::string> first_ids_;  // By UID.
  std::map<std::string, std::string> owners_;     // UID by cluster ID.
  struct Stage {
    Instant since;
    api::v1alpha2::RestoreRecord record;
  };
  std::map<std::string, std::vector<Stage>> stages_;  // Of restores in place, by UID.
};

}  // namespace etcdop::sim
