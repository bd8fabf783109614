// The logs of a cluster: elections, replication, commit and apply. Each step is instantaneous, at
// the moments that schedule() asks for; the delays between them stand for the network.
#include <algorithm>
#include <functional>

#include "sim/etcd/world.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;
constexpr Duration kElectionTimeout = 1s;
constexpr Duration kRequestLimit = 7s;            // 5 s and two election timeouts.
constexpr Duration kVersionInterval = 5s;         // monitorVersionInterval
constexpr Duration kPermanentlyRemovedStop = 1s;  // applyEntries: stopWithDelay

std::size_t quorum_of(std::size_t voters) { return voters / 2 + 1; }

void believe(Process& process, etcd::MemberId leader) {
  if (process.leader == leader) return;
  process.leader = leader;
  if (leader.value != 0) ++process.elections;
}

/// A member without data also gets the state before the log.
void take_base(DataDir& to, const DataDir& from) {
  to.restored = from.restored;
  to.applied.begin_with(from.restored->image);
}

}  // namespace

/// The votes that a candidate would get.
struct EtcdWorld::Voting {
  bool won = false;
  std::uint64_t term = 0;
  std::vector<Process*> granted;
  std::optional<Instant> again;  ///< Until then, a voter still trusts an old leader.
};

Cluster& EtcdWorld::cluster_of(const Process& process) {
  Cluster& cluster = clusters[process.dir->owner->cluster];
  cluster.id = process.dir->owner->cluster;
  return cluster;
}

void EtcdWorld::schedule(Cluster& cluster, Duration after) {
  const Instant when = executor.now() + after;
  if (stopped_ || (cluster.settle_at && *cluster.settle_at <= when)) return;
  cluster.settle_at = when;
  timers_.at(when, [this, id = cluster.id, when] {
    Cluster& found = clusters[id];
    if (found.settle_at == when) settle(found);
  });
}

void EtcdWorld::settle(Cluster& cluster) {
  cluster.settle_at.reset();
  const bool dials = cluster.dial_again && *cluster.dial_again <= executor.now();
  if (cluster.stale_links || dials) relink(cluster);
  for (Process* process : cluster.running)
    if (process->takes_part() && process->leads) lead(cluster, *process);
  for (Process* process : cluster.running)
    if (process->takes_part()) watch_leader(cluster, *process);
  for (Process* process : cluster.running)
    if (process->takes_part() && !process->serves) publish(*process);
  for (Process* process : cluster.running) wake(*process);
  if (cluster.stale_links) schedule(cluster, Duration(0));
  else if (const auto due = next_due(cluster)) schedule(cluster, *due - executor.now());
}

std::optional<Instant> EtcdWorld::next_due(const Cluster& cluster) const {
  std::optional<Instant> next;
  const auto consider = [&](const std::optional<Instant>& when) {
    if (when && *when > executor.now() && (!next || *when < *next)) next = when;
  };
  consider(cluster.dial_again);
  for (const Process* process : cluster.running) {
    if (!process->takes_part()) continue;
    consider(process->campaign_at);
    consider(process->step_down_at);
    consider(process->data_at);
    consider(process->version_check);
    if (process->publishing != 0 && !process->serves) consider(process->publish_again);
  }
  return next;
}

// --- elections

Process* EtcdWorld::leader_of(const Process& process) {
  for (Process* other : cluster_of(process).running)
    if (other->leads && other->id() == process.leader && other->dir->term == process.dir->term &&
        other->runs() && (other == &process || talk(*other, process)))
      return other;
  return nullptr;
}

bool EtcdWorld::in_contact(const Cluster& cluster, const Process& process) const {
  return std::ranges::any_of(cluster.running, [&](const Process* leader) {
    return leader->leads && leader->id() == process.leader &&
           leader->dir->term == process.dir->term &&
           leader->dir->applied.members.contains(process.id()) && talk(*leader, process);
  });
}

