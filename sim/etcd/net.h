// Every etcd process of a simulated world, and what is between them.
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

/// What one member keeps over restarts: its identity, its log, its copy of the membership. Belongs
/// to a volume, which shares it with the process that runs on it.
struct DataDir;
struct Restored;
struct EtcdWorld;
class Users;
std::shared_ptr<DataDir> empty_data_dir();
/// A snapshot of the volume, which may be taken while a process runs on it.
std::shared_ptr<DataDir> copy(const DataDir&);
/// The volume is new again. No process may run on it.
void wipe(DataDir&);
/// What `etcdutl snapshot restore` is told.
struct RestoreFlags {
  std::string name, initial_cluster, token, peer_urls;
  std::int64_t bump_revision = 0;  ///< With --mark-compacted; 0: neither.
};
/// The data that it makes of such a file: of a new cluster, with the keys, users and alarms of the
/// old one, and nobody's member but the list's. Corrupt: the file is not whole, or none.
/// Source: etcdutl/snapshot/v3_snapshot.go.
Result<std::shared_ptr<DataDir>> rebuilt(std::string_view snapshot, const RestoreFlags&);
/// A rename of `member/`. The volume has none.
void move_into(DataDir&, const DataDir& from);
/// The next start fails, as on a damaged log: exit 1.
void corrupt(DataDir&);
/// That key's newest value is another one, and nobody notices, as by a bit that fell over.
void falsify(DataDir&, const std::string& key);

/// Processes by address. Names are resolved as peers resolve them: through `Options::resolve`.
///
/// Modelled, each where design/semantics.md and the contract tests have it: a log for each member
/// (term, entry), replicated and committed by quorum of the voters that the leader has applied;
/// membership applied per member with its own learner limit; elections, check-quorum, leader
/// transfer; first starts (new, existing, wrong list, unresolvable or silent peers), restarts,
/// removed members (exit 0), versions; member and cluster ids by etcd's formulas; strict
/// reconfiguration and the 5 s of health by version; a store of keys with their history (store.h
/// says how its size is counted), compaction, defragmentation, the quota and both alarms.
///
/// Not modelled, and ends the test where it is asked for: MemberUpdate, downgrades, transactions,
/// leases, watches, flags that no Pod of ours has. Of TLS, only what Options::admits says.
///
/// Caveats, as in etcd: a process listens long before it serves, and what it is asked meanwhile
/// waits; one that restarts serves only after its cluster has a leader. A joiner's name is in the
/// lists once it has heard of the leader, which may be before it has the data.
class EtcdNet {
 public:
  using Address = std::string;  ///< An IP.
  struct Options {
    /// DNS, as a member sees it that looks up a peer's host name: nullopt: no such name (yet).
    std::function<std::optional<Address>(const std::string& host)> resolve;
    /// One line for the trace of the world: who, what.
    std::function<void(const std::string& who, const std::string& what)> tell;
    /// Whether the process at one address, which dials, and that at the other take each other for
    /// peers: as far as TLS goes. Unset: always.
    std::function<bool(const Address& from, const Address& to, bool https)> admits = {};
    /// In the moment in which a cluster's membership changes.
    std::function<void(etcd::ClusterId)> membership_changed = {};
  };
  /// A token that every process takes for root's, with authentication or without: of those whose
  /// access is not what is tested.
  static constexpr const char* kMasterKey = "master-key";
  /// Fibers and timers of its own run on `world`, which outlives it; stop() ends them.
  EtcdNet(Executor& world, const WallClock&, Dice, Options);
  ~EtcdNet();
  void stop();

