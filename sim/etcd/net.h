// Every etcd process of a simulated world, and the network between them.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"
#include "base/wall_time.h"
#include "etcd/grpc_client.h"
#include "etcd/member.h"
#include "http/grpc_channel.h"
#include "sim/dice.h"

namespace etcdop::sim {

/// A member's data across restarts: its identity, its log, its copy of the membership. Belongs to a
/// volume, which shares it with the process that runs on it.
struct DataDir;
struct Restored;
struct EtcdWorld;
struct Process;
class Users;
std::shared_ptr<DataDir> empty_data_dir();
/// Copies the volume; a process may run on it.
std::shared_ptr<DataDir> copy(const DataDir&);
/// Empties the volume. No process may run on it.
void wipe(DataDir&);
/// The flags of `etcdutl snapshot restore`.
struct RestoreFlags {
  std::string name, initial_cluster, token, peer_urls;
  std::int64_t bump_revision = 0;  ///< With --mark-compacted; 0: neither flag.
};
/// The data dir that it makes from a snapshot file: a new cluster with the keys, users and alarms
/// of the old one, and only the listed members. Corrupt: the file is truncated or no snapshot.
/// Source: etcdutl/snapshot/v3_snapshot.go.
Result<std::shared_ptr<DataDir>> rebuilt(std::string_view snapshot, const RestoreFlags&);
/// Renames `member/` into the volume, which has none.
void move_into(DataDir&, const DataDir& from);
/// The next start fails, as on a damaged log: exit 1.
void corrupt(DataDir&);
/// Silently changes the key's newest value, as a bit flip does.
void falsify(DataDir&, const std::string& key);

/// Processes by address. Names resolve as they do for peers: through `Options::resolve`.
///
/// Modelled, as design/semantics.md and the contract tests describe: a log for each member (term,
/// entry), replicated, and committed by a quorum of the voters that the leader has applied;
/// membership applied per member with its own learner limit; elections, check-quorum, leader
/// transfer; first starts (new, existing, wrong list, unresolvable or silent peers), restarts,
/// removed members (exit 0), versions; member and cluster IDs by etcd's formulas; strict
/// reconfiguration and the 5 s of health by version; a store of keys with their history (store.h
/// says how its size is counted), compaction, defragmentation, the quota and both alarms.
///
/// Not modelled (a call ends the test): MemberUpdate, downgrades, transactions, leases, watches,
/// flags that no Pod of ours has. TLS is modelled only as Options::admits.
///
/// Caveats, as in etcd: a process listens long before it serves, and requests wait meanwhile; a
/// restarted process serves only after its cluster has a leader. A joiner's name is in the lists
/// once it has heard of the leader, perhaps before it has the data.
class EtcdNet {
 public:
  using Address = std::string;  ///< An IP.
  struct Options {
    /// DNS as members see it when they look up a peer's host name; nullopt: no such name (yet).
    std::function<std::optional<Address>(const std::string& host)> resolve;
    /// One line for the trace of the world.
    std::function<void(const std::string& who, const std::string& what)> tell;
    /// Whether TLS lets the process at `from`, which dials, and the process at `to` accept each
    /// other as peers. Unset: always.
    std::function<bool(const Address& from, const Address& to, bool https)> admits = {};
    /// Called at the moment when a cluster's membership changes.
    std::function<void(etcd::ClusterId)> membership_changed = {};
  };
  /// Every process accepts this token as root's, with or without authentication. For callers whose
  /// access is not under test.
  static constexpr const char* kMasterKey = "master-key";
  /// Its own fibers and timers run on `world`, which outlives it; stop() ends them.
  EtcdNet(Executor& world, const WallClock&, Dice, Options);
  ~EtcdNet();
  void stop();

  struct Start {
    Address address;
    std::string version;               ///< The program's version: "3.6.16".
    std::vector<std::string> command;  ///< "etcd" and its flags, as in a Pod.
    std::shared_ptr<DataDir> dir;
    /// Called on the world's loop, at most once, when the process exits by itself.
    std::function<void(int exit_code, const std::string& last_words)> exited;
  };
  /// No process may run at that address yet. A flag that is not modelled ends the test (check()).
  void start(Start);
  /// SIGKILL: ends it at once, without calling `exited`. No effect if no process runs there; the
  /// same holds for terminate().
  void kill(const Address&);
  /// SIGTERM: a leader hands over, then the process ends. `exited` is not called.
  void terminate(const Address&);
  bool runs(const Address&) const;
  /// A number unique to the process that listens there now; nullopt: connection refused.
  std::optional<std::uint64_t> process_at(const Address&) const;
  /// The probes' answers now: /livez, /readyz (below 3.5.11: /health) and /health.
  bool alive(const Address&) const;
  /// Whether a probe of its peer port succeeds; the kernel answers it.
  bool listens(const Address&) const;
  bool ready(const Address&) const;
  bool healthy(const Address&) const;

  /// etcd_network_snapshot_receive_inflights_total on the page of metrics. Unavailable: no process
  /// listens there.
  Result<bool> receives_snapshot(const Address&) const;

