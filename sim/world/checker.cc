#include "sim/world/checker.h"

#include <algorithm>

#include "api/describe.h"
#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/names.h"
#include "base/base64.h"
#include "etcd/version_facts.h"
#include "kube/core_types.h"
#include "kube/secret_object.h"
#include "operator/credentials/passwords.h"
#include "operator/pods/etcd_pod.h"
#include "runtime/conditions.h"
#include "sim/api/budgets.h"
#include "sim/api/paths.h"
#include "sim/world/clients.h"
#include "sim/world/nodes.h"

namespace etcdop::sim {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

namespace {

constexpr Duration kWantedFor = 90s;
constexpr Duration kToldWithin = 150s;  // Two intervals of 60 s, and latency.
constexpr Duration kLookedBefore =
    15s;  // From a look to the action that follows: calls take up to 10 s.
constexpr std::string_view kAvailable = "Available";

/// Whether a write is guarded by UID or by version.
bool is_guarded(const kube::Call& call) {
  if (call.verb == kube::Verb::Delete) return at(call.body, {"preconditions", "uid"}) != nullptr;
  if (call.verb != kube::Verb::Patch) return true;
  if (call.patch == kube::PatchType::Json)
    return std::ranges::any_of(call.body.as_array(), [](const Json& op) {
      return text_at(op, {"op"}) == "test" && text_at(op, {"path"}) == "/metadata/uid";
    });
  return at(call.body, {"metadata", "uid"}) || at(call.body, {"metadata", "resourceVersion"});
}

}  // namespace

Checker::Checker(const Clock& clock, ApiServer& server, EtcdNet& net, Trace& trace)
    : clock_(clock), server_(server), net_(net), trace_(trace) {
  server_.on_change([this](const api::Resource& r, const ApiServer::Object& before,
                           const ApiServer::Object& after) { changed(r, before, after); });
}

void Checker::violated(const std::string& invariant, const std::string& what) {
  if (violation_) return;
  violation_ = Violation{invariant, what, clock_.now()};
  trace_.add("CHECK", invariant + ": " + what);
}

void Checker::fate_took(const std::string& ns, const std::string& cluster) {
  fated_.insert({ns, cluster});
}
bool Checker::fated(const std::string& ns, const std::string& cluster) const {
  return fated_.contains({ns, cluster});
}

std::optional<etcd::ClusterId> Checker::etcd_of(const api::ObjectKey& cluster) const {
  const auto object = server_.look(v1::EtcdCluster::resource, cluster);
  if (!object) return std::nullopt;
  const auto id = etcd::from_hex(text_at(*object, {"status", "clusterID"}));
  return id && *id ? std::optional(etcd::ClusterId{*id}) : std::nullopt;
}

bool Checker::being_deleted(const api::ObjectKey& cluster) const {
  const auto object = server_.look(v1::EtcdCluster::resource, cluster);
  return !object || at(*object, {"metadata", "deletionTimestamp"});
}

void Checker::note_who_serves() {
  for (const EtcdNet::Truth& p : net_.processes())
    if (p.serves) served_[{p.cluster, p.member}] = clock_.now();
}

/// Whether enough of these voters run and serve. A voter that was struck a moment ago still counts,
/// because present actions follow an earlier look.
bool Checker::quorate(etcd::ClusterId cluster, const std::vector<EtcdNet::Member>& members,
                      const std::string& without) const {
  const auto processes = net_.processes();
  const bool lenient = struck_ != Instant::min() && clock_.now() - struck_ < kLookedBefore;
  std::size_t voters = 0, up = 0;
  for (const EtcdNet::Member& member : members) {
    if (member.learner) continue;
    ++voters;
    const auto serves = [&](const EtcdNet::Truth& p) {
      return p.cluster == cluster && p.member == member.id && p.serves && p.address != without;
    };
    const auto last = served_.find({cluster, member.id});
    const bool lately = last != served_.end() && clock_.now() - last->second < kLookedBefore;
    up += std::ranges::any_of(processes, serves) || (lenient && lately);
  }
  return up >= voters / 2 + 1;
}

/// Counts states that are shorter than the interval between two looks.
void Checker::answered(const std::string& address, std::string_view path) {
  for (const EtcdNet::Truth& p : net_.processes()) {
    if (p.address != address) continue;
    if (p.serves) served_[{p.cluster, p.member}] = clock_.now();
    if (!path.ends_with("/MemberList")) continue;
    quorum_seen_.insert(p.cluster);
    if (net_.has_quorum(p.cluster)) quorum_at_[p.cluster] = clock_.now();
  }
}

void Checker::guard(const std::string& secret) {
  if (guarded_.empty())
    trace_.listen([this](std::string_view who, std::string_view what) {
      check_secrecy(std::string(who), what);
    });
  guarded_.insert(secret);
  guarded_.insert(to_base64(secret));
}

void Checker::check_secrecy(const std::string& who, std::string_view what) {
  for (const std::string& secret : guarded_)
    if (what.find(secret) != std::string_view::npos)
      violated("I15", who + " tells a secret: " + std::string(what.substr(0, 200)));
}

/// At each moment, a Secret has etcd's password: the spec's Secret or the operator's (T16).
void Checker::check_passwords() {
  for (const auto& object : server_.look_all(v1::EtcdCluster::resource)) {
    const json::object* const auth =
        at(*object, {"spec", "auth"}) ? at(*object, {"spec", "auth"})->if_object() : nullptr;
    const api::ObjectKey key{text_at(*object, {"metadata", "namespace"}),
                             text_at(*object, {"metadata", "name"})};
    const auto id = auth ? etcd_of(key) : std::nullopt;
    if (!id || !net_.asks_users(*id) || locked_out_.contains(*id) || being_deleted(key)) continue;
    const auto fits = [&](const std::string& name) {
      const auto secret = server_.read<kube::SecretObject>({key.ns, name});
      return secret && std::ranges::any_of(secret->data, [&](const auto& one) {
               return net_.has_password(*id, one.second);
             });
    };
    if (!fits(text_at(*object, {"spec", "auth", "rootCredentialsSecretRef", "name"})) &&
        !fits(auth_secret_name(key.name)))
      violated("T16", "no Secret has the password of root in " + to_string(key));
  }
}

Checker::Doubt Checker::before_write(const std::string& who, const kube::Call& call, Instant sent) {
  if (!guarded_.empty() && !(call.resource == kube::SecretObject::resource))
    check_secrecy(who, json::serialize(call.body));
  if (!is_guarded(call))
    violated("I6", who + " sends a write without precondition: " + line_of(call));
  if (call.resource == v1::EtcdMember::resource && call.verb == kube::Verb::Delete)
    member_deleted(who, call, sent);
  Doubt out;
  if (call.resource == kube::Pod::resource && call.verb == kube::Verb::Delete) {
    const auto pod = server_.read<kube::Pod>({call.ns, call.name});
    if (pod && pod->metadata.labels.contains(v1::kClusterLabel))
      out.cluster = {call.ns, pod->metadata.labels.at(v1::kClusterLabel)};
    out.told_down = pod && cannot_run(*pod) && at(call.body, {"preconditions", "resourceVersion"});
  }
  if (!out.cluster) return out;
  out.was_paused = was_paused(*out.cluster, sent);
  out.restored =
      restore_ends(*out.cluster, *server_.look(call.resource, {call.ns, call.name}), sent);
  if (const auto id = etcd_of(*out.cluster)) out.had_quorum = quorate(*id, net_.membership(*id));
  return out;
}

/// I17: nobody is deleted for the past. A voter that serves, in a cluster with no more members than
/// wanted, is deleted only where etcd accuses its data. Where a process ended or a user edited a
/// moment ago, or the request was late, the operator may have seen another world.
void Checker::member_deleted(const std::string& who, const kube::Call& call, Instant sent) {
  const auto member = server_.read<v1::EtcdMember>({call.ns, call.name});
  const auto cluster =
      member ? server_.read<v1::EtcdCluster>({call.ns, member->spec.cluster_name}) : nullptr;
  if (!cluster || cluster->metadata.terminating() || member->metadata.terminating()) return;
  if (cluster->restoring() || clock_.now() - sent > 1s || clock_.now() < doubted_until_) return;
  const auto lately = [&](Instant when) {
    return when != Instant::min() && clock_.now() - when < kLookedBefore;
  };
  const auto edited = edited_.find(cluster->metadata.uid);
  if (lately(struck_) || lately(hindered_) || edited == edited_.end() ||
      lately(edited->second.second))
    return;
  const auto id = etcd_of(cluster->metadata.key());
  if (!id || net_.has_alarm(*id, etcd::AlarmKind::Corrupt)) return;
  const auto processes = net_.processes();
  const std::string address = nodes_ ? nodes_->address_of({call.ns, call.name}) : "";
  const auto process = std::ranges::find(processes, address, &EtcdNet::Truth::address);
  const auto listed = net_.membership(*id);
  const auto votes = std::ranges::find(listed, call.name, &EtcdNet::Member::name);
  if (process == processes.end() || process->cluster != *id || votes == listed.end() ||
      process->member != votes->id)
    return;
  const auto* told = runtime::find_condition(member->status.conditions, v1::kReady);
  if (process->serves && told && told->reason == v1::kDataLost)
    return violated("I17",
                    who + " deletes " + call.name + " for its lost data, with which it serves");
  if (votes->learner || !net_.ready(address)) return;
  int staying = 0;
  for (const auto& one : server_.read_all<v1::EtcdMember>())
    staying += one->metadata.ns == call.ns && one->spec.cluster_name == member->spec.cluster_name &&
               !one->metadata.terminating();
  const int want = cluster->status.observed ? cluster->status.observed->replicas : 0;
  if (staying <= std::min(want, cluster->spec.replicas))
    violated("I17", who + " deletes " + call.name + ", a voter that serves; " +
                        std::to_string(staying) + " members stay of " + std::to_string(want));
}

/// At `when`, or a moment before: each write follows an earlier look.
bool Checker::was_paused(const api::ObjectKey& cluster, Instant when) const {
  const auto found = pauses_.find(cluster);
  return found != pauses_.end() &&
         (found->second.now || when < found->second.until + kLookedBefore);
}

/// Whether a restore wanted the Pod to end then, or a moment before: an old member's while all are
/// stopped, or the founder's until others join it or it is rolled back.
bool Checker::restore_ends(const api::ObjectKey& cluster, const Json& pod, Instant sent) const {
  const auto object = server_.look(v1::EtcdCluster::resource, cluster);
  const auto found = object ? stages_.find(text_at(*object, {"metadata", "uid"})) : stages_.end();
  if (found == stages_.end()) return false;
  for (std::size_t i = 0; i < found->second.size(); ++i) {
    const auto& [since, record] = found->second[i];
    const bool last = i + 1 == found->second.size();
    if (!last && found->second[i + 1].since + kLookedBefore <= sent) continue;
    const bool kept = record.keeps(controller_of(pod));
    if (kept ? record.stage == v1::RestoreStage::Stopping
             : record.stage == v1::RestoreStage::Restoring ||
                   record.stage == v1::RestoreStage::RollingBack)
      return true;
  }
  return false;
}

void Checker::after_write(const std::string& who, const kube::Call& call, bool done,
                          const Doubt& doubt) {
  if (!done || !doubt.cluster || !doubt.had_quorum || being_deleted(*doubt.cluster)) return;
  if (doubt.was_paused || doubt.restored || doubt.told_down) return;
  // No client relies on a cluster that was never Available: its first Pod is recreated.
  const auto cluster = server_.look(v1::EtcdCluster::resource, *doubt.cluster);
  if (!announced_.contains(text_at(*cluster, {"metadata", "uid"}))) return;
  // The Pod ends in a moment: is there a quorum without it?
  const auto id = etcd_of(*doubt.cluster);
  if (!id) return;
  const std::string address = nodes_ ? nodes_->address_of({call.ns, call.name}) : "";
  if (!quorate(*id, net_.membership(*id), address))
    violated("I1", who + " takes the quorum: " + line_of(call));
}

void Checker::before_change(const std::string& who, const std::string& what,
                            const std::string& address) {
  note_who_serves();
  Change change{.who = who, .what = what, .cluster = {}, .members = {}};
  for (const EtcdNet::Truth& p : net_.processes())
    if (p.address == address) change.cluster = p.cluster;
  change.members = net_.membership(change.cluster);
  changes_.push_back(std::move(change));
}

void Checker::after_change(const std::string& who, const std::string& what) {
  const auto asked = std::ranges::find_if(
      changes_, [&](const Change& one) { return one.who == who && one.what == what; });
  if (asked != changes_.end()) changes_.erase(asked);
  check_passwords();
}

void Checker::membership_changed(etcd::ClusterId cluster) {
  const auto now = net_.membership(cluster);
  for (Change& change : changes_) {
    if (change.cluster != cluster || change.members == now) continue;
    judge(change, now);
    change.members = now;
  }
}

void Checker::judge(const Change& change, const std::vector<EtcdNet::Member>& now) {
  if (!quorate(change.cluster, now) && quorate(change.cluster, change.members))
    violated("I1", change.who + " takes the quorum by " + change.what);
  if (!change.what.starts_with("MemberAdd")) return;
  // I3: no more learners of ours than voters are missing. Learners that a user adds do not count.
  for (const auto& object : server_.look_all(v1::EtcdCluster::resource)) {
    const api::ObjectKey key{text_at(*object, {"metadata", "namespace"}),
                             text_at(*object, {"metadata", "name"})};
    if (etcd_of(key) != change.cluster) continue;
    const std::string ours = "." + key.name + "." + key.ns + ".svc:2380";
    int staying = 0, learners = 0;
    for (const EtcdNet::Member& member : now) {
      if (member.learner && member.peer_url.ends_with(ours)) ++learners;
      const auto known = server_.look(v1::EtcdMember::resource, {key.ns, member.name});
      if (!member.learner && known && !at(*known, {"metadata", "deletionTimestamp"})) ++staying;
    }
    const auto wanted = wanted_.find(key);
    if (wanted != wanted_.end() && learners > 1 && learners + staying > wanted->second.second)
      violated("I3", change.who + " adds a learner too many: " + std::to_string(learners) +
                         " learners, " + std::to_string(staying) + " voters that stay, wanted " +
                         std::to_string(wanted->second.second));
  }
}

void Checker::changed(const api::Resource& r, const ApiServer::Object& before,
                      const ApiServer::Object& after) {
  if (r == kube::PersistentVolumeClaim::resource && !after) volume_gone(*before);
  if (r == kube::Pod::resource && !after) memory_gone(*before);
  if (r == v1::EtcdCluster::resource && after) cluster_reported(*after);
  if (r == kube::SecretObject::resource && !guarded_.empty()) check_passwords();
  if (r == kube::Pod::resource && after) pod_changed(*after);
}

/// I13: the client Service sends clients only to voters.
void Checker::pod_changed(const Json& object) {
  const auto pod = server_.read<kube::Pod>(key_of(object));
  if (!pod || !pod->metadata.labels.contains(v1::kClusterLabel)) return;
  const api::ObjectKey cluster{pod->metadata.ns, pod->metadata.labels.at(v1::kClusterLabel)};
  const auto id = etcd_of(cluster);
  if (!id) return;
  if (!pod->metadata.labels.contains(v1::kRoleLabel)) return;
  for (const EtcdNet::Member& member : net_.membership(*id))
    if (member.name == pod->metadata.name && member.learner)
      violated("I13", "the learner " + member.name + " is labelled a voter");
}

/// I14: the members of a cluster are at most one minor apart.
void Checker::check_versions() {
  std::map<etcd::ClusterId, std::pair<int, int>> minors;
  for (const EtcdNet::Truth& p : net_.processes()) {
    const auto version = etcd::parse_version(p.version);
    if (!version || p.cluster.value == 0) continue;
    auto [at, first] = minors.try_emplace(p.cluster, version->minor, version->minor);
    at->second.first = std::min(at->second.first, version->minor);
    at->second.second = std::max(at->second.second, version->minor);
  }
  for (const auto& [cluster, range] : minors)
    if (range.second - range.first > 1)
      violated("I14", "members of 3." + std::to_string(range.first) + " and 3." +
                          std::to_string(range.second));
}

/// I11: Available=True does not outlive the quorum for long, if the operator could write.
void Checker::check_truth() {
  for (const auto& cluster : server_.read_all<v1::EtcdCluster>()) {
    if (cluster->metadata.terminating()) continue;
    const auto id = etcd_of(cluster->metadata.key());
    if (!id) continue;
    Instant& last = quorum_at_.try_emplace(*id, clock_.now()).first->second;
    if (net_.has_quorum(*id)) last = clock_.now();
    const Instant could = std::max(last, hindered_) + kToldWithin;
    for (const api::Condition& c : cluster->status.conditions)
      if (c.type == kAvailable && c.status == "True" && clock_.now() > could)
        violated("I11", to_string(cluster->metadata.key()) + " says Available=True, " +
                            std::to_string((clock_.now() - last) / 1s) + " s after its quorum");
  }
}

/// I5: no volume that a quorum needs is deleted.
void Checker::volume_gone(const Json& volume) {
  const std::string uid = text_at(volume, {"metadata", "uid"});
  const std::string ns = text_at(volume, {"metadata", "namespace"});
  const Json* labels = at(volume, {"metadata", "labels"});
  const Json* label = labels ? labels->as_object().if_contains(v1::kClusterLabel) : nullptr;
  if (!nodes_ || !label || deleted_by_user_.contains(uid)) return;
  const api::ObjectKey cluster{ns, std::string(label->as_string())};
  if (restore_keeps(cluster, volume)) return;
  const auto id = etcd_of(cluster);
  const auto dir = nodes_->data_of(uid);
  const auto whose = dir ? EtcdNet::owner_of(*dir) : std::nullopt;
  if (!id || !whose || whose->first != *id || being_deleted(cluster)) return;
  const auto members = net_.membership(*id);
  const auto is_voter = [&](etcd::MemberId member) {
    return std::ranges::any_of(members,
                               [&](const auto& m) { return m.id == member && !m.learner; });
  };
  if (!is_voter(whose->second)) return;
  std::size_t voters = 0, intact = 0;
  for (const auto& m : members) voters += !m.learner;
  for (const auto& claim : server_.look_all(kube::PersistentVolumeClaim::resource)) {
    const auto other = nodes_->data_of(text_at(*claim, {"metadata", "uid"}));
    const auto owner = other ? EtcdNet::owner_of(*other) : std::nullopt;
    if (other != dir && owner && owner->first == *id && is_voter(owner->second)) ++intact;
  }
  if (intact < voters / 2 + 1)
    violated("I5", "the volume " + text_at(volume, {"metadata", "name"}) +
                       " of a voter goes: " + std::to_string(intact) + " of " +
                       std::to_string(voters) + " voters keep data");
}

/// I5 during a restore in place: an old volume is deleted only after the commit begins, the
/// founder's only in a rollback. True: no other check applies to this volume.
bool Checker::restore_keeps(const api::ObjectKey& cluster, const Json& volume) {
  const auto object = server_.read<v1::EtcdCluster>(cluster);
  const auto* restore = object ? restore_of(object->metadata.uid) : nullptr;
  if (!restore || object->metadata.terminating()) return false;
  const std::string member = controller_of(volume);
  const bool kept = restore->keeps(member);
  if (restore->over() && !(restore->stage == v1::RestoreStage::Committed && kept)) return false;
  const auto dir = nodes_->data_of(text_at(volume, {"metadata", "uid"}));
  const auto owner = dir ? EtcdNet::owner_of(*dir) : std::nullopt;
  if (!owner || deleted_by_user_.contains(member)) return true;
  // It was released before the restore began, perhaps by an earlier EtcdCluster with that name, and
  // garbage collection takes time.
  const std::string etcd = to_hex(owner->first), home = owner_of(etcd);
  const bool anothers = !home.empty() && home != object->metadata.uid;
  const bool strange = std::ranges::none_of(net_.births(), [&](const EtcdNet::Birth& birth) {
    return birth.cluster == owner->first && !birth.token.starts_with(kStrangerToken);
  });
  if (!kept && (etcd == restore->cluster_id || anothers || strange)) return false;
  // It had left etcd before; a delayed request may have released it.
  const auto is_it = [&](const auto& m) { return m.id == owner->second; };
  if (kept && std::ranges::none_of(net_.membership(owner->first), is_it)) return true;
  const bool may = kept ? restore->stage == v1::RestoreStage::Committing ||
                              restore->stage == v1::RestoreStage::Committed
                        : restore->stage == v1::RestoreStage::RollingBack;
  if (!may)
    violated("I5", "the volume " + text_at(volume, {"metadata", "name"}) + " of " +
                       (kept ? "before" : "the restored member") + " goes, and the restore is " +
                       to_string(restore->stage));
  return true;
}

/// A Pod with data in memory, whose EtcdMember was deleted: it was released.
void Checker::memory_gone(const Json& pod) {
  const api::ObjectKey key{text_at(pod, {"metadata", "namespace"}),
                           text_at(pod, {"metadata", "name"})};
  const auto dir = nodes_ ? nodes_->memory_of(key) : nullptr;
  if (!dir || server_.look(v1::EtcdMember::resource, key)) return;
  const Json* labels = at(pod, {"metadata", "labels"});
  const Json* label = labels ? labels->as_object().if_contains(v1::kClusterLabel) : nullptr;
  if (!label) return;
  const api::ObjectKey cluster{key.ns, std::string(label->as_string())};
  const auto id = etcd_of(cluster);
  if (!id || being_deleted(cluster)) return;
  std::size_t voters = 0, intact = 0;
  bool voted = false;
  for (const auto& m : net_.membership(*id)) {
    if (m.learner) continue;
    ++voters;
    if (m.name == key.name) voted = true;
    else if (const auto other = nodes_->data_of_member({key.ns, m.name}))
      intact += EtcdNet::owner_of(*other).has_value();
  }
  if (voted && intact < voters / 2 + 1)
    violated("I5", "the memory of the voter " + key.name + " goes: " + std::to_string(intact) +
                       " of " + std::to_string(voters) + " voters keep data");
}

const v1::RestoreRecord* Checker::restore_of(const std::string& cluster_uid) const {
  const auto found = stages_.find(cluster_uid);
  return found == stages_.end() || found->second.empty() ? nullptr : &found->second.back().record;
}

/// The allowed transitions of a restore in place, and what must hold then.
void Checker::check_stage(const v1::EtcdCluster& is) {
  constexpr std::pair<v1::RestoreStage, v1::RestoreStage> kNext[] = {
      {v1::RestoreStage::Stopping, v1::RestoreStage::Restoring},
      {v1::RestoreStage::Restoring, v1::RestoreStage::Review},
      {v1::RestoreStage::Review, v1::RestoreStage::Restoring},
      {v1::RestoreStage::Review, v1::RestoreStage::Committing},
      {v1::RestoreStage::Committing, v1::RestoreStage::Committed},
      {v1::RestoreStage::Committing, v1::RestoreStage::Restoring},
      {v1::RestoreStage::Stopping, v1::RestoreStage::RollingBack},
      {v1::RestoreStage::Restoring, v1::RestoreStage::RollingBack},
      {v1::RestoreStage::Review, v1::RestoreStage::RollingBack},
      {v1::RestoreStage::RollingBack, v1::RestoreStage::RolledBack}};
  if (!is.status.restore) return;
  const std::string name = to_string(is.metadata.key());
  v1::RestoreRecord restore = *is.status.restore;
  auto& past = stages_[is.metadata.uid];
  const v1::RestoreRecord* const was =
      past.empty() || past.back().record.uid != restore.uid ? nullptr : &past.back().record;
  if (!was && ((!past.empty() && !past.back().record.over()) ||
               restore.stage != v1::RestoreStage::Stopping))
    violated("restore", name + " begins another one with stage " + to_string(restore.stage));
  const bool same = was && was->stage == restore.stage;
  if (was && !same &&
      std::ranges::find(kNext, std::pair(was->stage, restore.stage)) == std::end(kNext))
    violated("restore",
             name + " goes from " + to_string(was->stage) + " to " + to_string(restore.stage));
  // From Committing on, no stage leads back.
  const bool one_way = was && !restore.over() && restore.cluster_token.empty();
  if (one_way && !committed_.contains(restore.uid) && restore.stage != v1::RestoreStage::Committing)
    violated("restore", name + " forgets its way back in stage " + to_string(restore.stage));
  if (one_way) committed_.insert(restore.uid);
  if (restore.stage == v1::RestoreStage::RollingBack && committed_.contains(restore.uid))
    violated("restore", name + " is taken back after volumes of before may have gone");
  if (was && restore.over()) restore.members = was->members;  // They are forgotten then.
  if (was && (restore.over() || one_way)) {
    restore.cluster_id = was->cluster_id;
    restore.cluster_token = was->cluster_token;
  }
  if (was)
    for (const v1::KeptMember& kept : was->members)
      if (!restore.keeps(kept.uid) || restore.cluster_id != was->cluster_id)
        violated("restore", name + " forgets " + kept.name + ", which was before");
  // Clients are let in only after all old volumes are gone.
  if (!same && restore.stage == v1::RestoreStage::Committed)
    for (const auto& claim : server_.look_all(kube::PersistentVolumeClaim::resource))
      if (restore.keeps(controller_of(*claim)) && !at(*claim, {"metadata", "deletionTimestamp"}))
        violated("I5", text_at(*claim, {"metadata", "name"}) + " of before is still there");
  if (same) past.back().record = std::move(restore);
  else past.push_back({clock_.now(), std::move(restore)});
}

/// I4: once known, the cluster ID and the token change only by a restore in place: to others with
/// the stage Restoring, again if the restored member is lost then, and back with RolledBack.
void Checker::check_identity(const v1::EtcdCluster& is) {
  const std::string& uid = is.metadata.uid;
  const std::string& id = is.status.cluster_id;
  const std::string& token = is.status.cluster_token;
  Identity& known = latched_[uid];
  const auto* const restore = is.status.restore ? restore_of(uid) : nullptr;
  const bool leaves = restore && restore->stage == v1::RestoreStage::Restoring && id.empty() &&
                      known.cluster_id == restore->cluster_id &&
                      known.token == restore->cluster_token && token != known.token;
  const bool returns = restore && restore->stage == v1::RestoreStage::RolledBack &&
                       id == restore->cluster_id && token == restore->cluster_token;
  // The restored member was lost before clients were let in, and another one will be created.
  const bool once_more = restore && restore->stage == v1::RestoreStage::Restoring && id.empty() &&
                         known.cluster_id != restore->cluster_id && token == known.token;
  if (!is.metadata.terminating() && !leaves && !returns && !once_more) {
    if (!known.cluster_id.empty() && id != known.cluster_id)
      violated("I4", "status.clusterID changes from " + known.cluster_id + " to \"" + id + "\"");
    // Before the cluster has an ID, a user who migrates it here may still write a token.
    const bool begins =
        known.cluster_id.empty() && is.restoring() && is.status.restore->cluster_token == token;
    const bool counts = (!known.cluster_id.empty() || is.restoring()) && !begins;
    if (counts && !known.token.empty() && token != known.token)
      violated("I4", "status.clusterToken changes from " + known.token + " to \"" + token + "\"");
  }
  const std::string way_back = is.status.restore ? is.status.restore->cluster_token : "";
  for (const std::string& before : {known.token, known.way_back}) tokens_[before] = clock_.now();
  for (const std::string& now : {token, way_back}) tokens_[now] = Instant::max();
  known = {id, token, way_back};
  if (id.empty()) return;
  first_ids_.try_emplace(uid, id);
  owners_.try_emplace(id, uid);
}

std::string Checker::owner_of(const std::string& cluster_id) const {
  const auto found = owners_.find(cluster_id);
  return found == owners_.end() ? "" : found->second;
}

std::string Checker::home_of(const std::string& cluster_id) const {
  const auto found = first_ids_.find(owner_of(cluster_id));
  return found == first_ids_.end() ? cluster_id : found->second;
}

/// I4 (the ID, once known, never changes) and I11 (reports were true a moment ago).
void Checker::cluster_reported(const Json& object) {
  const std::string uid = text_at(object, {"metadata", "uid"});
  const api::ObjectKey key{text_at(object, {"metadata", "namespace"}),
                           text_at(object, {"metadata", "name"})};
  const auto cluster = server_.read<v1::EtcdCluster>(key);
  if (!cluster) return;
  const int want =
      std::max(cluster->spec.replicas, cluster->status.observed ? cluster->status.observed->replicas
                                                                : cluster->spec.replicas);
  auto& [generation, when] = edited_[uid];
  if (generation != cluster->metadata.generation) when = clock_.now();
  generation = cluster->metadata.generation;
  Pause& pause = pauses_[key];
  if (pause.now) pause.until = clock_.now();
  pause.now = cluster->spec.replicas == 0;
  auto& [since, most] = wanted_[key];
  if (want >= most || clock_.now() - since > kWantedFor) {
    since = clock_.now();
    most = want;
  }
  const std::string& id = cluster->status.cluster_id;
  check_stage(*cluster);
  check_identity(*cluster);
  for (const api::Condition& c : cluster->status.conditions) {
    if (c.type != kAvailable || c.status != "True" || id.empty()) continue;
    announced_.insert(uid);
    const auto etcd_id = etcd::ClusterId{etcd::from_hex(id).value_or(0)};
    if (!net_.has_quorum(etcd_id) && !quorum_seen_.contains(etcd_id))
      violated("I11", "Available=True, and etcd never had a quorum");
  }
}

void Checker::look() {
  check_births();
  check_versions();
  check_truth();
  if (!guarded_.empty()) check_passwords();
  if (const std::string wrong = net_.self_check(); !wrong.empty()) violated("I16", wrong);
  note_who_serves();
}

/// For a restore in place that is not over: the first restored member was lost before clients were
/// let in.
bool Checker::is_restored_once_more(const EtcdNet::Birth& birth) const {
  for (const auto& [uid, known] : latched_) {
    const auto* const restore = known.token == birth.token ? restore_of(uid) : nullptr;
    if (restore && !restore->over()) return birth.from != nullptr;
  }
  return false;
}

/// I4: one data dir of each cluster is ever started as new, plus one for each restore in place that
/// came so far (by its status at that time), and further ones only while that restore is not over.
void Checker::check_births() {
  const auto& births = net_.births();
  for (; births_ < births.size(); ++births_) {
    const EtcdNet::Birth& birth = births[births_];
    if (++births_of_[birth.token] > 1 && !is_restored_once_more(birth))
      violated("I4", birth.name + " is born into " + birth.token + ", which has been born before");
    const auto last = tokens_.find(birth.token);
    if (last != tokens_.end() && birth.when > last->second)
      violated("I4", birth.name + " is born into " + birth.token + ", which is given up");
  }
}

}  // namespace etcdop::sim