EtcdWorld::Voting EtcdWorld::ask_votes(const Cluster& cluster, const Process& candidate,
                                       bool forced) const {
  Voting voting;
  std::size_t votes = 1;
  voting.term = candidate.dir->term + 1;
  const auto voters = candidate.dir->applied.voters();
  for (const etcd::MemberId id : voters) {
    Process* voter = id == candidate.id() ? nullptr : reachable(cluster, candidate, id);
    if (!voter) continue;
    const DataDir &theirs = *voter->dir, &ours = *candidate.dir;
    if (std::pair(theirs.last_term(), theirs.last()) > std::pair(ours.last_term(), ours.last()))
      continue;
    if (!forced && (voter->leads || in_contact(cluster, *voter))) continue;
    const auto lost = voter->contact_lost;
    if (!forced && lost && voter->leader.value != 0 && executor.now() < *lost + kElectionTimeout) {
      voting.again = std::max(voting.again.value_or(*lost), *lost + kElectionTimeout);
      continue;
    }
    ++votes;
    voting.term = std::max(voting.term, theirs.term + 1);
    voting.granted.push_back(voter);
  }
  voting.won = candidate.votes() && votes >= quorum_of(voters.size());
  return voting;
}

void EtcdWorld::win(Cluster& cluster, Process& leader, const Voting& voting) {
  leader.dir->term = voting.term;
  leader.leads = true;
  believe(leader, leader.id());
  leader.match.clear();
  leader.step_down_at.reset();
  leader.version_check.reset();
  leader.contact_lost.reset();
  leader.campaign_at.reset();
  leader.dir->entries.push_back(
      std::make_shared<Entry>(Entry{.term = voting.term, .ticket = 0, .change = {}}));
  leader.last_membership_change = leader.dir->last();
  for (Process* voter : voting.granted) follow(*voter, leader);
  tell(leader, "leads in term " + std::to_string(voting.term));
  schedule(cluster, dice.between(1ms, 2ms));
}

void EtcdWorld::follow(Process& process, Process& leader) {
  process.dir->term = leader.dir->term;
  process.leads = false;
  believe(process, leader.id());
  process.contact_lost.reset();
  process.campaign_at.reset();
}

void EtcdWorld::step_down(Process& process) {
  process.leads = false;
  process.leader = {};
  process.step_down_at.reset();
  process.version_check.reset();
  process.contact_lost = executor.now();
  process.campaign_at = executor.now() + dice.between(kElectionTimeout, 2 * kElectionTimeout);
}

void EtcdWorld::campaign(Cluster& cluster, Process& process) {
  process.leader = {};
  const Voting voting = ask_votes(cluster, process, false);
  if (voting.won) return win(cluster, process, voting);
  if (voting.again)
    process.campaign_at =
        std::max(*voting.again, executor.now()) + dice.between(1ms, kElectionTimeout / 2);
}

void EtcdWorld::watch_leader(Cluster& cluster, Process& process) {
  // A learner, or a joiner without data, waits and keeps its belief.
  if (process.leads || !process.votes()) return;
  if (in_contact(cluster, process)) {
    process.contact_lost.reset();
    process.campaign_at.reset();
    return;
  }
  const Instant now = executor.now();
  if (!process.contact_lost) {
    process.contact_lost = now;
    process.campaign_at = now + dice.between(kElectionTimeout, 2 * kElectionTimeout);
  }
  if (process.campaign_at && *process.campaign_at <= now) {
    process.campaign_at.reset();
    campaign(cluster, process);
  } else if (!process.campaign_at && ask_votes(cluster, process, false).won) {
    // It has been trying all the time.
    process.campaign_at = now + dice.between(20ms, kElectionTimeout);
  }
}

bool EtcdWorld::hand_over(Process& leader, etcd::MemberId to) {
  Cluster& cluster = cluster_of(leader);
  Process* heir = reachable(cluster, leader, to);
  if (!heir || !heir->runs() || !leader.leads) return false;
  if (!replicate(cluster, leader, *heir, leader.dir->commit)) return false;
  const Voting voting = ask_votes(cluster, *heir, true);
  if (!voting.won) return false;
  win(cluster, *heir, voting);
  return true;
}

// --- the log

