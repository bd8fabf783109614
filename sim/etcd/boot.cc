// From a process's start until it takes part; runs on its own fiber because it waits for other
// members. Source: etcd's server/etcdserver/bootstrap.go, cluster_util.go and client/pkg/netutil.
#include <algorithm>

#include "sim/etcd/ids.h"
#include "sim/etcd/world.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;
constexpr Duration kResolveMax = 30s, kResolveAgain = 1s;
constexpr Duration kMembersMax = 10s;      // GetClusterFromRemotePeers
constexpr Duration kBootstrappedMax = 1s;  // BootstrapTimeout
constexpr Duration kVersionMax = 7s;       // ReqTimeout
constexpr Duration kDialMax = 2s;          // PeerDialTimeout
constexpr const char* kCancelled = "killed";

using Member = etcd::Member;
using Failure = std::optional<std::string>;  ///< The last words of a process that cannot start.

/// A process applies the log with its own learner limit. An add beyond that limit is refused, and
/// the later promotion then misses the member (contract: K15). It applies what comes after its raft
/// snapshot.
constexpr const char* kUnreadableLog =
    "membership: too many learner members in cluster\npanic: member unknown";
constexpr std::uint64_t kCatchUp = 5000;  // SnapshotCatchUpEntries

bool can_read(const Applied& log, std::uint64_t snapshot, const Flags& flags) {
  return log.most_learners <= flags.max_learners || log.several_learners_at <= snapshot;
}

/// The index up to which a joiner gets a snapshot from a member that leads: of all that was
/// applied, if the beginning of the log is compacted. 0: it gets the whole log.
std::uint64_t snapshot_for_joiners(const DataDir& dir) {
  return dir.snapshot > kCatchUp ? dir.applied.index : 0;
}

/// One start. Every wait may end because the process was killed.
class Boot {
 public:
  Boot(EtcdWorld& world, Process& process) : world_(world), process_(process) {}
  Failure run() {
    DataDir& dir = *process_.dir;
    if (!pause(world_.dice.between(30ms, 250ms))) return kCancelled;
    process_.listens = true;
    if (!pause(world_.start_takes + world_.dice.between(5ms, 50ms))) return kCancelled;
    if (dir.corrupt) return "walpb: crc mismatch";
    if (!can_read(dir.applied, dir.snapshot, process_.flags)) return kUnreadableLog;
    Failure failure;
    if (!dir.owner) failure = process_.flags.existing ? join() : found();
    else if (dir.restored && dir.entries.empty()) begin_restored();
    return failure ? failure : check_version();
  }

 private:
  bool pause(Duration d) {
    const Woken woken = world_.executor.sleep(d);
    return woken == Woken::Ready && process_.phase == Process::Phase::Boots;
  }

  Failure check_version() const {
    const int minor = process_.dir->applied.minor;
    if (minor <= process_.version.minor) return std::nullopt;
    // From 3.6 on, the data has a version of its own, which etcd checks first.
    if (process_.version.minor >= 6)
      return "version \"3." + std::to_string(minor) + ".0\" is not supported";
    return "invalid downgrade; server version is lower than determined cluster version";
  }

  // --- what --initial-cluster says

  const std::vector<std::string>* local_urls() const {
    for (const auto& listed : process_.flags.initial_cluster)
      if (listed.name == process_.flags.name) return &listed.peer_urls;
    return nullptr;
  }

  Failure check_list() const {
    for (const auto& listed : process_.flags.initial_cluster)
      for (const std::string& url : listed.peer_urls)
        if (!parse_url(url))
          return "error setting up initial cluster: URL scheme must be http, https, unix, or "
                 "unixs: " +
                 url;
    if (!local_urls())
      return "couldn't find local name \"" + process_.flags.name +
             "\" in the initial cluster configuration";
    std::set<std::string> urls;
    for (const auto& listed : process_.flags.initial_cluster)
      for (const std::string& url : listed.peer_urls)
        if (!urls.insert(url).second) return "initial cluster has duplicate url";
    return std::nullopt;
  }

