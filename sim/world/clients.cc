#include "sim/world/clients.h"

#include <algorithm>
#include <charconv>

#include "kube/core_types.h"
#include "sim/api/budgets.h"
#include "sim/etcd/data_dir.h"

namespace etcdop::sim {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

namespace {

constexpr std::uint64_t kKeys = 4;
constexpr Duration kSeenWithin = 10s;  // An operator notices an edit of a Service within this.

}  // namespace

Clients::Clients(Scheduler& world, ApiServer& server, EtcdNet& net, const Nodes& nodes,
                 History& history, Checker& checker)
    : world_(world),
      server_(server),
      net_(net),
      nodes_(nodes),
      history_(history),
      checker_(checker) {}

std::string Clients::register_of(etcd::ClusterId etcd, const std::string& key) {
  return to_hex(etcd) + "/" + key;
}

std::vector<std::string> Clients::endpoints(const api::ObjectKey& key) const {
  std::vector<std::string> out;
  const auto service = server_.read<kube::Service>(key);
  if (!service) return out;
  for (const auto& pod : server_.read_all<kube::Pod>()) {
    if (pod->metadata.ns != key.ns || !leads_to(*service, *pod)) continue;
    if (const std::string address = nodes_.address_of(pod->metadata.key()); !address.empty())
      out.push_back(address);
  }
  return out;
}

/// Members that it is connected to, and those that the Services lead to now.
std::vector<Clients::Member> Clients::known_to(int client, const v1::EtcdCluster& cluster) {
  const api::ObjectKey key = cluster.metadata.key();
  auto& connected = connected_[{client, cluster.metadata.uid}];
  std::erase_if(connected,
                [&](const auto& one) { return net_.process_at(one.first) != one.second; });
  for (const char* suffix : {"", "-client"})
    for (const std::string& address : endpoints({key.ns, key.name + suffix}))
      if (const auto process = net_.process_at(address)) connected[address] = *process;
  std::vector<Member> out;
  for (const EtcdNet::Truth& p : net_.processes())
    if (p.serves && connected.contains(p.address)) out.push_back({p.address, p.cluster});
  return out;
}

/// Empty: never founded.
std::string Clients::token_of(etcd::ClusterId etcd) const {
  const auto& births = net_.births();
  const auto found = std::ranges::find(births, etcd, &EtcdNet::Birth::cluster);
  return found == births.end() ? "" : found->token;
}

void Clients::let_in_by_hand(const api::ObjectKey& cluster) { let_in_[cluster] = world_.now(); }

void Clients::check_who(const api::ObjectKey& key, etcd::ClusterId etcd, const char* how) {
  const auto cluster = server_.read<v1::EtcdCluster>(key);
  const auto leave = let_in_.find(key);
  if (leave != let_in_.end() && world_.now() - leave->second < kSeenWithin) return;
  const auto* const found = cluster ? checker_.restore_of(cluster->metadata.uid) : nullptr;
  if (!found || checker_.fated(key.ns, key.name)) return;
  const v1::RestoreRecord& restore = *found;
  const std::string id = to_hex(etcd);
  // Pods of an earlier EtcdCluster with that name may still exist.
  const std::string owner = checker_.owner_of(id);
  if (!owner.empty() && owner != cluster->metadata.uid) return;
  // A voter's volume got its data. Only its answer tells the operator, which then ends its label.
  if (token_of(etcd).starts_with(kStrangerToken)) return;
  const bool before =
      restore.stage == v1::RestoreStage::Stopping || restore.stage == v1::RestoreStage::RolledBack;
  const bool rolling_back = restore.stage == v1::RestoreStage::RollingBack;
  // A cluster that was not founded before the rollback may be founded after it.
  const bool born_since =
      restore.stage == v1::RestoreStage::RolledBack && restore.cluster_id.empty();
  const std::string& now = cluster->status.cluster_id;
  // A member created by a delayed request is not known yet; it must be dormant before the restore,
  // too.
  const auto& births = net_.births();
  const bool not_yet = restore.stage == v1::RestoreStage::Restoring &&
                       std::ranges::find(births, cluster->status.cluster_token,
                                         &EtcdNet::Birth::token) == births.end();
  // The operator may not know a birth just before the restore, either.
  // A rollback may begin before the members were stopped: the token is still that of before.
  const bool stopping = restore.stage == v1::RestoreStage::Stopping ||
                        (rolling_back && cluster->status.cluster_token == restore.cluster_token);
  const bool unheard = (stopping || not_yet) && restore.cluster_id.empty();
  const bool of_before = born_since ? now.empty() || id == now
                         : unheard  ? token_of(etcd) == restore.cluster_token
                                    : id == restore.cluster_id;
  const bool may = before || not_yet ? of_before
                   : rolling_back    ? of_before && (now.empty() ? unheard : now == id)
                                     : restore.stage == v1::RestoreStage::Committed && !of_before;
  if (!may)
    checker_.violated("restore", std::string("a client ") + how + " etcd " + id +
                                     (of_before ? " of before" : "") + ", and the restore of " +
                                     to_string(key) + " is " + to_string(restore.stage));
}

void Clients::check_revision(const api::ObjectKey& cluster, Told& told, std::int64_t before,
                             std::int64_t now, bool write) {
  const auto wrong = [&](const std::string& what) {
    if (!checker_.fated(cluster.ns, cluster.name)) checker_.violated("revision", what);
  };
  const std::string said = "a client of " + to_string(cluster) + " is told of revision ";
  if (now < before || (write && now == before))
    wrong(said + std::to_string(now) + ", after " + std::to_string(before));
  if (write && !told.writes.insert(now).second)
    wrong(said + std::to_string(now) + " of a write, which another one had");
  told.highest = std::max(told.highest, now);
}

/// The register begins with the value that the etcd was restored with.
void Clients::begin(const api::ObjectKey& cluster, etcd::ClusterId etcd, const std::string& key) {
  const std::string name = register_of(etcd, key);
  if (!registers_.try_emplace(name, cluster).second) return;
  for (const EtcdNet::Birth& birth : net_.births()) {
    if (birth.cluster != etcd || !birth.from) continue;
    for (const Store::Found& one : birth.from->image.store.range(key, "", 0)) {
      const std::string& text = one.version->value;
      std::uint64_t value = 0;
      (void)std::from_chars(text.data(), text.data() + text.size(), value);
      history_.begins_with(name, value);
    }
  }
}

void Clients::operate(int client, const api::ObjectKey& key, Dice& dice) {
  const auto cluster = server_.read<v1::EtcdCluster>(key);
  if (!cluster) return;
  const auto known = known_to(client, *cluster);
  if (known.empty()) return;
  const Member& member = known[dice.below(known.size())];
  const etcd::ClusterId etcd = member.etcd;
  const std::string home = checker_.home_of(to_hex(etcd));
  const std::string name = home + "/k" + std::to_string(dice.below(kKeys));
  check_who(key, etcd, "reaches");
  begin(key, etcd, name);
  Told& told = told_[home];
  const std::int64_t before = told.highest;
  const auto answered = [&](std::int64_t revision, bool write) {
    check_who(key, etcd, "is answered by");
    check_revision(key, told, before, revision, write);
    ++answers_[etcd];
  };
  using Outcome = Operation::Outcome;
  std::int64_t revision = 0;
  if (dice.one_in(2)) {
    const std::uint64_t value = ++values_;
    const auto handle = history_.invoke_put(client, register_of(etcd, name), value, world_.now());
    const auto done = net_.put(world_, member.address, name, value, &revision);
    if (ending_ && !done) return;
    const bool sure = done || done.failed_with(Code::Unavailable);
    history_.returned(handle,
                      done   ? Outcome::Ok
                      : sure ? Outcome::Failed
                             : Outcome::Unknown,
                      world_.now());
    if (done) answered(revision, true);
    return;
  }
  const auto handle = history_.invoke_get(client, register_of(etcd, name), world_.now());
  auto value = net_.get(world_, member.address, name, &revision);
  if (value) {
    history_.returned_value(handle, *value, world_.now());
    answered(revision, false);
  } else if (!ending_) {
    history_.returned(handle, Outcome::Failed, world_.now());
  }
}

std::int64_t Clients::highest_told(etcd::ClusterId etcd) const {
  const auto found = told_.find(checker_.home_of(to_hex(etcd)));
  return found == told_.end() ? 0 : found->second.highest;
}

std::uint64_t Clients::answers_of(etcd::ClusterId etcd) const {
  const auto found = answers_.find(etcd);
  return found == answers_.end() ? 0 : found->second;
}

}  // namespace etcdop::sim
