// Which members reach each other. A member dials its peers by the URLs in its own list; the state
// of that connection decides whether it calls the peer active. Raft's messages go either way on it.
#include "sim/etcd/world.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;
constexpr Duration kSilenceMax = 5s;  // rafthttp.ConnReadTimeout
constexpr Duration kHealthInterval = 5s;

bool is_address(const std::string& host) {
  return host.find_first_not_of("0123456789.") == std::string::npos || host.starts_with('[');
}

}  // namespace

bool EtcdWorld::apart(const Address& a, const Address& b) const {
  return cuts.contains(std::minmax(a, b));
}

std::optional<EtcdNet::Address> EtcdWorld::resolve(const std::string& host) const {
  return is_address(host) ? std::optional<Address>(host) : options.resolve(host);
}

EtcdWorld::Dialled EtcdWorld::dial(const Process& from, const std::string& text) const {
  auto url = parse_url(text);
  if (!url) return {};
  const auto address = resolve(url->host);
  if (!address) return {};
  if (apart(from.address, *address) || blocked_dials.contains({from.address, *address}))
    return {.process = nullptr, .black_hole = true};
  const auto there = at(*address);
  if (!there || !there->listens || !there->flags.peer_ports.contains(url->port)) return {};
  if (options.admits && !options.admits(from.address, *address, text.starts_with("https://")))
    return {};
  return {.process = there.get(), .black_hole = false};
}

bool EtcdWorld::linked(const Process& a, const Process& b) const {
  const auto has = [](const Process& from, const Process& to) {
    const auto found = from.links.find(to.id());
    return found != from.links.end() && found->second.to == &to;
  };
  return a.runs() && b.runs() && (has(a, b) || has(b, a)) && !apart(a.address, b.address);
}

Process* EtcdWorld::reachable(const Cluster& cluster, const Process& from,
                              etcd::MemberId id) const {
  for (Process* other : cluster.running)
    if (other != &from && other->id() == id && talk(from, *other)) return other;
  return nullptr;
}

std::optional<Instant> EtcdWorld::active_since(const Process& process, etcd::MemberId id) const {
  const auto found = process.links.find(id);
  if (found == process.links.end() || found->second.forgotten) return std::nullopt;
  const Link& link = found->second;
  if (link.to || (link.silent && executor.now() < *link.silent + kSilenceMax)) return link.since;
  return std::nullopt;
}

std::size_t EtcdWorld::connected_voters(const Process& process) const {
  std::size_t count = 0;
  for (const etcd::MemberId id : process.dir->applied.voters()) {
    const auto since = active_since(process, id);
    if (id == process.id() || (since && *since < executor.now() - kHealthInterval)) ++count;
  }
  return count;
}

void EtcdWorld::connect(Link& link, Process& to) {
  const Instant now = executor.now();
  const bool restarted = link.number != 0 && link.number != to.number;
  const bool resumes = link.number == to.number && link.silent && now < *link.silent + kSilenceMax;
  if (!resumes) link.since = now;
  if (!resumes) link.forgotten = restarted && dice.percent(forgetful_percent);
  link.to = &to;
  link.number = to.number;
  link.silent.reset();
}

/// The process dialled a member that has removed it. If it does not serve yet, it finds two reasons
/// to exit at the same time: the removal, and that it cannot begin to serve.
void EtcdWorld::expel(Process& process) {
  if (process.ends) return;
  const int code = process.serves || dice.one_in(2) ? 0 : 1;
  exit_later(process, dice.between(50ms, 500ms), code,
             "the member has been permanently removed from the cluster");
}

