// The processes of EtcdNet and their interactions: connections (links.cc), logs (raft.cc), starts
// (boot.cc), requests (serve.cc).
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fiber.h"
#include "etcd/version_facts.h"
#include "sim/dice.h"
#include "sim/etcd/data_dir.h"
#include "sim/etcd/flags.h"
#include "sim/etcd/net.h"
#include "sim/etcd/timers.h"

namespace etcdop::sim {

struct Process;

/// A member's connection to another member, which it dialled.
struct Link {
  Process* to = nullptr;          ///< Null: not connected.
  std::uint64_t number = 0;       ///< The last process that it led to.
  std::optional<Instant> since;   ///< rafthttp's "active since".
  std::optional<Instant> silent;  ///< A cut is noticed 5 s later.
  bool forgotten = false;         ///< Believed to be inactive for ever.
};

/// The result of a proposal, at the member that waits for it.
struct Outcome {
  bool known = false;
  Refusal refusal;
  std::vector<etcd::Member> members;
  std::int64_t revision = 0, count = 0;
  Alarms alarms;
  std::string token;
};

/// A member's ID and index are those of its data dir.
struct Process {
  enum class Phase { Boots, Runs, Ended };
  EtcdNet::Address address;
  std::string version_text;
  etcd::Version version;
  etcd::VersionFacts facts;
  Flags flags;
  std::shared_ptr<DataDir> dir;
  std::function<void(int, const std::string&)> exited;
  std::uint64_t number = 0;  ///< Identifies this start.
  Phase phase = Phase::Boots;
  bool listens = false, serves = false, ends = false;
  bool terminated = false;  ///< Ended by SIGTERM.
  /// It does nothing at all; the kernel still takes connections for it.
  bool hung = false;
  /// Its raft loop waits for the disk: it takes and sends no message of raft's, and no time passes.
  bool stalls = false;
  /// Its database is locked: nothing is applied, and what reads the database waits.
  bool defragments = false;
  std::vector<etcd::Member> remotes;  ///< A joiner's: the members that it was told of.
  std::shared_ptr<Fiber> boot;

  // Raft state that is not on disk.
  bool leads = false;
  etcd::MemberId leader;
  std::uint64_t elections = 0;  ///< How often it saw a new leader.
  std::optional<Instant> contact_lost, campaign_at;
  std::optional<Instant> step_down_at, data_at;   ///< A leader's; a new learner's.
  std::map<etcd::MemberId, std::uint64_t> match;  ///< A leader's.
  std::uint64_t last_membership_change = 0;       ///< A leader's: the index in the log.
  std::optional<Instant> version_check;           ///< A leader's.
  std::uint64_t publishing = 0;                   ///< The ticket.
  Instant publish_again{};

  std::map<etcd::MemberId, Link> links;
  std::map<std::uint64_t, std::shared_ptr<Outcome>> awaited;  ///< By ticket.
  std::list<Wait*> watchers;                                  ///< Woken at each change.
  struct Session {
    std::string user;
    Instant used;
  };
  std::map<std::string, Session> tokens;
  /// The hashes at its last compactions, by revision. Source: storage/mvcc/hash.go.
  std::map<std::int64_t, etcd::KeyHash> hashes;

  bool runs() const { return phase == Phase::Runs; }
  bool takes_part() const { return runs() && !hung && !stalls; }
  etcd::MemberId id() const { return dir->owner ? dir->owner->member : etcd::MemberId{}; }
  bool votes() const { return dir->applied.votes(id()); }
};

/// The processes of one cluster ID, and all entries that they ever agreed on.
struct Cluster {
  etcd::ClusterId id;
  std::vector<Process*> running;  ///< In order of their starts.
  bool stale_links = true;
  std::optional<Instant> settle_at, dial_again;
  DataDir::Entries agreed;                          ///< Everything that any leader has committed.
  Applied newest;                                   ///< Members only.
  std::map<etcd::MemberId, std::uint64_t> written;  ///< The length of each member's log.
  bool void_guarantees = false;                     ///< A member came back with older data.
};

/// Its own fibers share it.
struct EtcdWorld : std::enable_shared_from_this<EtcdWorld> {
  using Address = EtcdNet::Address;
  EtcdWorld(Executor&, const WallClock&, Dice, EtcdNet::Options);
  void begin();
  void stop();