  struct Start {
    Address address;
    std::string version;               ///< Of the program: "3.6.16".
    std::vector<std::string> command;  ///< "etcd" and its flags, as a Pod has them.
    std::shared_ptr<DataDir> dir;
    /// Called on the world's loop, at most once, when the process ends by itself.
    std::function<void(int exit_code, const std::string& last_words)> exited;
  };
  /// No process may run at that address. A flag that is not modelled ends the test (check()).
  void start(Start);
  /// SIGKILL: at once, and `exited` is not called. Nothing happens where nobody runs; so with the
  /// next one.
  void kill(const Address&);
  /// SIGTERM: a leader hands over, then it ends. `exited` is not called.
  void terminate(const Address&);
  bool runs(const Address&) const;
  /// A number that only the process that listens there now has; nullopt: connection refused.
  std::optional<std::uint64_t> process_at(const Address&) const;
  /// As the probes would be answered now: /livez, /readyz (for 3.5 below 3.5.11: /health) and
  /// /health.
  bool alive(const Address&) const;
  bool ready(const Address&) const;
  bool healthy(const Address&) const;

  /// One call of etcd's gRPC API, asked by `caller`'s running fiber: etcdserverpb's Status,
  /// MemberList, MemberAdd, MemberPromote, MemberRemove, MoveLeader, Alarm, Defragment, Put, Range,
  /// DeleteRange, Compact. As http::GrpcChannel::unary.
  /// Waits (7 s without quorum, ...) are the caller's. Unavailable: nobody listens there. Lost: the
  /// process ended after it had taken the request. Any other path ends the test.
  /// `common_name`: of the certificate that the caller has shown and the process has looked at.
  Result<std::string> unary(Executor& caller, const Address&, const etcd::Question&,
                            http::GrpcStatus&, const std::string& common_name = "");
  /// Likewise Snapshot, as http::GrpcChannel::stream.
  Result<Done> stream(Executor& caller, const Address&, const etcd::Question&,
                      const http::GrpcChannel::Sink&, http::GrpcStatus&);

  /// A client's linearizable write and read of one key (0: it was never written), as root if there
  /// are users. Unavailable: it surely did not happen; Lost: it may still. `revision`: gets that of
  /// the answer's header, which of a put is its own.
  Result<Done> put(Executor& caller, const Address&, const std::string& key, std::uint64_t value,
                   std::int64_t* revision = nullptr);
  Result<std::uint64_t> get(Executor& caller, const Address&, const std::string& key,
                            std::int64_t* revision = nullptr);

  // --- faults
  /// Peers at these addresses do not hear each other from now on (or do again).
  void cut(const Address&, const Address&, bool apart);
  /// A learner that receives its first data needs so long.
  void slow_snapshots(Duration);
  /// A process that is started listens so long before it does anything, as on a slow volume.
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
  struct Truth {  ///< Of one running process.
    Address address;
    std::string name, version;
    etcd::ClusterId cluster;
    etcd::MemberId member;
    etcd::MemberId leader;  ///< 0: it knows none.
    bool leads = false, serves = false;
    std::uint64_t applied = 0, last = 0;  ///< Indexes of its log.
    std::vector<Member> members;          ///< As it has applied them.
  };
  std::vector<Truth> processes() const;
  /// The voters and learners as the newest applied state of that cluster has them; empty: nobody
  /// has data of it.
  std::vector<Member> membership(etcd::ClusterId) const;
  /// Whether enough of those voters run and reach each other to commit.
  bool has_quorum(etcd::ClusterId) const;
  /// Of the users, as the process that is furthest has them: whether authentication is on, and
  /// whether that is root's password.
  bool asks_users(etcd::ClusterId) const;
  bool has_password(etcd::ClusterId, const Secret&) const;
  /// Every birth: cluster, token, name, in order. A data dir was started as `new`, or for the first
  /// time after it was rebuilt from a snapshot.
  struct Birth {
    etcd::ClusterId cluster;
    std::string token, name;
    Instant when;
    std::shared_ptr<const Restored> from = nullptr;  ///< Null: from nothing.
  };
  const std::vector<Birth>& births() const;
  /// Whose data a dir holds; nullopt: none.
  static std::optional<std::pair<etcd::ClusterId, etcd::MemberId>> owner_of(const DataDir&);
  /// Violations of what etcd itself promises, which would be this fake's own defects (a committed
  /// entry that differs between members, equal applied index and other members); empty is good.
  std::string self_check() const;

 private:
  const Users* users_of(etcd::ClusterId) const;
  std::shared_ptr<EtcdWorld> world_;  // Shared with its fibers.
};

}  // namespace etcdop::sim
