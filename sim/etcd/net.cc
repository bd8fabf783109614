#include "sim/etcd/net.h"

#include <algorithm>
#include <utility>

#include "sim/etcd/world.h"

namespace etcdop::sim {

using namespace std::chrono_literals;

// --- processes

EtcdWorld::EtcdWorld(Executor& world, const WallClock& clock, Dice d, EtcdNet::Options o)
    : executor(world), wall(clock), dice(std::move(d)), options(std::move(o)), timers_(world) {}

void EtcdWorld::begin() {
  timer_fiber_ = executor.spawn([self = shared_from_this()] { self->timers_.run(); });
}

void EtcdWorld::stop() {
  if (std::exchange(stopped_, true)) return;
  while (!processes.empty()) end(*processes.begin()->second, false);
  timers_.stop();
  const auto fibers = fibers_;
  for (const auto& [number, fiber] : fibers) fiber->cancel();
  if (!executor.running()) return;
  for (const auto& [number, fiber] : fibers)
    if (fiber.get() != executor.running()) (void)fiber->join();
  (void)timer_fiber_->join();
}

std::shared_ptr<Fiber> EtcdWorld::spawn(std::function<void()> body) {
  if (stopped_) return nullptr;
  const std::uint64_t number = ++fibers_made_;
  auto fiber = executor.spawn([self = shared_from_this(), number, run = std::move(body)] {
    run();
    self->fibers_.erase(number);
  });
  fibers_.emplace(number, fiber);
  return fiber;
}

void EtcdWorld::tell(const Process& process, const std::string& what) const {
  if (options.tell) options.tell("etcd " + process.flags.name + "@" + process.address, what);
}

std::shared_ptr<Process> EtcdWorld::at(const Address& address) const {
  const auto found = processes.find(address);
  return found == processes.end() ? nullptr : found->second;
}

void EtcdWorld::wake(Process& process) {
  for (Wait* watcher : process.watchers) watcher->notify();
}

void EtcdWorld::start(EtcdNet::Start start) {
  check(!stopped_, "nothing starts in a world that has stopped");
  check(!processes.contains(start.address), "no process runs at that address");
  check(start.dir && !start.dir->in_use, "one process runs on a volume");
  const auto version = etcd::parse_version(start.version);
  check(version && etcd::facts_of(*version).supported, "an etcd whose version is known");
  auto process = std::make_shared<Process>();
  process->address = start.address;
  process->version_text = start.version;
  process->version = *version;
  process->facts = etcd::facts_of(*version);
  process->dir = std::move(start.dir);
  process->dir->in_use = true;
  process->exited = std::move(start.exited);
  process->number = ++starts_;
  processes.emplace(start.address, process);
  auto flags = parse_flags(start.command, process->facts);
  if (!flags) return exit_later(*process, 20ms, 2, flags.error().message);
  process->flags = std::move(*flags);
  process->boot = spawn([this, process] { boot(*process); });
}

void EtcdWorld::end(Process& process, bool gracefully) {
  const auto keep = at(process.address);
  process.phase = Process::Phase::Ended;
  process.terminated = gracefully;
  process.leads = false;
  process.dir->in_use = false;
  if (process.boot) process.boot->cancel();
  processes.erase(process.address);
  drop_links(process);
  process.links.clear();
  wake(process);
  if (!process.dir->owner) return;
  Cluster& cluster = cluster_of(process);
  std::erase(cluster.running, &process);
  cluster.stale_links = true;
  schedule(cluster, Duration(0));
}

void EtcdWorld::exit_later(Process& process, Duration delay, int code, const std::string& words) {
  if (std::exchange(process.ends, true)) return;
  if (delay == Duration(0)) process.phase = Process::Phase::Ended;
  const std::weak_ptr<Process> weak = at(process.address);
  timers_.at(executor.now() + delay, [this, weak, code, words] {
    const auto ending = weak.lock();
    if (!ending || at(ending->address) != ending) return;
    if (ending->hung) {  // Not before it goes on.
      ending->ends = false;
      return exit_later(*ending, 1s, code, words);
    }
    tell(*ending, "exits " + std::to_string(code) + ": " + words);
    end(*ending, false);
    if (ending->exited) ending->exited(code, words);
  });
}

/// Its caller holds the lock of the database, and raft goes on. A process that ends meanwhile
/// leaves the old file. Source: backend.defrag() in server/storage/backend/backend.go.
void EtcdWorld::defragment(Process& process) {
  Store& store = process.dir->applied.store;
  if (defragmented_per_s == 0) return store.defragment();
  const std::chrono::milliseconds takes(1000 * store.file_bytes() / defragmented_per_s);
  tell(process, "defragments for " + std::to_string(takes.count()) + " ms");
  process.defragments = true;
  timers_.at(executor.now() + takes, [this, weak = std::weak_ptr(at(process.address))] {
    const auto one = weak.lock();
    if (!one || at(one->address) != one) return;
    one->defragments = false;
    one->dir->applied.store.defragment();
    tell(*one, "has defragmented");
    apply(cluster_of(*one), *one, one->dir->commit);
    go_on(*one);
  });
}

// --- the interface

EtcdNet::EtcdNet(Executor& world, const WallClock& wall, Dice dice, Options options)
    : world_(std::make_shared<EtcdWorld>(world, wall, std::move(dice), std::move(options))) {
  world_->begin();
}
EtcdNet::~EtcdNet() { world_->stop(); }
void EtcdNet::stop() { world_->stop(); }

void EtcdNet::start(Start start) { world_->start(std::move(start)); }

void EtcdNet::kill(const Address& address) {
  if (const auto process = world_->at(address)) world_->end(*process, false);
}

void EtcdNet::terminate(const Address& address) {
  const auto process = world_->at(address);
  if (!process) return;
  if (process->leads && process->takes_part()) {
    etcd::MemberId heir;
    Instant longest = Instant::max();
    for (const etcd::MemberId id : process->dir->applied.voters()) {
      const auto since = world_->active_since(*process, id);
      if (!since || *since >= longest) continue;
      heir = id;
      longest = *since;
    }
    if (heir.value != 0) (void)world_->hand_over(*process, heir);
  }
  world_->end(*process, true);
}

bool EtcdNet::runs(const Address& address) const { return world_->at(address) != nullptr; }

std::optional<std::uint64_t> EtcdNet::process_at(const Address& address) const {
  const auto process = world_->at(address);
  if (!process || !process->listens) return std::nullopt;
  return process->number;
}

Result<bool> EtcdNet::receives_snapshot(const Address& address) const {
  const auto process = world_->at(address);
  if (!process || !process->listens) return Error{Code::Unavailable, "connection refused"};
  return process->data_at && world_->executor.now() < *process->data_at;
}

bool EtcdNet::listens(const Address& address) const {
  const auto process = world_->at(address);
  return process && process->listens;
}

bool EtcdNet::alive(const Address& address) const {
  const auto process = world_->at(address);
  return process && process->runs() && !process->hung && !process->defragments;
}

bool EtcdNet::ready(const Address& address) const {
  if (!alive(address)) return false;
  const auto process = world_->at(address);
  // A process without data does not find itself in the list, and its linearizable read hangs.
  const Applied& applied = process->dir->applied;
  const bool learner = applied.learns(process->id());
  const bool has_data = learner || applied.votes(process->id());
  const bool intact = !any(applied.alarms, AlarmKind::Corrupt);
  const bool reads =
      process->facts.livez_and_readyz ? intact && world_->reads(*process) : healthy(address);
  return has_data && reads && !(learner && process->facts.readyz_fails_on_learners);
}

bool EtcdNet::healthy(const Address& address) const {
  const auto process = world_->at(address);
  return alive(address) && process->dir->applied.alarms.empty() && world_->reads(*process);
}

void EtcdNet::cut(const Address& a, const Address& b, bool apart) { world_->cut(a, b, apart); }
void EtcdNet::block_dials(const Address& from, const Address& to, bool on) {
  world_->block_dials(from, to, on);
}
void EtcdNet::hang(const Address& address, bool on) {
  if (const auto process = world_->at(address)) world_->hang(*process, on);
}
bool EtcdNet::hangs(const Address& address) const {
  const auto process = world_->at(address);
  return process && process->hung;
}
bool EtcdNet::hears_sigterm(const Address& address) const {
  const auto process = world_->at(address);
  return process && !process->hung && !process->defragments;
}
void EtcdNet::stall(const Address& address, bool on) {
  if (const auto process = world_->at(address)) world_->stall(*process, on);
}
void EtcdNet::slow_defragmentations(std::int64_t bytes_per_second) {
  world_->defragmented_per_s = bytes_per_second;
}
void EtcdNet::free_all() {
  for (const auto& [address, process] : std::map(world_->processes)) {
    world_->hang(*process, false);
    world_->stall(*process, false);
  }
}
void EtcdNet::slow_snapshots(Duration d) { world_->snapshot_takes = d; }
void EtcdNet::slow_starts(Duration d) { world_->start_takes = d; }
void EtcdNet::forgetful_peers(std::uint64_t percent) { world_->forgetful_percent = percent; }

// --- ground truth

namespace {

std::vector<EtcdNet::Member> to_truth(const std::map<etcd::MemberId, etcd::Member>& members) {
  std::vector<EtcdNet::Member> list;
  for (const auto& [id, member] : members)
    list.push_back({.id = id,
                    .name = member.name,
                    .peer_url = member.peer_urls.empty() ? "" : member.peer_urls.front(),
                    .learner = member.learner});
  return list;
}

}  // namespace

std::vector<EtcdNet::Truth> EtcdNet::processes() const {
  std::vector<Truth> all;
  for (const auto& [address, process] : world_->processes) {
    const DataDir& dir = *process->dir;
    all.push_back({.address = address,
                   .name = process->flags.name,
                   .version = process->version_text,
                   .cluster = dir.owner ? dir.owner->cluster : etcd::ClusterId{},
                   .member = process->id(),
                   .leader = process->leader,
                   .leads = process->leads && process->takes_part(),
                   .serves = process->serves && !process->hung,
                   .applied = dir.applied.index,
                   .last = dir.last(),
                   .members = to_truth(dir.applied.members)});
  }
  return all;
}

std::vector<EtcdNet::Member> EtcdNet::membership(etcd::ClusterId id) const {
  const auto found = world_->clusters.find(id);
  return found == world_->clusters.end() ? std::vector<Member>{}
                                         : to_truth(found->second.newest.members);
}

bool EtcdNet::has_quorum(etcd::ClusterId id) const {
  const auto found = world_->clusters.find(id);
  if (found == world_->clusters.end()) return false;
  const Cluster& cluster = found->second;
  const auto voters = cluster.newest.voters();
  return std::ranges::any_of(cluster.running, [&](const Process* one) {
    if (!one->runs() || one->hung || !cluster.newest.votes(one->id())) return false;
    const auto there = std::ranges::count_if(voters, [&](etcd::MemberId voter) {
      return std::ranges::any_of(cluster.running, [&](const Process* other) {
        return other->id() == voter && (other == one || world_->linked(*one, *other));
      });
    });
    return static_cast<std::size_t>(there) >= voters.size() / 2 + 1;
  });
}

/// Null: no process with data of that cluster exists.
const Process* EtcdNet::furthest(etcd::ClusterId id) const {
  const Process* furthest = nullptr;
  for (const auto& [address, process] : world_->processes) {
    const DataDir& dir = *process->dir;
    if (!dir.owner || dir.owner->cluster != id) continue;
    if (!furthest || dir.applied.index > furthest->dir->applied.index) furthest = process.get();
  }
  return furthest;
}

const Users* EtcdNet::users_of(etcd::ClusterId id) const {
  const Process* const one = furthest(id);
  return one ? &one->dir->applied.users : nullptr;
}

bool EtcdNet::has_alarm(etcd::ClusterId id, etcd::AlarmKind kind) const {
  const Process* const one = furthest(id);
  return one && any(one->dir->applied.alarms, kind);
}

bool EtcdNet::asks_users(etcd::ClusterId id) const {
  const Users* const users = users_of(id);
  return users && users->enabled();
}

bool EtcdNet::has_password(etcd::ClusterId id, const Secret& password) const {
  const Users* const users = users_of(id);
  return users && users->check_password("root", password).code == 0;
}

const std::vector<EtcdNet::Birth>& EtcdNet::births() const { return world_->births; }

std::string EtcdNet::self_check() const {
  std::string said = world_->violations;
  for (const auto& [id, cluster] : world_->clusters) {
    if (cluster.void_guarantees) continue;
    for (const Process* a : cluster.running)
      for (const Process* b : cluster.running) {
        if (a->number >= b->number || a->dir->applied.index != b->dir->applied.index) continue;
        if (a->flags.max_learners != b->flags.max_learners) continue;
        if (a->dir->applied.members != b->dir->applied.members)
          said += a->address + " and " + b->address + " applied the same, members differ\n";
        // A fault made them differ, and etcd reports that.
        if (any(a->dir->applied.alarms, AlarmKind::Corrupt)) continue;
        if (a->dir->applied.store != b->dir->applied.store)
          said += a->address + " and " + b->address + " applied the same, keys differ\n";
        if (a->dir->applied.users != b->dir->applied.users)
          said += a->address + " and " + b->address + " applied the same, users differ\n";
      }
  }
  return said;
}

}  // namespace etcdop::sim