  // net.cc: processes
  void start(EtcdNet::Start);
  void end(Process&, bool gracefully);
  std::shared_ptr<Process> at(const Address&) const;
  void cut(const Address&, const Address&, bool apart);
  void block_dials(const Address& from, const Address& to, bool on);
  void hang(Process&, bool on);
  void stall(Process&, bool on);
  /// Rewrites the database, in time by its size.
  void defragment(Process&);
  void wake(Process&);
  void tell(const Process&, const std::string& what) const;
  /// The process exits by itself after `delay`; with 0 it does nothing from now on.
  void exit_later(Process&, Duration delay, int code, const std::string& words);
  /// A fiber of the world, ended by stop().
  std::shared_ptr<Fiber> spawn(std::function<void()> body);

  // links.cc
  struct Dialled {
    Process* process = nullptr;
    bool black_hole = false;  ///< False: no process listens there.
  };
  std::optional<Address> resolve(const std::string& host) const;
  Dialled dial(const Process& from, const std::string& url) const;
  bool apart(const Address&, const Address&) const;
  /// Whether they have a connection; and whether raft's messages pass on it.
  bool linked(const Process&, const Process&) const;
  bool talk(const Process& a, const Process& b) const {
    return linked(a, b) && a.takes_part() && b.takes_part();
  }
  Process* reachable(const Cluster&, const Process& from, etcd::MemberId) const;
  void go_on(Process&);
  std::optional<Instant> active_since(const Process&, etcd::MemberId) const;
  std::size_t connected_voters(const Process&) const;
  void relink(Cluster&);
  bool redial(Cluster&, Process&, const etcd::Member& peer);
  void connect(Link&, Process& to);
  void expel(Process&);
  void drop_links(Process&);

  // raft.cc
  Cluster& cluster_of(const Process&);
  void schedule(Cluster&, Duration after);
  void settle(Cluster&);
  /// Appends to the leader's log. False if it does not lead.
  bool propose(Process& leader, Change, std::uint64_t ticket);
  Process* leader_of(const Process&);
  /// Whether the leader can prove now that it still leads.
  bool confirmed(const Process& leader);
  /// Whether a linearizable read succeeds there now.
  bool reads(const Process&);
  std::size_t reachable_voters(const Cluster&, const Process&) const;
  /// Takes effect at once, even if the old leader is healthy. False if `to` cannot win.
  bool hand_over(Process& leader, etcd::MemberId to);
  std::uint64_t match_of(const Process& leader, etcd::MemberId) const;
  void apply(Cluster&, Process&, std::uint64_t commit);

  // boot.cc
  void boot(Process&);
  void run(Process&);  ///< The process takes part from now on.

  Executor& executor;
  const WallClock& wall;
  Dice dice;
  EtcdNet::Options options;
  Duration snapshot_takes{0}, start_takes{0};
  std::int64_t defragmented_per_s = 0;  ///< Bytes; 0: at once.
  std::uint64_t forgetful_percent = 0;
  std::map<Address, std::shared_ptr<Process>> processes;
  std::map<etcd::ClusterId, Cluster> clusters;
  std::set<std::pair<Address, Address>> cuts;
  std::set<std::pair<Address, Address>> blocked_dials;  ///< From, to.
  std::vector<EtcdNet::Birth> births;
  std::string violations;
  std::uint64_t tickets = 0;

 private:
  struct Voting;
  Voting ask_votes(const Cluster&, const Process& candidate, bool forced) const;
  void win(Cluster&, Process&, const Voting&);
  void campaign(Cluster&, Process&);
  void watch_leader(Cluster&, Process&);
  bool in_contact(const Cluster&, const Process&) const;
  void lead(Cluster&, Process&);
  void say_last_words(Cluster&, Process& leader);
  bool replicate(Cluster&, Process& leader, Process& follower, std::uint64_t known);
  void commit(Cluster&, Process& leader);
  void keep_quorum(Cluster&, Process& leader);
  void step_down(Process&);
  void follow(Process&, Process& leader);
  void took(Cluster&, Process&, const Entry&, const Taken&);
  static void remember_hash(Process&, std::int64_t compacted_before);
  void raise_no_space(Process&);
  void record(Cluster&, Process&);
  static bool refuses_all(const Process&);
  void publish(Process&);
  void agree_on_version(Cluster&, Process& leader);
  int lowest_minor(const Cluster&, const Process& leader) const;
  std::optional<Instant> next_due(const Cluster&) const;

  Timers timers_;
  std::uint64_t starts_ = 0, fibers_made_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Fiber>> fibers_;
  bool stopped_ = false;
  std::shared_ptr<Fiber> timer_fiber_;
};

}  // namespace etcdop::sim