  /// By ID; etcd computes the IDs as if this list founded a cluster.
  std::map<etcd::MemberId, Member> listed() const {
    std::map<etcd::MemberId, Member> members;
    for (const auto& one : process_.flags.initial_cluster) {
      const etcd::MemberId id = founding_id(one.peer_urls, process_.flags.token);
      members[id] = {.id = id,
                     .name = one.name,
                     .peer_urls = one.peer_urls,
                     .client_urls = {},
                     .learner = false};
    }
    return members;
  }

  std::vector<std::string> other_urls() const {
    std::vector<std::string> urls;
    for (const auto& one : process_.flags.initial_cluster)
      if (one.name != process_.flags.name)
        urls.insert(urls.end(), one.peer_urls.begin(), one.peer_urls.end());
    std::ranges::sort(urls);
    return urls;
  }

  // --- names

  struct Compared {
    bool equal = false, killed = false;
  };
  /// Compares by text, else by address. A name that does not resolve is retried until `end`.
  Compared same_urls(std::vector<std::string> a, std::vector<std::string> b, Instant end) {
    if (a.size() != b.size()) return {};
    std::ranges::sort(a);
    std::ranges::sort(b);
    if (a == b) return {.equal = true};
    for (auto* urls : {&a, &b})
      for (std::string& url : *urls)
        if (const Compared found = resolve(url, end); !found.equal) return found;
    std::ranges::sort(a);
    std::ranges::sort(b);
    return {.equal = a == b};
  }

  Compared resolve(std::string& text, Instant end) {
    auto url = parse_url(text);
    if (!url) return {};
    while (world_.executor.now() < end) {
      if (const auto address = world_.resolve(url->host)) {
        text = *address + ":" + url->port;
        return {.equal = true};
      }
      if (!pause(kResolveAgain)) return {.equal = false, .killed = true};
    }
    return {};
  }

  // --- answers of other members over HTTP

  enum class Answer { Refused, TimedOut, Served, Killed };
  /// A process that only listens so far accepts the request, and answers once it runs.
  Answer get(const std::string& url, Duration limit, Process*& from) {
    const Instant end = world_.executor.now() + limit;
    const auto dialled = world_.dial(process_, url);
    if (dialled.black_hole)
      return pause(std::min(limit, kDialMax)) ? Answer::TimedOut : Answer::Killed;
    if (!pause(world_.dice.between(200us, 2ms))) return Answer::Killed;
    if (!dialled.process) return Answer::Refused;
    while (world_.executor.now() < end) {
      from = world_.dial(process_, url).process;
      if (!from) return Answer::Refused;
      if (from->runs() && !from->hung) return Answer::Served;
      if (!pause(50ms)) return Answer::Killed;
    }
    return Answer::TimedOut;
  }

  struct Remote {
    bool killed = false;
    std::optional<etcd::ClusterId> cluster;
    std::vector<Member> members;
    std::uint64_t snapshot = 0;  // For joiners.
    bool readable = true;        // With this process's flags.
  };
  /// From the first that answers.
  Remote remote_members(Duration limit) {
    for (const std::string& url : other_urls()) {
      Process* from = nullptr;
      const Answer answer = get(url, limit, from);
      if (answer == Answer::Killed) return {.killed = true, .cluster = std::nullopt, .members = {}};
      if (answer != Answer::Served) continue;
      Remote remote{.killed = false,
                    .cluster = from->dir->owner->cluster,
                    .members = {},
                    .snapshot = snapshot_for_joiners(*from->dir),
                    .readable = can_read(from->dir->applied, snapshot_for_joiners(*from->dir),
                                         process_.flags)};
      for (const auto& [id, member] : from->dir->applied.members) remote.members.push_back(member);
      if (from->dir->applied.index == 0) remote.members = from->remotes;
      return remote;
    }
    return {};
  }

