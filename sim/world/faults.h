// What may go wrong in a simulated world, by name; a seed switches a part of it on.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/dice.h"

namespace etcdop::sim {

enum class Fault {
  ApiSlow,         ///< Calls take up to 9 s.
  ApiRefused,      ///< Calls are refused; nothing happened.
  ApiLost,         ///< Calls are done and their answers lost.
  ApiLate,         ///< A write arrives after its caller has given up.
  ApiConflict,     ///< A guarded write meets a newer version.
  ApiOutage,       ///< For a minute, nobody reaches the server.
  WatchCut,        ///< Watches end early.
  WatchLag,        ///< Events come up to 5 s late, each kind in its own time.
  WatchSilent,     ///< A kind's watch says nothing for minutes.
  WatchExpired,    ///< The server forgets its history.
  EtcdSlow,        ///< Calls to etcd take up to 3 s.
  EtcdLost,        ///< Calls to etcd are done and their answers lost.
  EtcdBlackHole,   ///< A member's address takes calls and never answers, to operators.
  OperatorCrash,   ///< Killed anywhere, and started again.
  OperatorPause,   ///< Frozen for 20 s and more while another may lead.
  ClockJump,       ///< An operator's date jumps by up to an hour.
  ClockRate,       ///< An operator's clock runs at half or double speed.
  LeaseEdited,     ///< The Lease is deleted, or given to nobody.
  NodeDown,        ///< A node stops for a while; its Pods stay.
  EtcdKilled,      ///< An etcd process is killed; the kubelet starts it again.
  PodKilled,       ///< Pods are deleted.
  PodEvicted,      ///< Pods fail and stay as Failed.
  ImageErrors,     ///< Images cannot be pulled for a while.
  SlowStart,       ///< Pods take up to 40 s to start.
  DnsLag,          ///< New names take up to 60 s.
  StaleAddress,    ///< A freed address is given to a Pod of another tenant's etcd.
  Partition,       ///< Two members do not hear each other.
  SlowSnapshots,   ///< A learner takes up to 60 s for its first data.
  ForgetfulPeers,  ///< etcd issue 14523.
  Quota,           ///< Pods, volumes or Services are refused for a while.
  UserSpec,        ///< Somebody edits replicas, back and forth.
  UserVersion,     ///< Somebody edits the version, also to what is not allowed.
  UserMembers,     ///< Somebody deletes EtcdMembers.
  UserServices,    ///< Somebody deletes Services.
  UserEtcdctl,     ///< Somebody adds learners and removes members behind our back.
  UserCluster,     ///< Somebody deletes the EtcdCluster, and makes it again.
  VolumeLost,      ///< One member's volume is gone.
  VolumeCorrupt,   ///< One member's data cannot be read.
  UserPassword,    ///< Somebody changes root's password.
  UserSecrets,     ///< Somebody deletes certificates of ours, or writes something else.
  UserSnapshots,   ///< Somebody makes EtcdSnapshots, and deletes some.
  UserRestores,    ///< Somebody makes EtcdClusters of what is stored, whatever that is.
  UserInPlace,     ///< Somebody takes clusters back to what is stored, and changes the mind.
  UserJobs,        ///< Somebody deletes Jobs and their Pods.
  UserObjects,     ///< Somebody writes into the bucket, or removes what is there.
  AgentKilled,     ///< Agents end in the middle of their work.
  StoreFaults,     ///< The object store is slow, busy, cut off, or lies; each seed has other ways.
  kCount,
};

const char* to_string(Fault);

/// Which of them a world has. Off as a whole once it is to heal.
class Faults {
 public:
  /// None.
  Faults() = default;
  /// A subset: each seed has another one, from none to nearly all.
  static Faults draw(Dice&);
  /// "api-lost,node-down"; "all"; "none". Invalid names what is unknown.
  static Result<Faults> parse(std::string_view);

  bool on(Fault f) const { return active_ && has(f); }
  bool has(Fault f) const { return set_ >> static_cast<unsigned>(f) & 1U; }
  void set(Fault f, bool on = true);
  void heal() { active_ = false; }
  bool healed() const { return !active_; }
  std::vector<Fault> list() const;
  std::string text() const;

 private:
  std::uint64_t set_ = 0;
  bool active_ = true;
};

}  // namespace etcdop::sim