  /// One call of etcd's gRPC API by `caller`'s running fiber: etcdserverpb's Status, MemberList,
  /// MemberAdd, MemberPromote, MemberRemove, MoveLeader, Alarm, Defragment, Put, Range,
  /// DeleteRange, Compact. As http::GrpcChannel::unary.
  /// The call blocks the caller (7 s without quorum, ...). Unavailable: no process listens there.
  /// Lost: the process ended after it had taken the request. Any other path ends the test.
  /// `common_name`: from the client certificate that the process has verified.
  Result<std::string> unary(Executor& caller, const Address&, const etcd::Question&,
                            http::GrpcStatus&, const std::string& common_name = "");
  /// The same for Snapshot, as http::GrpcChannel::stream.
  Result<Done> stream(Executor& caller, const Address&, const etcd::Question&,
                      const http::GrpcChannel::Sink&, http::GrpcStatus&);

  /// A client's linearizable write and read of one key (0: never written), as root if there are
  /// users. Unavailable: it surely did not happen; Lost: it may still happen. `revision`: receives
  /// the revision of the answer's header; for a put, that is the put's own.
  Result<Done> put(Executor& caller, const Address&, const std::string& key, std::uint64_t value,
                   std::int64_t* revision = nullptr);
  Result<std::uint64_t> get(Executor& caller, const Address&, const std::string& key,
                            std::int64_t* revision = nullptr);

  // --- faults
  /// From now on, peers at these addresses do not hear each other (or hear each other again).
  void cut(const Address&, const Address&, bool apart);
  /// From now on, `from` cannot connect to the peer port of `to` (or it can again); `to` can
  /// connect to `from`. A packet filter that drops packets in one direction only is a cut instead:
  /// TCP needs both.
  void block_dials(const Address& from, const Address& to, bool on);
  /// From now on, the process there does nothing, as one that waits for its disk for ever (or it
  /// goes on). Whoever asks it waits. No effect on one that still starts.
  void hang(const Address&, bool on);
  bool hangs(const Address&) const;
  /// Whether SIGTERM ends the process soon: not where it hangs, or locks its database.
  bool hears_sigterm(const Address&) const;
  /// The same for its raft loop only, which waits for an fsync: it answers what needs no quorum.
  void stall(const Address&, bool on);
  /// Ends both everywhere.
  void free_all();
  /// From now on, a defragmentation takes time by the size of the file; 0: none.
  void slow_defragmentations(std::int64_t bytes_per_second);
  /// A learner takes this long to receive its first data.
  void slow_snapshots(Duration);
  /// A started process listens for this long before it does anything, as on a slow volume.
  void slow_starts(Duration);
  /// etcd issue 14523: after a restart of a peer, some members believe for ever that it is
  /// inactive, and refuse changes (`unhealthy cluster`) as if it were dead. Percent of such pairs.
  void forgetful_peers(std::uint64_t percent);

  // --- ground truth, for checkers. Never suspends.
  struct Member {
    etcd::MemberId id;
    std::string name, peer_url;
    bool learner = false;
    bool operator==(const Member&) const = default;
  };
  struct Truth {  ///< State of one running process.
    Address address;
    std::string name, version;
    etcd::ClusterId cluster;
    etcd::MemberId member;
    etcd::MemberId leader;  ///< 0: unknown.
    bool leads = false, serves = false;
    std::uint64_t applied = 0, last = 0;  ///< Indexes of its log.
    std::vector<Member> members;          ///< As it has applied them.
  };
  std::vector<Truth> processes() const;
  /// The voters and learners in the newest applied state of that cluster; empty: no member has data
  /// of it.
  std::vector<Member> membership(etcd::ClusterId) const;
  /// Whether enough of these voters run and reach each other to commit.
  bool has_quorum(etcd::ClusterId) const;
  /// From the users of the process that has applied most: whether authentication is on, and whether
  /// that is root's password.
  bool asks_users(etcd::ClusterId) const;
  bool has_password(etcd::ClusterId, const Secret&) const;
  /// Whether the process that has applied most knows such an alarm.
  bool has_alarm(etcd::ClusterId, etcd::AlarmKind) const;
  /// Every birth in order: cluster, token, name. A birth is a data dir's start as `new`, or its
  /// first start after it was rebuilt from a snapshot.
  struct Birth {
    etcd::ClusterId cluster;
    std::string token, name;
    Instant when;
    std::shared_ptr<const Restored> from = nullptr;  ///< Null: from nothing.
  };
  const std::vector<Birth>& births() const;
  /// The cluster and member that a dir belongs to; nullopt: none.
  static std::optional<std::pair<etcd::ClusterId, etcd::MemberId>> owner_of(const DataDir&);
  /// Violations of what etcd itself promises, which are defects of this fake (a committed entry
  /// that differs between members, equal applied index and other members); empty if none.
  std::string self_check() const;

 private:
  const Process* furthest(etcd::ClusterId) const;
  const Users* users_of(etcd::ClusterId) const;
  std::shared_ptr<EtcdWorld> world_;  // Shared with its fibers.
};

}  // namespace etcdop::sim
