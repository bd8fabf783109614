// The faults of a world while they last, and its repair.
#include <algorithm>

#include "agent/manifest.h"
#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcddefrag.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/etcdrestore.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "api/v1alpha2/names.h"
#include "etcd/version_facts.h"
#include "kube/secret_object.h"
#include "operator/credentials/passwords.h"
#include "operator/credentials/tls.h"
#include "runtime/conditions.h"
#include "runtime/leader.h"
#include "sim/api/objects.h"
#include "sim/etcd/image.h"
#include "sim/world/etcdctl.h"
#include "sim/world/parts.h"
#include "sim/world/world.h"

namespace etcdop::sim {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

namespace {

/// "db-0 runs 3.7.3, and …": 3.7.3; empty: the message names no version that runs.
std::string version_in(const std::string& message) {
  constexpr std::string_view kRuns = " runs ";
  const auto at = message.find(kRuns);
  if (at == std::string::npos) return "";
  const auto from = at + kRuns.size();
  return message.substr(from, message.find_first_not_of("0123456789.", from) - from);
}
constexpr int kSizes[] = {0, 1, 2, 3, 3, 3, 4, 5, 5, 7};
json::object owner_of(const api::Resource& r, const std::string& name, const std::string& uid) {
  return {{"apiVersion", api::api_version(r)},
          {"kind", r.kind},
          {"name", name},
          {"uid", uid},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}
bool is_owned_by(const Json& object, const Json& uid) {
  const Json* const owners = object.at("metadata").as_object().if_contains("ownerReferences");
  return owners && std::ranges::any_of(owners->as_array(),
                                       [&](const Json& owner) { return owner.at("uid") == uid; });
}
constexpr const char* kVersions[] = {"3.5.25", "3.5.35", "3.6.15", "3.6.16", "3.7.3", "3.8.0"};
}  // namespace

/// Acts again and again, while the fault is on.
void World::every(Fault fault, Duration low, Duration high, std::function<void()> act) {
  if (!faults_.has(fault)) return;
  Dice dice(hash_of(to_string(fault), options_.seed));  // No draw of another fault shifts it.
  spawn([this, fault, low, high, act = std::move(act), dice = std::move(dice)]() mutable {
    while (time_.sleep(dice.between(low, high)) == Woken::Ready && faults_.on(fault)) act();
  });
}

void World::start_faults() {
  network_faults();
  upgrades();
  slow_webhooks();
  operator_faults();
  node_faults();
  people();
  snapshot_faults();
}

Life* World::any_life() {
  return lives_.empty() ? nullptr : lives_[dice_.below(lives_.size())].get();
}

std::optional<api::ObjectKey> World::any_cluster() {
  const auto all = clusters();
  if (all.empty()) return std::nullopt;
  return all[dice_.below(all.size())];
}

std::optional<api::ObjectKey> World::any_of(const api::Resource& r) {
  const auto all = server_.look_all(r);
  if (all.empty()) return std::nullopt;
  const json::object& meta = all[dice_.below(all.size())]->at("metadata").as_object();
  return api::ObjectKey{std::string(meta.at("namespace").as_string()),
                        std::string(meta.at("name").as_string())};
}

void World::network_faults() {
  every(Fault::ApiOutage, 30s, 200s, [this] {
    trace_.add("fault", "the API server is away");
    api_down_until_ = time_.now() + dice_.between(1s, 60s);
  });
  every(Fault::WatchCut, 2s, 40s, [this] {
    if (Life* life = any_life()) {
      trace_.add("fault", "watches of " + life->name() + " are cut");
      for (const std::string& kind : life->api().watched())
        if (dice_.one_in(2))
          life->api().line(kind).cut(
              dice_.one_in(2) ? std::nullopt
                              : std::optional(Error{Code::Unavailable, "connection cut"}));
    }
  });
  every(Fault::WatchSilent, 10s, 90s, [this] {
    if (Life* life = any_life()) {
      const auto kinds = life->api().watched();
      const std::string& kind = kinds[dice_.below(kinds.size())];
      trace_.add("fault", "watches of " + life->name() + " of " + kind + " fall silent");
      life->api().line(kind).silent_until(time_.now() + dice_.between(5s, 200s));
    }
  });
  every(Fault::WatchExpired, 20s, 120s, [this] {
    trace_.add("fault", "the API server forgets its history");
    server_.forget_history();
  });
  every(Fault::EtcdBlackHole, 10s, 60s, [this] {
    const auto pod = any_of(kube::Pod::resource);
    Life* life = any_life();
    if (!pod || !life) return;
    const std::string address = nodes_.address_of(*pod);
    trace_.add("fault", life->name() + " hears nothing from " + pod->name);
    life->etcd().black_hole(address, dice_.one_in(2));
  });
  every(Fault::Partition, 10s, 90s, [this] {
    const auto a = any_of(kube::Pod::resource), b = any_of(kube::Pod::resource);
    if (!a || !b || *a == *b) return;
    const std::string one = nodes_.address_of(*a), other = nodes_.address_of(*b);
    if (one.empty() || other.empty()) return;
    trace_.add("fault", a->name + " and " + b->name + " do not hear each other");
    checker_.struck();
    net_.cut(one, other, true);
    cuts_.emplace_back(one, other);
    (void)time_.sleep(dice_.between(1s, 60s));
    net_.cut(one, other, false);
  });
  every(Fault::Quota, 20s, 120s, [this] {
    trace_.add("fault", "the quota is used up");
    quota_until_ = time_.now() + dice_.between(1s, 100s);
  });
  if (faults_.has(Fault::SlowSnapshots)) net_.slow_snapshots(dice_.between(5s, 60s));
  if (faults_.has(Fault::ForgetfulPeers)) net_.forgetful_peers(25);
}

void World::operator_faults() {
  every(Fault::OperatorCrash, 1s, 60s, [this] {
    if (Life* life = any_life()) kill(*life, dice_.between(100ms, 10s));
  });
  every(Fault::OperatorPause, 10s, 60s, [this] {
    if (Life* life = any_life()) {
      const Duration pause = dice_.between(1s, 40s);
      trace_.add("fault", life->name() + " is frozen for " + std::to_string(pause / 1s) + " s");
      life->process().freeze_until(time_.now() + pause);
    }
  });
  every(Fault::ClockJump, 10s, 100s, [this] {
    if (Life* life = any_life()) {
      // To at most an hour off the right one.
      const auto by = std::chrono::seconds(static_cast<int>(dice_.below(7200)) - 3600) +
                      date_error_ - life->date().error();
      trace_.add("fault",
                 "the date of " + life->name() + " jumps by " + std::to_string(by.count()) + " s");
      life->date().jump(by);
    }
  });
  every(Fault::ClockRate, 10s, 100s, [this] {
    constexpr int kRates[] = {50, 100, 200};
    if (Life* life = any_life()) {
      const int percent = kRates[dice_.below(3)];
      trace_.add("fault", "the clock of " + life->name() + " runs at " + std::to_string(percent) +
                              " percent");
      life->process().run_at(percent);
    }
  });
  every(Fault::LeaseEdited, 20s, 120s, [this] {
    const api::ObjectKey lease{"etcd-operator-system", runtime::kLeaderLease};
    if (!server_.look(kube::Lease::resource, lease)) return;
    if (dice_.one_in(2)) {
      trace_.add("user", "deletes the Lease");
      (void)server_.erase(kube::Lease::resource, lease);
      return;
    }
    trace_.add("user", "takes the holder out of the Lease");
    (void)server_.change(kube::Lease::resource, lease, [](json::object& object) {
      object["spec"].as_object()["holderIdentity"] = "";
    });
  });
}

void World::node_faults() {
  every(Fault::NodeDown, 20s, 200s, [this] {
    const std::size_t node = dice_.below(nodes_.count());
    const Duration away = dice_.one_in(4) ? dice_.between(300s, 500s) : dice_.between(5s, 100s);
    const auto lost = nodes_.in_memory_on(node);  // Its memory is lost.
    if (lost.size() > 1 || (lost.size() == 1 && !may_end(lost[0]))) return;
    checker_.struck();
    nodes_.node_down(node, true);
    (void)time_.sleep(away);
    nodes_.node_down(node, false);
  });
  every(Fault::EtcdKilled, 5s, 90s, [this] {
    if (const auto pod = any_of(kube::Pod::resource)) {
      trace_.add("fault", "etcd of " + pod->name + " is killed");
      checker_.struck();
      nodes_.kill_etcd(*pod);
    }
  });
  every(Fault::PodKilled, 10s, 120s, [this] {
    const auto pod = any_of(kube::Pod::resource);
    if (pod && may_end(*pod)) delete_object(kube::Pod::resource, *pod);
  });
  every(Fault::PodEvicted, 10s, 120s, [this] {
    const auto pod = any_of(kube::Pod::resource);
    if (!pod || !may_end(*pod)) return;
    trace_.add("fault", pod->name + " is evicted");
    checker_.struck();
    nodes_.evict(*pod);
    agents_.evict(*pod);
  });
  every(Fault::StaleAddress, 5s, 60s, [this] {
    const auto address = nodes_.freed_address();
    if (!address) return;
    const std::string host = kStrangerToken + std::to_string(++values_);
    trace_.add("fault", *address + " now belongs to another tenant's etcd");
    start_stranger(*address, host, empty_data_dir());
  });
  every(Fault::PodRefused, 20s, 100s, [this] {
    const Duration lasts = dice_.between(1s, 250s);
    const bool everywhere = dice_.one_in(2);
    const std::size_t one = dice_.below(nodes_.count());
    trace_.add("fault", everywhere ? "every kubelet refuses Pods" : "a kubelet refuses Pods");
    for (std::size_t i = 0; i < nodes_.count(); ++i)
      if (everywhere || i == one) nodes_.refuse_pods(i, time_.now() + lasts);
  });
  every(Fault::OomKilled, 2s, 15s, [this] {
    if (const auto pod = any_of(kube::Pod::resource);
        pod && !server_.look(v1::EtcdMember::resource, hungry_))
      hungry_ = *pod;
    checker_.struck();
    trace_.add("fault", hungry_.name + " uses too much memory");
    nodes_.kill_for_memory(hungry_);
    // A new Pod has not been killed yet, nor a container that has ended of something else since: a
    // kubelet has no such word of them (seeds 2278, 2450).
    if (const auto member = read<v1::EtcdMember>(hungry_); member && nodes_.died_of_memory(hungry_))
      oracles_.blocked(
          {hungry_.ns, member->spec.cluster_name}, Nodes::kOutOfMemory, [this, pod = hungry_] {
            return faults_.on(Fault::OomKilled) && hungry_ == pod &&
                   server_.look(v1::EtcdMember::resource, pod) && nodes_.died_of_memory(pod);
          });
  });
  every(Fault::WebhookDown, 10s, 100s, [this] {
    const api::Resource kinds[] = {kube::Pod::resource, kube::PersistentVolumeClaim::resource,
                                   kube::Service::resource, v1::EtcdMember::resource};
    webhook_for_ = kinds[dice_.below(std::size(kinds))].plural;
    webhook_takes_ = dice_.one_in(2) ? dice_.between(9s, 15s) : dice_.between(1ms, 100ms);
    webhook_until_ = time_.now() + dice_.between(5s, 200s);
    trace_.add("fault", "a webhook for " + webhook_for_ + " does not answer");
  });
  every(Fault::LatePolicy, 20s, 150s, [this] {
    if (!late_for_.empty()) return;
    const api::Resource kinds[] = {kube::Pod::resource, kube::PersistentVolumeClaim::resource,
                                   kube::Service::resource, kube::PodDisruptionBudget::resource};
    late_for_ = kinds[dice_.below(std::size(kinds))].plural;
    trace_.add("fault", "a policy lets in no new " + late_for_ + " from now on");
  });
  every(Fault::DiskFull, 20s, 150s, [this] {
    const auto pod = any_of(kube::Pod::resource);
    if (!pod) return;
    trace_.add("fault", "the volume of " + pod->name + " is full");
    checker_.struck();
    nodes_.fill_disk(*pod, time_.now() + dice_.between(1s, 150s));
  });
  odd_neighbours();
  slow_etcds();
  const auto volume_fault = [this](bool gone) {
    const auto cluster = any_cluster();
    if (!cluster || etcd_of(*cluster).value == 0) return;
    const auto members = members_of(*cluster);
    if (members.empty()) return;
    const api::ObjectKey& member = members[dice_.below(members.size())];
    const api::ObjectKey claim{member.ns, "data-" + member.name};
    if (!server_.look(kube::PersistentVolumeClaim::resource, claim)) return;  // In memory.
    if (!can_lose_data(*cluster, member, true)) {
      if (!dice_.one_in(8)) return;
      checker_.fate_took(cluster->ns, cluster->name);
    }
    trace_.add("fault", "the volume of " + member.name + (gone ? " is lost" : " is corrupt"));
    if (const auto object = server_.look(kube::PersistentVolumeClaim::resource, claim))
      checker_.user_deleted(std::string(object->at("metadata").at("uid").as_string()));
    checker_.struck();
    if (gone) nodes_.lose_volume(claim);
    else nodes_.corrupt_volume(claim);
  };
  every(Fault::ForeignData, 60s, 300s, [this] {
    const auto cluster = any_cluster();
    const auto members = cluster ? members_of(*cluster) : std::vector<api::ObjectKey>();
    if (members.empty()) return;
    const api::ObjectKey& member = members[dice_.below(members.size())];
    // Only a member whose id is known: else nobody could tell which etcd is right.
    const auto may_go = [this, cluster = *cluster, member] {
      const auto known = read<v1::EtcdMember>(member);
      return faults_.on(Fault::ForeignData) && known && !known->status.member_id.empty() &&
             etcd_of(cluster).value != 0 && can_lose_data(cluster, member, true);
    };
    if (may_go()) give_foreign_data(member, may_go);
  });
  every(Fault::VolumeLost, 60s, 300s, [=] { volume_fault(true); });
  every(Fault::VolumeCorrupt, 60s, 300s, [=] { volume_fault(false); });
}

/// The address of some etcd's Pod; empty: none.
std::string World::any_etcd() {
  const auto pod = any_of(kube::Pod::resource);
  return pod ? nodes_.address_of(*pod) : "";
}

/// An etcd of another tenant.
void World::start_stranger(const std::string& address, const std::string& host,
                           std::shared_ptr<DataDir> dir) {
  net_.start({address,
              "3.6.16",
              {"etcd", "--name=" + host, "--data-dir=/var/lib/etcd",
               "--listen-peer-urls=http://0.0.0.0:2380", "--listen-client-urls=http://0.0.0.0:2379",
               "--advertise-client-urls=http://" + host + ":2379",
               "--initial-advertise-peer-urls=http://" + host + ":2380",
               "--initial-cluster=" + host + "=http://" + host + ":2380",
               "--initial-cluster-token=" + host, "--initial-cluster-state=new"},
              std::move(dir),
              [](int, const std::string&) {}});
}

/// The data of an etcd that ran for a few seconds.
std::shared_ptr<DataDir> World::strange_data() {
  const std::string host = kStrangerToken + std::to_string(++values_);
  const auto dir = empty_data_dir();
  const std::string address = "10.9.0." + std::to_string(values_ % 250);
  if (net_.runs(address)) return nullptr;
  start_stranger(address, host, dir);
  (void)time_.sleep(5s);
  net_.kill(address);
  const auto owner = EtcdNet::owner_of(*dir);
  if (!owner) return nullptr;
  strangers_.insert(owner->first);
  return dir;
}

void World::give_foreign_data(const api::ObjectKey& member, std::function<bool()> may_go) {
  spawn([this, member, may_go = std::move(may_go)] {
    const auto dir = strange_data();
    if (!dir || !may_go()) return;
    trace_.add("fault", "the volume of " + member.name + " gets the data of another etcd");
    checker_.struck();
    nodes_.replace_data({member.ns, "data-" + member.name}, *dir);
  });
}

void World::slow_etcds() {
  every(Fault::EtcdHung, 20s, 150s, [this] {
    const std::string address = any_etcd();
    if (address.empty()) return;
    checker_.struck();
    net_.hang(address, true);
    (void)time_.sleep(dice_.between(1s, 5min));
    net_.hang(address, false);
  });
  every(Fault::SlowDisk, 5s, 60s, [this] {
    const std::string address = any_etcd();
    if (address.empty()) return;
    trace_.add("fault", "the disk of " + address + " is slow");
    const Instant until = time_.now() + dice_.between(5s, 60s);
    while (time_.now() < until && faults_.on(Fault::SlowDisk)) {
      net_.stall(address, true);
      const Duration most = dice_.one_in(4) ? 3s : 300ms;
      (void)time_.sleep(dice_.between(10ms, most));
      net_.stall(address, false);
      (void)time_.sleep(dice_.between(10ms, 1s));
    }
  });
  every(Fault::OneWayDials, 10s, 90s, [this] {
    const std::string from = any_etcd(), to = any_etcd();
    if (from.empty() || to.empty() || from == to) return;
    trace_.add("fault", from + " cannot connect to " + to);
    checker_.struck();
    net_.block_dials(from, to, true);
    (void)time_.sleep(dice_.between(1s, 100s));
    net_.block_dials(from, to, false);
  });
  // Files here have some 50 kB.
  if (faults_.has(Fault::SlowDefrag))
    net_.slow_defragmentations(static_cast<std::int64_t>(450 + dice_.below(20000)));
  every(Fault::SlowDefrag, 20s, 100s, [this] {
    if (const auto key = any_cluster()) defragment(*key, "defrag-" + std::to_string(++values_));
  });
}

/// Calls for the clusters of another namespace, which a fault breaks for good.
void World::odd_neighbours() {
  if (!faults_.has(Fault::OddNeighbours)) return;
  constexpr int kCount = 3;
  std::vector<api::ObjectKey> odd;
  for (int i = 0; i < kCount; ++i) odd.push_back({kOddNamespace, "odd-" + std::to_string(i)});
  for (const api::ObjectKey& key : odd) {
    checker_.fate_took(key.ns, key.name);
    create_cluster(key, 1);
  }
  soon(60s, [this, odd] {
    for (const api::ObjectKey& key : odd)
      for (const api::ObjectKey& member : members_of(key)) {
        trace_.add("fault", "the volume of " + member.name + " is corrupt, for good");
        nodes_.corrupt_volume({member.ns, "data-" + member.name});
      }
  });
}

/// Whether the Pod's end costs at most the data of one replaceable member.
bool World::may_end(const api::ObjectKey& pod) const {
  const auto member = read<v1::EtcdMember>(pod);
  if (!member || member->spec.storage.medium != v1::Medium::Memory) return true;
  const api::ObjectKey cluster{pod.ns, member->spec.cluster_name};
  return etcd_of(cluster).value != 0 && can_lose_data(cluster, pod, true);
}

/// Whether a quorum of the voters keeps its data without that member's. If the loss is `unseen`, a
/// learner counts as a voter: its promotion may be on its way. During a restore in place, the old
/// members must keep a quorum, too.
bool World::can_lose_data(const api::ObjectKey& cluster, const api::ObjectKey& member,
                          bool unseen) const {
  const auto now = read<v1::EtcdCluster>(cluster);
  const auto* restore = now ? now->restoring() : nullptr;
  const auto before = restore ? etcd::from_hex(restore->cluster_id).value_or(0) : 0;
  return keeps_quorum(etcd_of(cluster), member, unseen) &&
         (before == 0 || keeps_quorum({before}, member, unseen));
}

bool World::keeps_quorum(etcd::ClusterId id, const api::ObjectKey& without, bool unseen) const {
  std::size_t voters = 0, intact = 0;
  for (const EtcdNet::Member& m : net_.membership(id)) {
    if (m.learner && !(unseen && m.name == without.name)) continue;
    ++voters;
    if (m.name == without.name) continue;
    // Data that was lost on a node that is down still exists here until the node is back.
    const auto dir = nodes_.data_of_member({without.ns, m.name});
    const auto owner = dir ? EtcdNet::owner_of(*dir) : std::nullopt;
    intact += owner && !strangers_.contains(owner->first);
  }
  return intact >= voters / 2 + 1;
}

void World::people() {
  every(Fault::UserSpec, 2s, 60s, [this] {
    if (const auto key = any_cluster()) scale(*key, kSizes[dice_.below(std::size(kSizes))]);
  });
  every(Fault::UserVersion, 10s, 150s, [this] {
    if (const auto key = any_cluster())
      set_version(*key, kVersions[dice_.below(std::size(kVersions))]);
  });
  every(Fault::UserMembers, 20s, 150s, [this] {
    const auto key = any_of(v1::EtcdMember::resource);
    if (!key) return;
    // A user who deletes the last member, or one that the quorum needs, gets what was asked for.
    const auto member = server_.look(v1::EtcdMember::resource, *key);
    const api::ObjectKey cluster{key->ns,
                                 std::string(member->at("spec").at("clusterName").as_string())};
    if (!can_lose_data(cluster, *key)) return;
    if (dice_.one_in(4)) orphan_member(*key);
    const bool comes_back = dice_.one_in(2);
    delete_object(v1::EtcdMember::resource, *key);
    if (comes_back) spawn([this, copy = *member] { create_again(v1::EtcdMember::resource, copy); });
  });
  every(Fault::UserServices, 20s, 100s, [this] {
    const auto& kind =
        dice_.one_in(2) ? kube::Service::resource : kube::PodDisruptionBudget::resource;
    if (const auto key = any_of(kind)) delete_object(kind, *key);
  });
  every(Fault::UserEtcdctl, 20s, 150s, [this] {
    const auto key = any_cluster();
    if (!key) return;
    const auto id = etcd_of(*key);
    const auto listed = net_.membership(id);
    if (listed.size() < 3 || !net_.has_quorum(id)) return;
    const auto& member = listed[dice_.below(listed.size())];
    if (!can_lose_data(*key, {key->ns, member.name})) return;
    trace_.add("user", "etcdctl member remove " + member.name);
    for (const auto& process : net_.processes())
      if (process.cluster == id && process.serves) {
        (void)etcdctl(time_, net_, process.address)->remove(member.id);
        return;
      }
  });
  every(Fault::UserPassword, 10s, 100s, [this] {
    const auto key = any_cluster();
    if (!key || !server_.look(kube::SecretObject::resource, {key->ns, key->name + "-root"})) return;
    // A restored cluster has the snapshot's password until the operator has logged in with it, as
    // the manual says.
    const auto cluster = read<v1::EtcdCluster>(*key);
    if (goes_back(*key)) return;  // Or will be: the snapshot's password must stay known.
    if (!cluster->spec.bootstrap || cluster->status.auth_enabled)
      write_password(*key, "pass-word-" + std::to_string(++values_));
  });
  every(Fault::UserSecrets, 20s, 150s, [this] {
    const auto cluster = any_cluster();
    if (cluster) spoil_certificate(*cluster);
  });
  every(Fault::UserOrphans, 60s, 200s, [this] {
    if (const auto key = any_cluster()) apply_again(*key, true);
  });
  every(Fault::UserKeepsVolumes, 60s, 200s, [this] {
    if (const auto key = any_cluster()) apply_again(*key, false);
  });
  every(Fault::UserLabels, 10s, 100s, [this] { edit_some_object(); });
  every(Fault::UserFields, 10s, 60s, [this] { edit_some_field(); });
  every(Fault::UserChildren, 10s, 60s, [this] { edit_some_child(); });
  every(Fault::UserOrders, 10s, 60s, [this] { order_again(); });
  every(Fault::UserCluster, 60s, 300s, [this] {
    const auto key = any_cluster();
    if (!key) return;
    if (dice_.one_in(2)) delete_in_foreground(*key);
    else delete_cluster(*key);
    const Instant give_up = time_.now() + 100s;
    while (server_.look(v1::EtcdCluster::resource, *key) && time_.now() < give_up)
      if (time_.sleep(dice_.between(100ms, 5s)) != Woken::Ready) return;
    if (!server_.look(v1::EtcdCluster::resource, *key)) create_cluster(*key, 3);
  });
}

/// Takes the owner with that UID out of what it owns of this kind, as the garbage collector does
/// before an object that is deleted with `orphan` goes (orphanDependents).
void World::disown(const api::Resource& r, const Json& uid) {
  for (const auto& object : server_.look_all(r)) {
    if (!is_owned_by(*object, uid)) continue;
    (void)server_.change(r, key_of(*object), [&](json::object& edited) {
      edited.at("metadata").as_object().erase("ownerReferences");
    });
  }
}

/// As `kubectl delete etcdcluster --cascade=foreground`, and as Argo CD does: each object goes
/// after all that it owns. Source: attemptToDeleteItem in pkg/controller/garbagecollector.
void World::delete_in_foreground(const api::ObjectKey& key) {
  trace_.add("user", "deletes after all that it owns:");
  wait_for_dependents(v1::EtcdCluster::resource, key, true);
  delete_cluster(key);
  std::vector<std::pair<api::Resource, api::ObjectKey>> going{{v1::EtcdCluster::resource, key}};
  while (!going.empty()) {
    for (std::size_t i = 0; i < going.size(); ++i) {
      const auto [r, name] = going[i];
      const auto owner = server_.look(r, name);
      const auto all = owner ? dependents_of(*owner) : Dependents{};
      for (const auto& [child, object] : all) {
        if (terminating(*object)) continue;
        const bool owns = !dependents_of(*object).empty();
        if (owns) wait_for_dependents(child, key_of(*object), true);
        if (owns) going.emplace_back(child, key_of(*object));
        (void)server_.remove(child, key_of(*object));
      }
      if (!all.empty()) continue;
      if (owner) wait_for_dependents(r, name, false);
      going.erase(going.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    if (!going.empty() && time_.sleep(dice_.between(100ms, 2s)) != Woken::Ready) return;
  }
}

World::Dependents World::dependents_of(const Json& owner) const {
  Dependents out;
  for (const api::Resource& r :
       {v1::EtcdMember::resource, kube::Service::resource, kube::PodDisruptionBudget::resource,
        kube::SecretObject::resource, kube::Pod::resource, kube::PersistentVolumeClaim::resource})
    for (const auto& object : server_.look_all(r))
      if (is_owned_by(*object, owner.at("metadata").at("uid"))) out.emplace_back(r, object);
  return out;
}

/// The collector's finalizer, beside others.
void World::wait_for_dependents(const api::Resource& r, const api::ObjectKey& key, bool on) {
  constexpr const char* kFinalizer = "foregroundDeletion";
  (void)server_.change(r, key, [&](json::object& object) {
    Json& all = object.at("metadata").as_object()["finalizers"];
    if (!all.is_array()) all = json::array();
    json::array finalizers;
    for (const Json& one : all.as_array())
      if (one != kFinalizer) finalizers.push_back(one);
    if (on) finalizers.emplace_back(kFinalizer);
    all = std::move(finalizers);
  });
}

/// As `kubectl delete etcdmember --cascade=orphan`, before the deletion itself.
void World::orphan_member(const api::ObjectKey& key) {
  const Json uid = server_.look(v1::EtcdMember::resource, key)->at("metadata").at("uid");
  trace_.add("user", "orphans what belongs to EtcdMember " + to_string(key));
  for (const api::Resource& r : {kube::Pod::resource, kube::PersistentVolumeClaim::resource})
    disown(r, uid);
}

/// A user, or a backup tool, creates an object again that was deleted: its labels and its spec,
/// without status and owner.
void World::create_again(const api::Resource& kind, const Json& before) {
  const api::ObjectKey key = key_of(before);
  const Instant give_up = time_.now() + 100s;
  bool is_there = true;
  while (is_there) {
    if (time_.sleep(dice_.between(100ms, 20s)) != Woken::Ready || time_.now() > give_up) return;
    is_there = server_.look(kind, key) != nullptr;
  }
  if (faults_.healed()) return;
  trace_.add("user", "creates " + std::string(kind.kind) + " " + to_string(key) + " again");
  json::object metadata{{"name", key.name}, {"namespace", key.ns}};
  if (const Json* labels = before.at("metadata").as_object().if_contains("labels"))
    metadata["labels"] = *labels;
  (void)server_.put(kind, {{"metadata", std::move(metadata)}, {"spec", before.at("spec")}});
}

/// A user deletes an order for one piece of work or for many, and applies it again as it stands in
/// Git. With `orphan`, its Jobs and its EtcdSnapshots stay.
void World::order_again() {
  const api::Resource kinds[] = {v1::EtcdSnapshot::resource, v1::EtcdSnapshotSchedule::resource,
                                 v1::EtcdRestore::resource, v1::EtcdDefrag::resource};
  const api::Resource& kind = kinds[dice_.below(std::size(kinds))];
  const bool orphan = dice_.one_in(2);
  const auto key = any_of(kind);
  if (!key) return;
  const ApiServer::Object before = server_.look(kind, *key);
  if (orphan) {
    trace_.add("user", "orphans what belongs to " + std::string(kind.kind) + " " + to_string(*key));
    for (const api::Resource& r : {kJobs, v1::EtcdSnapshot::resource})
      disown(r, before->at("metadata").at("uid"));
  }
  delete_object(kind, *key);
  create_again(kind, *before);
}

/// A user deletes the EtcdCluster and applies what stands in Git: its spec, without status. Its
/// volumes stay; with `orphan`, everything that it owned does.
void World::apply_again(const api::ObjectKey& key, bool orphan) {
  const auto cluster = server_.look(v1::EtcdCluster::resource, key);
  if (!cluster || terminating(*cluster)) return;
  const Json spec = cluster->at("spec");
  const Json uid = cluster->at("metadata").at("uid");
  trace_.add("user", std::string(orphan ? "orphans what belongs to " : "saves the volumes of ") +
                         to_string(key) + ", deletes it and applies it again");
  if (orphan) {
    for (const api::Resource& r :
         {v1::EtcdMember::resource, kube::Service::resource, kube::PodDisruptionBudget::resource,
          kube::SecretObject::resource})
      disown(r, uid);
  } else {
    for (const api::ObjectKey& name : members_of(key))
      disown(kube::PersistentVolumeClaim::resource,
             server_.look(v1::EtcdMember::resource, name)->at("metadata").at("uid"));
  }
  delete_cluster(key);
  const Instant give_up = time_.now() + 100s;
  while (server_.look(v1::EtcdCluster::resource, key) && time_.now() < give_up)
    if (time_.sleep(dice_.between(100ms, 20s)) != Woken::Ready) return;
  if (server_.look(v1::EtcdCluster::resource, key)) return;
  json::object metadata{{"name", key.name}, {"namespace", key.ns}};
  (void)server_.put(v1::EtcdCluster::resource, {{"metadata", std::move(metadata)}, {"spec", spec}});
}

/// As `kubectl edit` of something that the operator made.
void World::edit_some_object() {
  const api::Resource kinds[] = {kube::Pod::resource,
                                 v1::EtcdMember::resource,
                                 kube::Service::resource,
                                 kube::PodDisruptionBudget::resource,
                                 kube::PersistentVolumeClaim::resource,
                                 kube::SecretObject::resource};
  const api::Resource& kind = kinds[dice_.below(std::size(kinds))];
  const auto key = any_of(kind);
  if (!key || is_of_job(*server_.look(kind, *key))) return;  // Its controller takes it back.
  const auto what = dice_.below(4);
  constexpr const char* kFields[] = {"labels", "annotations", "ownerReferences", "finalizers"};
  // A user who ends a deletion so gets what was asked for.
  if (what == 3 && (terminating(*server_.look(kind, *key)) || kind != v1::EtcdMember::resource))
    return;
  trace_.add("user",
             std::string("edits ") + kFields[what] + " of " + kind.kind + " " + to_string(*key));
  (void)server_.change(kind, *key, [&](json::object& object) {
    json::object& metadata = object.at("metadata").as_object();
    Json* const field = metadata.if_contains(kFields[what]);
    if (!field) return;
    if (what >= 2) {
      metadata.erase(kFields[what]);
      return;
    }
    json::object& texts = field->as_object();
    if (texts.empty()) return;
    const auto one = texts.begin() + static_cast<std::ptrdiff_t>(dice_.below(texts.size()));
    if (dice_.one_in(2)) texts.erase(one);
    else one->value() = "edited";
  });
}

void World::snapshot_faults() {
  every(Fault::UserSnapshots, 10s, 100s, [this] {
    if (dice_.one_in(5)) return delete_some_snapshot();
    const auto known = any_of(v1::EtcdSnapshot::resource);
    if (known && dice_.one_in(4)) {
      trace_.add("user", "asks for a verification of " + to_string(*known));
      (void)server_.change(v1::EtcdSnapshot::resource, *known, [&](json::object& snapshot) {
        Json& texts = snapshot["metadata"].as_object()["annotations"];
        if (!texts.is_object()) texts = json::object();
        texts.as_object()[v1::kVerifyAnnotation] = std::to_string(++values_);
      });
      return;
    }
    const auto key = any_cluster();
    if (key && dice_.one_in(4) && !any_of(v1::EtcdSnapshotSchedule::resource)) {
      // One draw a statement: compilers evaluate arguments in different orders.
      const int keep = 1 + static_cast<int>(dice_.below(3));
      const int verify_every = static_cast<int>(dice_.below(3));
      back_up(*key, "minutely", keep, verify_every);
    } else if (key) snapshot(*key, "snapshot-" + std::to_string(++values_));
  });
  every(Fault::UserRestores, 5s, 60s, [this] { restore_some_snapshot(); });
  every(Fault::UserInPlace, 5s, 60s, [this] { go_back_to_some_snapshot(); });
  every(Fault::UserJobs, 5s, 60s, [this] {
    if (const auto job = any_of(kJobs); job && dice_.one_in(2)) delete_object(kJobs, *job);
    std::vector<api::ObjectKey> pods;
    for (const auto& agent : agents_.running()) pods.push_back({"prod", agent->name()});
    if (!pods.empty()) delete_object(kube::Pod::resource, pods[dice_.below(pods.size())]);
  });
  every(Fault::UserObjects, 20s, 100s, [this] { spoil_object(); });
  every(Fault::AgentKilled, 100ms, 5s, [this] {
    const auto& all = agents_.running();
    if (!all.empty() && dice_.one_in(4)) agents_.kill(*all[dice_.below(all.size())]);
  });
  if (faults_.has(Fault::StoreFaults)) store_.draw_faults();
}

void World::delete_some_snapshot() {
  if (const auto key = any_of(v1::EtcdSnapshot::resource))
    delete_object(v1::EtcdSnapshot::resource, *key);
}

/// Restores into a cluster of a matching version; some users forget the password. With a password,
/// the user takes no unfinished snapshot, which may be replaced and have another password then. If
/// nothing is stored, a user takes a snapshot first.
void World::restore_some_snapshot() {
  constexpr std::size_t kClustersMax = 4;
  constexpr const char* kOfMinor[] = {"3.5.35", "3.6.16", "3.7.3"};
  const auto all = store_.keys(kBucket);
  if (clusters().size() >= kClustersMax) return;
  if (const auto cluster = any_cluster(); all.empty() && cluster)
    return snapshot(*cluster, "snapshot-" + std::to_string(++values_));
  if (all.empty()) return;
  const std::string& key = all[dice_.below(all.size())];
  if (key.ends_with(agent::kManifestSuffix)) return;
  auto image = image_of(store_.look(kBucket, key)->bytes);
  Wanted wanted{.replicas = 1 + 2 * static_cast<int>(dice_.below(2)),
                .progress_deadline_s = dice_.one_in(2) ? 60 : 600,
                .restore = key};
  const bool newer = dice_.one_in(3), forgets = dice_.one_in(4);
  if (image && image->minor >= 5) wanted.version = kOfMinor[std::min(image->minor - 5 + newer, 2)];
  if (!forgets) wanted.password = password_in(key);
  if (!wanted.password.empty() && !store_.look(kBucket, key + agent::kManifestSuffix)) return;
  create_cluster({"prod", "restored-" + std::to_string(++values_)}, wanted);
}

/// Root's password in that snapshot; empty: it needs none, or is no snapshot.
std::string World::password_in(const std::string& key) {
  auto image = image_of(store_.look(kBucket, key)->bytes);
  if (!image || !image->users.enabled()) return "";
  for (const std::string& password : passwords_)
    if (image->users.check_password("root", Secret(password)).code == 0) return password;
  return "";
}

/// Whether a restore in place was requested and has not ended.
bool World::goes_back(const api::ObjectKey& cluster) const {
  for (const auto& one : server_.read_all<v1::EtcdRestore>())
    if (!one->status.finished() && one->metadata.ns == cluster.ns &&
        one->spec.cluster_ref.name == cluster.name)
      return true;
  const auto now = read<v1::EtcdCluster>(cluster);
  return now && now->restoring();
}

/// Starts a restore in place, or changes the decision of one. A user who restores a snapshot with
/// another password knows that: such snapshots are left out.
void World::go_back_to_some_snapshot() {
  using Decision = v1::RestoreDecision;
  constexpr std::int64_t kLeastBump = 1'000'000;
  constexpr Decision kDecisions[] = {Decision::Check, Decision::Restore, Decision::Restore,
                                     Decision::Commit, Decision::Rollback};
  const Decision decision = kDecisions[dice_.below(std::size(kDecisions))];
  if (const auto known = any_of(v1::EtcdRestore::resource); known && dice_.one_in(2)) {
    if (dice_.one_in(4)) delete_object(v1::EtcdRestore::resource, *known);
    else decide(*known, decision);
    return;
  }
  const auto cluster = any_cluster();
  if (!cluster) return;
  auto all = store_.keys(kBucket);
  std::erase_if(all, [](const std::string& key) { return key.ends_with(agent::kManifestSuffix); });
  if (all.empty()) return snapshot(*cluster, "snapshot-" + std::to_string(++values_));
  const std::string& key = all[dice_.below(all.size())];
  const std::string secret = secret_value({cluster->ns, cluster->name + "-root"}, kPasswordKey);
  if (password_in(key) != secret) return;
  const bool least = dice_.one_in(3);
  restore_in_place(*cluster, "back-" + std::to_string(++values_), key, decision,
                   least ? std::optional(kLeastBump) : std::nullopt);
}

/// Spoils the place of a future snapshot, a stored snapshot or its manifest.
void World::spoil_object() {
  const auto all = store_.keys(kBucket);
  const auto snapshot = any_of(v1::EtcdSnapshot::resource);
  const auto cluster = any_cluster();
  if (dice_.one_in(2) && snapshot && cluster)
    return write_object(key_of_snapshot(*cluster, snapshot->name), "of somebody else");
  if (all.empty()) return;
  const std::string& key = all[dice_.below(all.size())];
  if (dice_.one_in(2)) spoil_object(key);
  else remove_object(key);
}

/// Spoils a certificate that the operator renews.
void World::spoil_certificate(const api::ObjectKey& cluster) {
  const auto now = read<v1::EtcdCluster>(cluster);
  const TlsSecrets names = now ? tls_secrets_of(*now) : TlsSecrets{};
  const std::string* const all[] = {&names.server, &names.operator_client, &names.peer};
  const api::ObjectKey secret{cluster.ns, *all[dice_.below(std::size(all))]};
  if (!server_.look(kube::SecretObject::resource, secret)) return;
  if (dice_.one_in(2)) {
    delete_object(kube::SecretObject::resource, secret);
    return;
  }
  write_secret(secret, {{kCertificateKey, "not a certificate"}});
}

void World::heal() {
  trace_.add("fault", "everything heals");
  while (const auto schedule = any_of(v1::EtcdSnapshotSchedule::resource))
    delete_object(v1::EtcdSnapshotSchedule::resource, *schedule);  // Otherwise it never rests.
  faults_.heal();
  const Instant now = time_.now();
  api_down_until_ = quota_until_ = webhook_until_ = now;
  late_for_.clear();
  nodes_.empty_disks();
  for (std::size_t i = 0; i < nodes_.count(); ++i) nodes_.refuse_pods(i, now);
  net_.slow_snapshots(Duration(0));
  net_.slow_defragmentations(0);
  net_.free_all();
  old_crds_ = false;
  slow_until_ = now;
  net_.forgetful_peers(0);
  store_.heal();
  store_.be_away(false);
  for (const auto& [one, other] : cuts_) net_.cut(one, other, false);
  for (std::size_t i = 0; i < nodes_.count(); ++i) nodes_.node_down(i, false);
  for (const auto& life : lives_) {
    for (const std::string& kind : life->api().watched()) life->api().line(kind).silent_until(now);
    life->process().run_at(100);
    life->process().freeze_until(now);
    life->date().jump(date_error_ - life->date().error());
    if (life->passage().old_build) kill(*life, 100ms);  // The upgrade ends.
  }
  for (const auto& key : clusters()) {
    scale(key, kSizes[2 + dice_.below(3)]);
    take_back_version(key);
  }
  put_fields_back();
  mend_by_hand();
}

/// A user whose version is refused asks for the version that the operator works towards. A first
/// member that ran unseen, and whose version was lowered since, ends again and again: its log says
/// why, and the manual says to correct the spec (BootstrapFailed).
void World::take_back_version(const api::ObjectKey& key) {
  const auto cluster = read<v1::EtcdCluster>(key);
  if (!cluster) return;
  const auto& observed = cluster->status.observed;
  std::string version = observed ? observed->version : "3.6.16";
  const auto progress = told(key, v1::kProgressing);
  const bool refused = progress.reason == v1::kUnsupportedVersion;
  const auto older = [](const std::string& a, const std::string& b) {
    const auto one = etcd::parse_version(a), other = etcd::parse_version(b);
    return one && other && *one < *other;
  };
  if (refused && !observed) {  // The condition names what the members without an owner run.
    std::string runs = version_in(progress.message);
    const bool stays = progress.message.find("needs all members healthy") != std::string::npos;
    if (runs.empty())
      for (const api::ObjectKey& name : members_of(key))
        if (const auto member = read<v1::EtcdMember>(name);
            member && (runs.empty() || older(runs, member->spec.version) != stays))
          runs = member->spec.version;
    if (!runs.empty()) version = runs;
  }
  if (refused && cluster->spec.version == version)  // Members have a newer minor than that version.
    for (const auto& process : net_.processes())
      if (process.cluster == etcd_of(key) && process.leads) version = process.version;
  constexpr const char* kNewest = "3.7.3";
  for (const api::ObjectKey& name : members_of(key)) {  // A first member has run as another one.
    const auto member = read<v1::EtcdMember>(name);
    const auto* ready =
        member ? runtime::find_condition(member->status.conditions, v1::kReady) : nullptr;
    if (ready && ready->message.find("a newer minor version has") != std::string::npos &&
        !member->metadata.owner_references.empty() &&  // An orphan gets its owner first.
        members_of(key).size() == 1)                   // Else its data is another etcd's.
      version = kNewest;
  }
  if (cluster->spec.version != version) set_version(key, version);
}

api::Condition World::told(const api::ObjectKey& key, const char* type) const {
  const auto cluster = read<v1::EtcdCluster>(key);
  const auto* about = cluster ? runtime::find_condition(cluster->status.conditions, type) : nullptr;
  return about ? *about : api::Condition{};
}

/// Whether a CA is gone because a user deleted the EtcdCluster that owned it. Members whose owner
/// was taken away before still use it.
bool World::authority_went_with_its_owner(const v1::EtcdCluster& cluster) const {
  return std::ranges::any_of(managed_secrets_of(cluster), [&](const ManagedSecret& secret) {
    const api::ObjectKey key{cluster.metadata.ns, secret.name};
    return deleted_authorities_.contains(key) && !server_.look(kube::SecretObject::resource, key);
  });
}

/// Whether its condition says that only another EtcdCluster helps: a first member in memory whose
/// Pod was lost or refused, or a CA of which users have no backup.
bool World::is_hopeless(const api::ObjectKey& key) const {
  const bool lost_authority = told(key, v1::kTlsReady).reason == v1::kAuthorityLost;
  const auto cluster = read<v1::EtcdCluster>(key);
  if (lost_authority && cluster && authority_went_with_its_owner(*cluster)) return true;
  const auto about = told(key, v1::kAvailable);
  if (!cluster || about.reason != v1::kBootstrapFailed) return false;
  return lost_authority ||
         (about.message.find("belong to different etcd clusters") != std::string::npos &&
          oracles_.sees_two_etcds(*cluster)) ||
         about.message.find("delete the EtcdCluster and create it again") != std::string::npos;
}

bool World::fails_to_restore(const api::ObjectKey& key) const {
  const auto cluster = read<v1::EtcdCluster>(key);
  if (!cluster || cluster->metadata.terminating()) return false;
  if (cluster->restoring()) return false;  // It can be rolled back.
  if (told(key, v1::kProgressing).reason == v1::kRestoreFailed) return true;
  // The snapshot was replaced by one with another root password, which no user here knows.
  return cluster->spec.bootstrap && cluster->status.cluster_id.empty() &&
         told(key, v1::kAvailable).reason == v1::kAuthCredentialsRejected;
}

/// A user who reads VolumesFound and does not want these volumes deletes them.
void World::give_up_volumes(const api::ObjectKey& key) {
  const auto about = told(key, v1::kProgressing);
  if (about.reason != v1::kVolumesFound) return;
  for (const auto& claim : server_.read_all<kube::PersistentVolumeClaim>())
    if (claim->metadata.ns == key.ns &&
        about.message.find(claim->metadata.name) != std::string::npos)
      delete_object(kube::PersistentVolumeClaim::resource, claim->metadata.key());
}

bool World::finds_members(const api::ObjectKey& key) const {
  return told(key, v1::kProgressing).reason == v1::kMembersFound;
}

/// A user who reads that the members without an owner have lost their data, or have another TLS
/// than the EtcdCluster that was created since, does not need them; of two generations, which a
/// restore in place left, one.
void World::discard_members(const api::ObjectKey& key) {
  const std::string message = told(key, v1::kProgressing).message;
  const auto runs = [this](const api::ObjectKey& name) {
    return !read<v1::EtcdMember>(name)->spec.dormant;
  };
  const bool differ = message.find(" is dormant") != std::string::npos &&
                      std::ranges::any_of(members_of(key), runs);
  if (message.find("the data of all of them is lost") == std::string::npos &&
      message.find("has TLS at other ports than spec.tls") == std::string::npos && !differ)
    return;
  for (const api::ObjectKey& name : members_of(key))
    if (const auto member = read<v1::EtcdMember>(name);
        member->metadata.owner_references.empty() && (!differ || member->spec.dormant))
      delete_object(v1::EtcdMember::resource, name);
}

/// A user who took the owner from a Pod or a volume, and reads that it is in the way, deletes it.
void World::discard_leftovers(const api::ObjectKey& key) {
  const auto about = told(key, v1::kProgressing), foreign = told(key, v1::kDegraded);
  const auto discard = [&](const api::Resource& r, const api::ObjectMeta& of,
                           const api::Condition& condition, const std::string& words) {
    if (of.ns == key.ns && of.owner_references.empty() &&
        condition.message.find(words) != std::string::npos)
      delete_object(r, of.key());
  };
  for (const auto& pod : server_.read_all<kube::Pod>()) {
    const api::ObjectMeta& meta = pod->metadata;
    if (about.reason == v1::kMembersFound && !server_.look(v1::EtcdMember::resource, meta.key()))
      discard(kube::Pod::resource, meta, about, "Pod " + meta.name);
    discard(kube::Pod::resource, meta, foreign, "belong to no member: " + meta.name);
  }
  for (const auto& claim : server_.read_all<kube::PersistentVolumeClaim>())
    discard(kube::PersistentVolumeClaim::resource, claim->metadata, about,
            claim->metadata.name + " to be deleted; delete it yourself");
}

/// As `kubectl patch`: the object has this owner, and no other.
void World::set_owner(const api::Resource& r, const api::ObjectKey& key,
                      const json::object& owner) {
  (void)server_.change(r, key, [&](json::object& edited) {
    edited.at("metadata").as_object()["ownerReferences"] = json::array{owner};
  });
}

/// A user who reads MembersFound makes the EtcdCluster the owner of what has none, as the manual
/// says (docs/user/recover.md).
void World::give_owner(const api::ObjectKey& key) {
  const auto cluster = read<v1::EtcdCluster>(key);
  if (!cluster) return;
  const json::object owner = owner_of(v1::EtcdCluster::resource, key.name, cluster->metadata.uid);
  for (const api::Resource& r : {kube::SecretObject::resource, kube::Service::resource,
                                 kube::PodDisruptionBudget::resource, v1::EtcdMember::resource})
    for (const auto& object : server_.look_all(r)) {
      const json::object& metadata = object->at("metadata").as_object();
      if (cluster_of(object->as_object()) != key.name || key_of(*object).ns != key.ns ||
          metadata.contains("ownerReferences"))
        continue;
      trace_.add("user", "makes " + to_string(key) + " the owner of " + r.kind + " " +
                             key_of(*object).name);
      set_owner(r, key_of(*object), owner);
    }
}

/// A user who reads that a Service or budget has no owner gives it one, as the manual says.
void World::give_children(const api::ObjectKey& key) {
  const auto cluster = read<v1::EtcdCluster>(key);
  if (!cluster) return;
  std::vector<std::pair<api::Resource, std::string>> all{
      {kube::Service::resource, key.name},
      {kube::Service::resource, key.name + "-client"},
      {kube::PodDisruptionBudget::resource, key.name},
      {kube::SecretObject::resource, auth_secret_name(key.name)}};
  for (const ManagedSecret& secret : managed_secrets_of(*cluster))
    all.emplace_back(kube::SecretObject::resource, secret.name);
  for (const auto& [r, name] : all) {
    const std::string words = std::string(r.kind) + " " + name + " has no owner";
    if (std::ranges::none_of(cluster->status.conditions, [&](const api::Condition& c) {
          return c.message.find(words) != std::string::npos;
        }))
      continue;
    if (!server_.look(r, {key.ns, name})) continue;  // The condition is a moment old.
    trace_.add("user", "makes EtcdCluster " + key.name + " the owner of " + r.kind + " " + name);
    set_owner(r, {key.ns, name},
              owner_of(v1::EtcdCluster::resource, key.name, cluster->metadata.uid));
  }
}

/// A user who reads AuthorityChanged deletes the named members' Pods one at a time, as the manual
/// says.
void World::renew_pods(const api::ObjectKey& key) {
  const auto cluster = read<v1::EtcdCluster>(key);
  const auto about = told(key, v1::kTlsReady);
  if (!cluster || about.reason != v1::kAuthorityChanged ||
      cluster->status.ready_members < cluster->spec.replicas)
    return;
  for (const api::ObjectKey& name : members_of(key)) {
    if (about.message.find(name.name) == std::string::npos) continue;
    if (may_end(name)) return delete_object(kube::Pod::resource, name);
    if (cluster->spec.replicas < 3) return scale(key, 3);  // Its data is in memory.
  }
}

/// A user who reads PodConflict gives a Pod without an owner to its EtcdMember, as the manual says,
/// and deletes another's.
void World::end_pod_conflict(const v1::EtcdMember& member) {
  const api::ObjectKey name = member.metadata.key();
  const auto pod = read<kube::Pod>(name);
  if (!pod || !pod->metadata.owner_references.empty())
    return delete_object(kube::Pod::resource, name);
  trace_.add("user", "makes EtcdMember " + name.name + " the owner of its Pod");
  set_owner(kube::Pod::resource, name,
            owner_of(v1::EtcdMember::resource, name.name, member.metadata.uid));
}

/// A user who reads VolumeConflict gives a volume without an owner to its EtcdMember, as the manual
/// says.
void World::give_volume(const v1::EtcdMember& member) {
  const auto* ready = runtime::find_condition(member.status.conditions, v1::kReady);
  const api::ObjectKey claim{member.metadata.ns, "data-" + member.metadata.name};
  const auto volume = read<kube::PersistentVolumeClaim>(claim);
  if (!ready || ready->reason != v1::kVolumeConflict || !volume ||
      !volume->metadata.owner_references.empty())
    return;
  trace_.add("user", "makes EtcdMember " + member.metadata.name + " the owner of its volume");
  set_owner(kube::PersistentVolumeClaim::resource, claim,
            owner_of(v1::EtcdMember::resource, member.metadata.name, member.metadata.uid));
}

/// A user who reads ForeignMember removes the members of etcd that have no EtcdMember, one a look,
/// and EtcdMembers without an owner that etcd does not list.
void World::remove_foreign_member(const api::ObjectKey& key) {
  const auto cluster = read<v1::EtcdCluster>(key);
  const auto about = told(key, v1::kDegraded);
  if (!cluster || about.reason != v1::kForeignMember || cluster->restoring()) return;
  for (const api::ObjectKey& name : members_of(key))
    if (about.message.find(name.name) != std::string::npos &&
        read<v1::EtcdMember>(name)->metadata.owner_references.empty())
      return delete_object(v1::EtcdMember::resource, name);
  const auto id = etcd_of(key);
  for (const EtcdNet::Member& member : net_.membership(id)) {
    if (about.message.find(to_hex(member.id)) == std::string::npos) continue;
    for (const auto& process : net_.processes()) {
      if (process.cluster != id || !process.serves || process.member == member.id) continue;
      trace_.add("user", "etcdctl member remove " + to_hex(member.id));
      return (void)etcdctl(time_, net_, process.address)->remove(member.id);
    }
  }
}

/// Deletes the EtcdCluster, and its EtcdMembers that have lost their owner: Kubernetes leaves them.
void World::give_up(const api::ObjectKey& key) {
  for (const api::ObjectKey& name : members_of(key))
    if (read<v1::EtcdMember>(name)->metadata.owner_references.empty())
      delete_object(v1::EtcdMember::resource, name);
  delete_cluster(key);
}

/// A user who has inspected a restore decides on it; stuck restores are rolled back.
void World::decide_by_hand(std::map<std::string, Instant>& since) {
  using Decision = v1::RestoreDecision;
  constexpr Duration kPatience = 10min;
  for (const auto& one : server_.read_all<v1::EtcdRestore>()) {
    if (one->metadata.terminating()) continue;
    const Instant first = since.try_emplace(one->metadata.uid, time_.now()).first->second;
    if (one->status.finished() || one->spec.decision == Decision::Rollback) continue;
    const bool looked_at = one->status.phase == v1::kRestoreReview;
    if (looked_at && one->spec.decision != Decision::Commit)
      decide(one->metadata.key(), dice_.one_in(2) ? Decision::Commit : Decision::Rollback);
    else if (time_.now() - first >= kPatience) decide(one->metadata.key(), Decision::Rollback);
  }
}

/// Does the manual work of a user: deletes a member whose data is lost for good while the others
/// have a quorum; gives up a cluster that cannot be restored after five minutes; decides on a
/// restore in place.
void World::mend_by_hand() {
  spawn([this] {
    std::map<api::ObjectKey, Instant> fails, strange;  // Start of the failure; of MembersFound.
    std::map<api::ObjectKey, Instant> placeless;       // Since when its Pod has no place.
    std::map<std::string, Instant> undecided;
    while (time_.sleep(20s) == Woken::Ready) {
      decide_by_hand(undecided);
      for (const auto& key : clusters()) {
        give_up_volumes(key);
        discard_members(key);
        discard_leftovers(key);
        if (!finds_members(key)) strange.erase(key);
        else if (time_.now() - strange.try_emplace(key, time_.now()).first->second >= 2min)
          give_owner(key);
        give_children(key);
        renew_pods(key);
        remove_foreign_member(key);
        if (!fails_to_restore(key) && !is_hopeless(key)) fails.erase(key);
        else if (time_.now() - fails.try_emplace(key, time_.now()).first->second >= 5min)
          give_up(key);
        take_back_version(key);
        for (const auto& name : members_of(key)) {
          const auto member = read<v1::EtcdMember>(name);
          if (!member) continue;
          give_volume(*member);  // Also if it is to go: etcd may need it (seed 604897).
          if (member->metadata.terminating()) continue;
          const auto* ready = runtime::find_condition(member->status.conditions, v1::kReady);
          const std::string reason = ready ? ready->reason : "";
          if (reason == v1::kPodConflict) end_pod_conflict(*member);
          if (reason != v1::kUnschedulable && reason != v1::kPodRejected) placeless.erase(name);
          Instant& since = placeless.try_emplace(name, time_.now()).first->second;
          const bool long_ago = time_.now() - since >= 10min;
          const bool hopeless = reason == v1::kDataLost || reason == v1::kCrashLooping ||
                                (reason == v1::kUnschedulable && long_ago);
          if (reason == v1::kPodRejected && long_ago &&
              ready->message.find(kQuota) != std::string::npos && !net_.has_quorum(etcd_of(key))) {
            trace_.add("user", "raises the quota of " + name.ns);
            ++more_pods_;
            since = time_.now();
          }
          const bool given_up = hopeless || member->status.elsewhere;  // SplitBrain.
          if (given_up && can_lose_data(key, name) && net_.has_quorum(etcd_of(key)))
            delete_object(v1::EtcdMember::resource, name);
        }
      }
    }
  });
}

// --- clients -------------------------------------------------------------------------------------

void World::start_clients(int count) {
  for (int i = 0; i < count; ++i) spawn([this, i] { client(i); });
}

void World::client(int number) {
  Dice dice = dice_.split();
  while (time_.sleep(dice.between(100ms, 6s)) == Woken::Ready && !ending_) {
    const auto all = clusters();
    if (!all.empty()) clients_.operate(number, all[dice.below(all.size())], dice);
  }
}

}  // namespace etcdop::sim