bool EtcdWorld::propose(Process& leader, Change change, std::uint64_t ticket) {
  if (!leader.takes_part() || !leader.leads) return false;
  Cluster& cluster = cluster_of(leader);
  DataDir& dir = *leader.dir;
  if (change.of_membership()) {
    // Raft drops a change while another one is not applied; its caller waits in vain.
    if (leader.last_membership_change > dir.applied.index) change = {}, ticket = 0;
    else leader.last_membership_change = dir.last() + 1;
  }
  dir.entries.push_back(std::make_shared<Entry>(
      Entry{.term = dir.term, .ticket = ticket, .change = std::move(change)}));
  schedule(cluster, dice.between(1ms, 3ms));
  return true;
}

std::uint64_t EtcdWorld::match_of(const Process& leader, etcd::MemberId id) const {
  if (id == leader.id()) return leader.dir->last();
  const auto found = leader.match.find(id);
  return found == leader.match.end() ? 0 : found->second;
}

std::size_t EtcdWorld::reachable_voters(const Cluster& cluster, const Process& leader) const {
  std::size_t count = 0;
  for (const etcd::MemberId id : leader.dir->applied.voters()) {
    const Process* voter = id == leader.id() ? &leader : reachable(cluster, leader, id);
    if (voter && voter->dir->term <= leader.dir->term) ++count;
  }
  return count;
}

bool EtcdWorld::confirmed(const Process& leader) {
  const DataDir& dir = *leader.dir;
  return leader.takes_part() && leader.leads && dir.term_at(dir.commit) == dir.term &&
         reachable_voters(cluster_of(leader), leader) >= quorum_of(dir.applied.voters().size());
}

bool EtcdWorld::reads(const Process& process) {
  const Process* leader = leader_of(process);
  return leader && confirmed(*leader);
}

void EtcdWorld::lead(Cluster& cluster, Process& leader) {
  const std::uint64_t known = leader.dir->commit;
  for (const auto& [id, member] : leader.dir->applied.members) {
    Process* follower = id == leader.id() ? nullptr : reachable(cluster, leader, id);
    if (follower && !replicate(cluster, leader, *follower, known)) return;
  }
  commit(cluster, leader);
  if (leader.dir->commit > known) schedule(cluster, dice.between(1ms, 4ms));  // Followers learn it.
  if (!leader.leads) return say_last_words(cluster, leader);
  keep_quorum(cluster, leader);
  if (leader.leads) agree_on_version(cluster, leader);
}

/// A leader that has removed itself goes on for a second, so that the others hear of it. Otherwise,
/// of two members, the remaining one would wait for a second vote for ever.
void EtcdWorld::say_last_words(Cluster& cluster, Process& leader) {
  if (leader.dir->applied.members.contains(leader.id())) return;
  for (const auto& [id, member] : leader.dir->applied.members) {
    Process* follower = reachable(cluster, leader, id);
    if (follower && !replicate(cluster, leader, *follower, leader.dir->commit)) return;
  }
}

/// False if that ends the leader's term. `known`: the commit index that the follower hears.
bool EtcdWorld::replicate(Cluster& cluster, Process& leader, Process& follower,
                          std::uint64_t known) {
  DataDir &from = *leader.dir, &to = *follower.dir;
  if (to.term > from.term) {
    from.term = to.term;
    step_down(leader);
    return false;
  }
  if (follower.leads && to.term == from.term) return true;  // Only if data was brought back.
  follow(follower, leader);
  if (to.entries.empty()) {
    if (!follower.data_at)
      follower.data_at = executor.now() + snapshot_takes + dice.between(5ms, 50ms);
    if (executor.now() < *follower.data_at) return true;
    if (from.restored) take_base(to, from);
  }
  std::uint64_t& match = leader.match[follower.id()];
  const std::uint64_t same = to.shared_with(from);
  if (to.last() < std::min(match, known) || same < to.commit) {
    exit_later(follower, Duration(0), 2,
               "tocommit(" + std::to_string(known) + ") is out of range [lastIndex(" +
                   std::to_string(to.last()) +
                   ")]. Was the raft log corrupted, truncated, or lost?");
    return true;
  }
  to.entries.resize(same);
  to.entries.insert(to.entries.end(), from.entries.begin() + static_cast<std::ptrdiff_t>(same),
                    from.entries.end());
  match = to.last();
  cluster.written[follower.id()] = to.last();
  apply(cluster, follower, std::min(known, to.last()));
  return true;
}