  // --- a new cluster

  Failure found() {
    const Instant end = world_.executor.now() + kResolveMax;
    if (auto wrong = check_list()) return wrong;
    const Compared advertised = same_urls(process_.flags.peer_urls, *local_urls(), end);
    if (advertised.killed) return kCancelled;
    if (!advertised.equal)
      return "--initial-cluster has " + process_.flags.name + "=" + local_urls()->front() +
             " but missing from --initial-advertise-peer-urls";
    const etcd::MemberId id = founding_id(*local_urls(), process_.flags.token);
    const Remote remote = remote_members(kBootstrappedMax);
    if (remote.killed) return kCancelled;
    for (const Member& member : remote.members)
      if (member.id == id && !member.client_urls.empty())
        return "member " + etcd::to_hex(id) + " has already been bootstrapped";
    const auto founders = listed();
    std::set<etcd::MemberId> ids;
    for (const auto& [founder, member] : founders) ids.insert(founder);
    process_.dir->owner = {.cluster = cluster_id(ids), .member = id};
    be_born(founders, process_.flags.token, process_.flags.name);
    return std::nullopt;
  }

  /// Its flags do not matter any more.
  void begin_restored() {
    const Restored& from = *process_.dir->restored;
    process_.dir->applied.begin_with(from.image);
    be_born(from.founders, from.token, from.name);
  }

  static Change add(const Member& member) {
    Change change;
    change.kind = Change::Kind::Add;
    change.member = member;
    return change;
  }

  void be_born(const std::map<etcd::MemberId, Member>& founders, const std::string& token,
               const std::string& name) {
    DataDir& dir = *process_.dir;
    Cluster& cluster = world_.cluster_of(process_);
    world_.births.push_back({.cluster = cluster.id,
                             .token = token,
                             .name = name,
                             .when = world_.executor.now(),
                             .from = dir.restored});
    world_.tell(process_, "is born, cluster " + etcd::to_hex(cluster.id) +
                              (dir.restored ? ", restored" : ""));
    if (cluster.written[dir.owner->member] > founders.size()) cluster.void_guarantees = true;
    const bool known = cluster.agreed.size() >= founders.size();
    std::size_t index = 0;
    for (const auto& [founder, member] : founders) {
      auto entry = known ? cluster.agreed[index] : nullptr;
      if (!entry || entry->term != 1 || entry->change.member != member)
        entry = std::make_shared<Entry>(Entry{.term = 1, .ticket = 0, .change = add(member)});
      dir.entries.push_back(entry);
      ++index;
    }
    dir.term = 1;
    world_.apply(cluster, process_, dir.last());
  }

  // --- a cluster that exists

  Failure join() {
    if (auto wrong = check_list()) return wrong;
    const Remote remote = remote_members(kMembersMax);
    if (remote.killed) return kCancelled;
    if (!remote.cluster)
      return "cannot fetch cluster info from peer urls: could not retrieve cluster information "
             "from the given URLs";
    auto local = listed();
    if (auto wrong = assign_ids(local, remote.members)) return wrong;
    const auto self = std::ranges::find_if(
        local, [&](const auto& one) { return one.second.name == process_.flags.name; });
    // Two names lead to one address, because the address of one was reused: both members get one
    // ID, and etcd panics on the ID that it then does not find.
    if (self == local.end()) return "panic: invalid memory address or nil pointer dereference";
    if (auto wrong = check_compatible(local, self->first)) return wrong;
    const auto learners = std::ranges::count_if(remote.members, &Member::learner);
    if (static_cast<std::size_t>(learners) > process_.flags.max_learners)
      return "membership: too many learner members in cluster";
    if (!remote.readable) return kUnreadableLog;
    process_.dir->owner = {.cluster = *remote.cluster, .member = self->first};
    process_.remotes = remote.members;
    process_.dir->received = remote.snapshot;
    Cluster& cluster = world_.cluster_of(process_);
    if (cluster.written[self->first] > 0) cluster.void_guarantees = true;
    return std::nullopt;
  }

