// The invariants of design/faults.md, checked against the world itself: the objects in the API
// server, the data of etcd's members, the volumes. Never against what an operator believes.
#pragma once
#include <algorithm>
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

/// Keeps the first violation, and checks nothing after it.
class Checker {
 public:
  struct Violation {
    std::string invariant;  ///< "I5".
    std::string what;
    Instant when;
  };
  /// All arguments outlive this, and belong to one world.
  Checker(const Clock&, ApiServer&, EtcdNet&, Trace&);
  void nodes(const Nodes& nodes) { nodes_ = &nodes; }

  void violated(const std::string& invariant, const std::string& what);
  const std::optional<Violation>& violation() const { return violation_; }

  // --- around an operator's writes
  /// The cluster that a write to the API concerns.
  struct Doubt {
    std::optional<api::ObjectKey> cluster;
    bool had_quorum = false;
    bool was_paused = false;  ///< When it was sent: the last Pod had to end.
    bool restored = false;    ///< The same: a restore in place wanted that Pod to end.
    /// The Pod goes as the API server has it, where its etcd does not run: the kubelet was late.
    bool told_down = false;
  };
  Doubt before_write(const std::string& who, const kube::Call&, Instant sent);
  void after_write(const std::string& who, const kube::Call&, bool done, const Doubt&);
  /// Around an operator's change of etcd. A change of membership is judged when it happens: the
  /// answer may come late, to an operator that was frozen.
  void before_change(const std::string& who, const std::string& what, const std::string& address);
  void after_change(const std::string& who, const std::string& what);
  void membership_changed(etcd::ClusterId);

  // --- anything else
  /// Each second or so.
  void look();
  /// A user, or fate, took data away: the consequences are not the operator's fault.
  void fate_took(const std::string& ns, const std::string& cluster);
  bool fated(const std::string& ns, const std::string& cluster) const;
  /// A process was just killed, or its connections cut. The next actions may follow an earlier
  /// look.
  void struck() { struck_ = clock_.now(); }
  /// No operator can write now: none runs, or the API server does not answer.
  void hindered() { hindered_ = clock_.now(); }
  /// Until then, an operator may act on an old view of the world.
  void doubt_until(Instant when) { doubted_until_ = std::max(doubted_until_, when); }
  /// An operator got an answer from that address.
  void answered(const std::string& address, std::string_view path);
  /// That text is a secret: no write may contain it, except to Secrets (I15). The trace is checked
  /// from now on, too.
  void guard(const std::string& secret);
  /// A user gave root a password that no Secret has.
  void locked_out_by_hand(etcd::ClusterId id) { locked_out_.insert(id); }
  /// A user may delete anything.
  void user_deleted(const std::string& uid) { deleted_by_user_.insert(uid); }
  /// The last restore in place of that EtcdCluster, with everything that it ever recorded of the
  /// old cluster; null: none.
  const api::v1alpha2::RestoreRecord* restore_of(const std::string& cluster_uid) const;
  /// The UID of the EtcdCluster that has or had that cluster ID; empty: none so far.
  std::string owner_of(const std::string& cluster_id) const;
  /// The first cluster ID of the EtcdCluster that has or had that ID; the ID itself if none had it.
  std::string home_of(const std::string& cluster_id) const;

 private:
  void member_deleted(const std::string& who, const kube::Call&, Instant sent);
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
  /// An operator's unanswered change of etcd.
  struct Change {
    std::string who, what;
    etcd::ClusterId cluster;
    std::vector<EtcdNet::Member> members;  // Before the change.
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
  std::map<etcd::ClusterId, Instant> quorum_at_;  // When a quorum last was observed.
  struct Pause {
    bool now = false;
    Instant until = Instant::min();
  };
  std::map<api::ObjectKey, Pause> pauses_;  // Clusters with replicas 0.
  std::set<std::string> announced_;         // UIDs of clusters that were Available.
  Instant hindered_ = Instant::min(), doubted_until_{};
  std::map<std::pair<etcd::ClusterId, etcd::MemberId>, Instant> served_;
  std::map<std::string, std::pair<std::int64_t, Instant>> edited_;  // Generation, by cluster UID.
  Instant struck_ = Instant::min();
  std::map<api::ObjectKey, std::pair<Instant, int>> wanted_;  // Highest size in the last minute.
  std::vector<Change> changes_;
  std::size_t births_ = 0;
  std::map<std::string, int> births_of_;  // By token.
  /// An EtcdCluster's status, by UID. A restore in place may go back to `way_back`.
  struct Identity {
    std::string cluster_id, token, way_back;
  };
  std::map<std::string, Identity> latched_;
  /// UIDs of EtcdRestores whose clusters cannot go back any more.
  std::set<std::string> committed_;
  /// When an EtcdCluster's status last had the token, as its own or as the way back; max: it still
  /// has.
  std::map<std::string, Instant> tokens_;
  std::map<std::string, std::string> first_ids_;  // By UID.
  std::map<std::string, std::string> owners_;     // UID by cluster ID.
  struct Stage {
    Instant since;
    api::v1alpha2::RestoreRecord record;
  };
  std::map<std::string, std::vector<Stage>> stages_;  // Restores in place, by cluster UID.
};

}  // namespace etcdop::sim