void EtcdWorld::commit(Cluster& cluster, Process& leader) {
  DataDir& dir = *leader.dir;
  cluster.written[leader.id()] = dir.last();
  while (leader.leads && leader.votes()) {
    std::vector<std::uint64_t> matches;
    for (const etcd::MemberId id : dir.applied.voters()) matches.push_back(match_of(leader, id));
    std::ranges::sort(matches, std::greater());
    const std::uint64_t agreed = matches[quorum_of(matches.size()) - 1];
    if (agreed <= dir.commit || dir.term_at(agreed) != dir.term) return;
    std::uint64_t next = dir.commit + 1;  // A membership change changes the quorum.
    while (next < agreed && !dir.entries[next - 1]->change.of_membership()) ++next;
    apply(cluster, leader, next);
  }
}

void EtcdWorld::keep_quorum(Cluster& cluster, Process& leader) {
  const std::size_t wanted = quorum_of(leader.dir->applied.voters().size());
  if (reachable_voters(cluster, leader) >= wanted) return leader.step_down_at.reset();
  if (!leader.step_down_at)
    leader.step_down_at = executor.now() + dice.between(kElectionTimeout, 2 * kElectionTimeout);
  if (*leader.step_down_at <= executor.now()) {
    tell(leader, "leads no more: no quorum");
    step_down(leader);
  }
}

void EtcdWorld::apply(Cluster& cluster, Process& process, std::uint64_t commit) {
  DataDir& dir = *process.dir;
  dir.commit = std::max(dir.commit, commit);
  while (dir.applied.index < dir.commit && !process.defragments &&
         process.phase != Process::Phase::Ended) {
    const Entry& entry = *dir.entries[dir.applied.index];
    const bool had_space = !any(dir.applied.alarms, AlarmKind::NoSpace);
    const std::int64_t compacted = dir.applied.store.compacted();
    const bool by_snapshot = dir.applied.index < dir.received;
    const Taken taken = dir.applied.take(entry, process.flags, process.facts, by_snapshot);
    if (dir.applied.index > dir.snapshot + process.flags.snapshot_count)
      dir.snapshot = dir.applied.index;
    record(cluster, process);
    if (dir.applied.store.compacted() != compacted) remember_hash(process, compacted);
    took(cluster, process, entry, taken);
    if (had_space && taken.refusal.code == kResourceExhausted) raise_no_space(process);
  }
}

/// Compares the entry just applied with what other members applied at that index.
void EtcdWorld::record(Cluster& cluster, Process& process) {
  const DataDir& dir = *process.dir;
  const std::uint64_t index = dir.applied.index;
  auto& agreed = cluster.agreed;
  const bool differs = agreed.size() >= index && agreed[index - 1] != dir.entries[index - 1];
  if (differs && !cluster.void_guarantees)
    violations += process.address + " applied another entry " + std::to_string(index) +
                  " than others of cluster " + etcd::to_hex(cluster.id) + "\n";
  if (differs) agreed.resize(index - 1);
  if (agreed.size() < index) agreed.push_back(dir.entries[index - 1]);
  const Change& change = dir.entries[index - 1]->change;
  if (!change.of_membership() && change.kind != Change::Kind::Publish) return;
  if (index <= cluster.newest.index && !differs) return;
  cluster.newest.index = index;
  cluster.newest.members = dir.applied.members;
  if (change.of_membership() && options.membership_changed) options.membership_changed(cluster.id);
}