  /// As ValidateClusterAndAssignIDs: each existing member takes the first listed one with its URLs,
  /// both in the order of their IDs. `local` is keyed by the existing IDs afterwards.
  Failure assign_ids(std::map<etcd::MemberId, Member>& local, const std::vector<Member>& existing) {
    const std::string doing = "error validating peerURLs: ";
    if (local.size() != existing.size()) return doing + "member count is unequal";
    const Instant end = world_.executor.now() + kResolveMax;
    std::vector<Member> members;
    for (const auto& [id, member] : local) members.push_back(member);
    for (const Member& wanted : existing) {
      bool found = false;
      for (Member& member : members) {
        const Compared same = same_urls(wanted.peer_urls, member.peer_urls, end);
        if (same.killed) return kCancelled;
        if (!same.equal) continue;
        member.id = wanted.id;
        found = true;
        break;
      }
      if (!found)
        return doing + "PeerURLs: no match found for existing member (" + etcd::to_hex(wanted.id) +
               ", [" + wanted.peer_urls.front() + "])";
    }
    local.clear();
    for (const Member& member : members) local[member.id] = member;
    return std::nullopt;
  }

  /// Asks every other member for its version, then whether a downgrade runs.
  Failure check_compatible(const std::map<etcd::MemberId, Member>& members, etcd::MemberId self) {
    bool compatible = false;
    for (const auto& [id, member] : members) {
      if (id == self) continue;
      Process* from = nullptr;
      const Answer answer = get(member.peer_urls.front(), kVersionMax, from);
      if (answer == Answer::Killed) return kCancelled;
      if (answer != Answer::Served || from->dir->applied.minor < 0) continue;
      if (from->dir->applied.minor > process_.version.minor)
        return "incompatible with current running cluster";
      compatible = true;
    }
    if (!ask_downgrade(members, self)) return kCancelled;
    if (!compatible) return "incompatible with current running cluster";
    return std::nullopt;
  }

  /// Asks the first member that can answer, which takes a linearizable read.
  bool ask_downgrade(const std::map<etcd::MemberId, Member>& members, etcd::MemberId self) {
    for (const auto& [id, member] : members) {
      if (id == self) continue;
      Process* from = nullptr;
      const Answer answer = get(member.peer_urls.front(), kVersionMax, from);
      if (answer == Answer::Killed) return false;
      if (answer != Answer::Served) continue;
      const Process* leader = world_.leader_of(*from);
      if (leader && world_.confirmed(*leader)) return true;
      if (!pause(kVersionMax)) return false;
    }
    return true;
  }

  EtcdWorld& world_;
  Process& process_;
};

}  // namespace

void EtcdWorld::boot(Process& process) {
  const Failure failure = Boot(*this, process).run();
  if (process.phase != Process::Phase::Boots) return;
  if (failure) return exit_later(process, Duration(0), failure == kUnreadableLog ? 2 : 1, *failure);
  run(process);
}

void EtcdWorld::run(Process& process) {
  Cluster& cluster = cluster_of(process);
  DataDir& dir = *process.dir;
  if (dir.copied || dir.last() < cluster.written[process.id()]) cluster.void_guarantees = true;
  process.phase = Process::Phase::Runs;
  process.contact_lost = executor.now();
  // etcd starts its first election timeout almost at its end.
  process.campaign_at =
      executor.now() +
      (dir.applied.members.size() == 1 ? dice.between(100ms, 1s) : dice.between(200ms, 1200ms));
  cluster.running.push_back(&process);
  cluster.stale_links = true;
  schedule(cluster, Duration(0));
}

}  // namespace etcdop::sim
