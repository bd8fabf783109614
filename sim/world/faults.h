// Faults of a simulated world, by name; a seed turns some of them on.
#pragma once
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace etcdop::sim {

enum class Fault {
  ApiSlow,           ///< Calls take up to 9 s.
  ApiRefused,        ///< Calls are refused; nothing happened.
  ApiLost,           ///< Calls take effect and their answers are lost.
  ApiLate,           ///< A write arrives after its caller has given up.
  ApiConflict,       ///< A guarded write meets a newer version.
  ApiOutage,         ///< For a minute, no call reaches the server.
  WatchCut,          ///< Watches end early.
  WatchLag,          ///< Events come up to 5 s late, each kind with its own delay.
  WatchSilent,       ///< A kind's watch is silent for minutes.
  WatchExpired,      ///< The server forgets its history.
  EtcdSlow,          ///< Calls to etcd take up to 3 s.
  EtcdLost,          ///< Calls to etcd take effect and their answers are lost.
  EtcdBlackHole,     ///< A member's address takes calls and never answers, to operators.
  OperatorCrash,     ///< Killed anywhere, and started again.
  OperatorPause,     ///< Frozen for 20 s and more while another may lead.
  ClockJump,         ///< An operator's date jumps by up to an hour.
  ClockRate,         ///< An operator's clock runs at half or double speed.
  LeaseEdited,       ///< The Lease is deleted, or its holder is cleared.
  NodeDown,          ///< A node stops for a while; its Pods stay.
  EtcdKilled,        ///< An etcd process is killed; the kubelet starts it again.
  PodKilled,         ///< Pods are deleted.
  PodEvicted,        ///< Pods fail and stay as Failed.
  ImageErrors,       ///< Images cannot be pulled for a while.
  SlowStart,         ///< Pods take up to 40 s to start.
  DnsLag,            ///< New names take up to 60 s.
  StaleAddress,      ///< A freed address is given to a Pod of another tenant's etcd.
  Partition,         ///< Two members do not hear each other.
  SlowSnapshots,     ///< A learner takes up to 60 s for its first data.
  ForgetfulPeers,    ///< etcd issue 14523.
  Quota,             ///< Pods, volumes or Services are refused for a while.
  UserSpec,          ///< A user edits replicas, back and forth.
  UserVersion,       ///< A user edits the version, also to one that is not allowed.
  UserMembers,       ///< A user deletes EtcdMembers.
  UserServices,      ///< A user deletes Services.
  UserEtcdctl,       ///< A user adds learners and removes members with etcdctl.
  UserCluster,       ///< A user deletes the EtcdCluster, and recreates it.
  VolumeLost,        ///< One member's volume is lost.
  VolumeCorrupt,     ///< One member's data cannot be read.
  UserPassword,      ///< A user changes root's password.
  UserSecrets,       ///< A user deletes our certificates, or overwrites them.
  UserSnapshots,     ///< A user creates EtcdSnapshots, and deletes some.
  UserRestores,      ///< A user creates EtcdClusters from whatever is stored.
  UserInPlace,       ///< A user restores clusters in place, and changes the decision.
  UserJobs,          ///< A user deletes Jobs and their Pods.
  UserObjects,       ///< A user writes into the bucket, or removes objects.
  AgentKilled,       ///< Agents end in the middle of their work.
  StoreFaults,       ///< The object store is slow, busy, cut off, or wrong; the seed decides how.
  KubeletLag,        ///< A Pod's status reaches the API server seconds after etcd answers.
  PodRefused,        ///< A kubelet refuses new Pods for a while: each fails at once.
  OomKilled,         ///< One member's container uses too much memory again and again.
  WebhookDown,       ///< Creates of one kind wait for a webhook, and fail.
  OddNeighbours,     ///< Other clusters lose their data, and stay broken.
  AntiAffinity,      ///< Members must be on different nodes, for ever.
  ExactQuota,        ///< As many Pods as the clusters need, and not one more, for ever.
  UserOrphans,       ///< A user deletes an EtcdCluster with --cascade=orphan, and applies it again.
  UserKeepsVolumes,  ///< A user saves the volumes, deletes the EtcdCluster, and applies it again.
  UserLabels,        ///< A user edits labels, annotations and owner references of what we made.
  EtcdHung,          ///< An etcd process does nothing for minutes; its liveness probe fails.
  SlowDefrag,        ///< A user defragments, which takes up to minutes.
  SlowDisk,          ///< An etcd waits for its disk again and again, up to 3 s.
  ForeignData,       ///< One member's volume gets the data of somebody else's etcd.
  OneWayDials,       ///< A member cannot connect to another one, which can connect to it.
  OldCrds,           ///< The CRDs of an earlier release are installed for a while.
  OldBuild,          ///< During an upgrade, an operator of an earlier release may lead.
  WebhookSlow,       ///< Writes of one kind wait 12 to 30 s for a webhook, and succeed.
  WebhookRewrites,   ///< A webhook adds labels and defaults, and changes a label of ours.
  LatePolicy,        ///< A policy arrives: no new object of one kind is let in, until it heals.
  Sidecars,          ///< Admission adds containers, fields and labels to all new objects, for ever.
  DiskFull,          ///< The volume of a member is full for a while: its etcd ends at each start.
  UserChildren,      ///< A user edits the spec of what we made.
  UserFields,        ///< A user edits other fields of an EtcdCluster, and puts them back later.
  UserOrders,        ///< A user deletes EtcdSnapshots and EtcdRestores, and applies them again.
  kCount,
};

const char* to_string(Fault);
/// Whether an operator sees or acts late under it, so its reports may be late, too.
bool hinders(Fault);

/// The faults of a world. All are off once it heals.
class Faults {
 public:
  /// No faults.
  Faults() = default;
  /// A subset by the seed. One world in sixteen has none; six have one to three, and show what one
  /// cause does while all else works, four of them under operators that see well; the others have
  /// up to two thirds of all. Each fault is drawn by its name: a new one changes no draw of the
  /// others.
  static Faults draw(std::uint64_t seed);
  /// "api-lost,node-down"; "all"; "none". Invalid names unknown faults.
  static Result<Faults> parse(std::string_view);

  bool on(Fault f) const { return active_ && has(f); }
  bool has(Fault f) const { return set_[static_cast<std::size_t>(f)]; }
  void set(Fault f, bool on = true) { set_[static_cast<std::size_t>(f)] = on; }
  void heal() { active_ = false; }
  bool healed() const { return !active_; }
  /// Whether a fault that hinders operators is on.
  bool hinder() const;
  std::vector<Fault> list() const;
  std::string text() const;

 private:
  std::bitset<static_cast<std::size_t>(Fault::kCount)> set_;
  bool active_ = true;
};

}  // namespace etcdop::sim