void EtcdWorld::took(Cluster& cluster, Process& process, const Entry& entry, const Taken& taken) {
  const Change& change = entry.change;
  if (const auto found = process.awaited.find(entry.ticket); found != process.awaited.end()) {
    Outcome& outcome = *found->second;
    outcome.known = true;
    outcome.refusal = taken.refusal;
    outcome.count = taken.count;
    outcome.alarms = taken.alarms;
    outcome.revision = process.dir->applied.store.revision();
    outcome.token = taken.token;
    for (const auto& [id, member] : process.dir->applied.members) outcome.members.push_back(member);
  }
  if (!taken.expired.empty())
    std::erase_if(process.tokens,
                  [&](const auto& token) { return token.second.user == taken.expired; });
  if (!taken.token.empty()) process.tokens[taken.token] = {change.user, executor.now()};
  if (entry.ticket != 0 && entry.ticket == process.publishing) {
    process.serves = true;
    tell(process, "serves");
  }
  if (process.leads && entry.term == process.dir->term && change.kind == Change::Kind::None)
    process.version_check = executor.now();
  if (change.kind == Change::Kind::Version && change.minor > process.version.minor)
    exit_later(process, Duration(0), 2,
               "invalid downgrade; server version is lower than determined cluster version");
  if (!change.of_membership() || taken.refusal.code != 0) return;
  cluster.stale_links = true;
  if (process.leads)
    tell(process, std::string(change.kind == Change::Kind::Add       ? "added "
                              : change.kind == Change::Kind::Promote ? "promoted "
                                                                     : "removed ") +
                      etcd::to_hex(change.member.id));
  if (change.kind != Change::Kind::Remove) return;
  process.match.erase(change.member.id);
  if (change.member.id != process.id()) return;
  if (process.leads) step_down(process);
  exit_later(process, kPermanentlyRemovedStop, 0,
             "the member has been permanently removed from the cluster");
}

// --- what members tell each other by themselves

void EtcdWorld::remember_hash(Process& process, std::int64_t compacted_before) {
  constexpr std::size_t kMost = 10;  // hashStorageMaxSize
  const Store& store = process.dir->applied.store;
  process.hashes[store.compacted()] = {.hash = store.hash(store.compacted()),
                                       .revision = store.compacted(),
                                       .compacted = compacted_before};
  if (process.hashes.size() > kMost) process.hashes.erase(process.hashes.begin());
}

void EtcdWorld::raise_no_space(Process& process) {
  Change change;
  change.kind = Change::Kind::Raise;
  change.alarm = Alarm{.kind = AlarmKind::NoSpace, .member = process.id()};
  if (Process* leader = leader_of(process)) (void)propose(*leader, std::move(change), 0);
}

/// Until it applies an entry, etcd counts as applied nothing of a snapshot, and refuses requests,
/// its own, too: "too many requests". The real one may be lucky, and ask before the snapshot is
/// there. Source: processInternalRaftRequestOnce, maxGapBetweenApplyAndCommitIndex.
bool EtcdWorld::refuses_all(const Process& process) {
  constexpr std::uint64_t kGap = 5000;
  const DataDir& dir = *process.dir;
  return dir.received > kGap && dir.applied.index <= dir.received;
}

void EtcdWorld::publish(Process& process) {
  if (refuses_all(process)) return;
  if (process.publishing != 0 && executor.now() < process.publish_again) return;
  Process* leader = leader_of(process);
  if (!leader) return;
  Change change;
  change.kind = Change::Kind::Publish;
  change.member.id = process.id();
  change.member.name = process.flags.name;
  change.member.client_urls = process.flags.client_urls;
  process.publishing = ++tickets;
  process.publish_again = executor.now() + kRequestLimit;
  (void)propose(*leader, std::move(change), process.publishing);
}

/// -1: a member's version is unknown.
int EtcdWorld::lowest_minor(const Cluster& cluster, const Process& leader) const {
  int lowest = leader.version.minor;
  for (const auto& [id, member] : leader.dir->applied.members) {
    if (id == leader.id()) continue;
    const Process* other = reachable(cluster, leader, id);
    if (!other) return -1;
    lowest = std::min(lowest, other->version.minor);
  }
  return lowest;
}

void EtcdWorld::agree_on_version(Cluster& cluster, Process& leader) {
  if (leader.version_check && *leader.version_check > executor.now()) return;
  const int now = leader.dir->applied.minor;
  const bool asked = leader.version_check.has_value();
  leader.version_check.reset();
  if (!asked && now >= leader.version.minor) return;
  const int lowest = lowest_minor(cluster, leader);
  if (lowest <= now && now >= 0) return;
  if (!asked) {
    leader.version_check = executor.now() + dice.between(1ms, kVersionInterval);
    return;
  }
  Change change;
  change.kind = Change::Kind::Version;
  change.minor = std::max(lowest, 0);
  (void)propose(leader, std::move(change), 0);
  leader.version_check = executor.now() + kVersionInterval;
}

}  // namespace etcdop::sim