bool EtcdWorld::redial(Cluster& cluster, Process& process, const etcd::Member& peer) {
  Link& link = process.links[peer.id];
  const auto expelled = [&](const Process& by) {
    if (!by.dir->applied.removed.contains(process.id())) return false;
    expel(process);
    return true;
  };
  if (link.to && !expelled(*link.to)) return true;
  link.to = nullptr;
  for (const std::string& url : peer.peer_urls) {
    Process* there = dial(process, url).process;
    if (!there || !there->runs() || there->hung || there->id() != peer.id) continue;
    if (there->dir->owner->cluster != cluster.id || expelled(*there)) continue;
    connect(link, *there);
    return true;
  }
  for (const Process* other : cluster.running)
    if (other->id() == peer.id && !other->hung && !apart(process.address, other->address) &&
        !blocked_dials.contains({process.address, other->address}))
      return false;
  return true;  // No process runs that a later try could find.
}

void EtcdWorld::relink(Cluster& cluster) {
  cluster.stale_links = false;
  cluster.dial_again.reset();
  bool all = true;
  for (Process* process : cluster.running) {
    if (!process->runs() || process->hung) continue;
    std::map<etcd::MemberId, etcd::Member> peers = process->dir->applied.members;
    if (process->dir->applied.index == 0)
      for (const etcd::Member& remote : process->remotes) peers.emplace(remote.id, remote);
    std::erase_if(process->links, [&](const auto& link) { return !peers.contains(link.first); });
    for (const auto& [id, peer] : peers)
      if (id != process->id() && !redial(cluster, *process, peer)) all = false;
  }
  if (!all) cluster.dial_again = executor.now() + dice.between(100ms, 600ms);
}

void EtcdWorld::drop_links(Process& gone) {
  for (auto& [address, process] : processes)
    for (auto& [id, link] : process->links) {
      if (link.to != &gone) continue;
      link.to = nullptr;
      link.since.reset();
    }
}

/// Connections that the other side dialled stay, and carry messages in both directions.
void EtcdWorld::block_dials(const Address& from, const Address& to, bool on) {
  if (on) blocked_dials.emplace(from, to);
  else blocked_dials.erase({from, to});
  const auto process = at(from);
  if (!process || !process->runs()) return;
  for (auto& [id, link] : process->links) {
    if (!on || !link.to || link.to->address != to) continue;
    link.to = nullptr;
    link.silent = executor.now();
  }
  go_on(*process);
}

/// Waiting callers go on; links are made again.
void EtcdWorld::go_on(Process& process) {
  wake(process);
  if (!process.dir->owner) return;
  Cluster& cluster = cluster_of(process);
  cluster.stale_links = true;
  schedule(cluster, Duration(0));
}

/// Its peers notice the silence after 5 s.
void EtcdWorld::hang(Process& process, bool on) {
  if (!process.runs() || process.hung == on) return;
  process.hung = on;
  tell(process, on ? "hangs" : "goes on");
  const auto fall_silent = [&](Link& link) {
    if (!link.to) return;
    link.to = nullptr;
    link.silent = executor.now();
  };
  for (auto& [address, other] : processes)
    for (auto& [id, link] : other->links)
      if (on && (other.get() == &process || link.to == &process)) fall_silent(link);
  if (!on && !process.leads) {  // No time has passed for it.
    process.contact_lost = executor.now();
    process.campaign_at = executor.now() + dice.between(1s, 2s);
  }
  go_on(process);
}

void EtcdWorld::stall(Process& process, bool on) {
  if (!process.runs() || process.stalls == on) return;
  process.stalls = on;
  go_on(process);
}

void EtcdWorld::cut(const Address& a, const Address& b, bool away) {
  if (away) cuts.insert(std::minmax(a, b));
  else cuts.erase(std::minmax(a, b));
  for (const Address& one : {a, b}) {
    const auto process = at(one);
    if (!process || !process->dir->owner) continue;
    for (auto& [id, link] : process->links) {
      if (!link.to || !apart(one, link.to->address)) continue;
      link.to = nullptr;
      link.silent = executor.now();
    }
    Cluster& cluster = cluster_of(*process);
    cluster.stale_links = true;
    schedule(cluster, Duration(0));
  }
}

}  // namespace etcdop::sim
