#include "sim/world/oracles.h"

#include <algorithm>
#include <set>
#include <vector>

#include "api/v1alpha2/names.h"
#include "kube/core_types.h"
#include "kube/secret_object.h"
#include "operator/credentials/tls.h"
#include "runtime/conditions.h"
#include "sim/api/objects.h"
#include "sim/api/paths.h"
#include "sim/etcd/store.h"
#include "sys/x509.h"

namespace etcdop::sim {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;
using v1::ConditionType;

namespace {

/// Kubernetes tells the operator at once; and a moment for Kubernetes itself: a probe.
constexpr Duration kWatched = 15s + 2s;
/// A node's Pods become unready 40 s after it fell silent.
constexpr Duration kNodeLost = 40s + kWatched;
/// The operator asks each 60 s.
constexpr Duration kPolled = 60s + kWatched;
/// I11: two intervals, and latency.
constexpr Duration kAvailableFor = 150s;
/// A member that restarted lately counts as ready only after a minute (K6).
constexpr Duration kReadyAgain = kPolled + 60s;
/// Secrets are read each 5 min, and reach their Pods within 90 s.
constexpr Duration kSecretsRead = 5min + 90s + kPolled;
/// How long a cluster may not be as wanted while all its conditions say that it is: a password that
/// changes twice is read twice.
constexpr Duration kStuck = 11min;
/// How long a lasting cause may go unnamed.
constexpr Duration kUnnamed = kReadyAgain;
constexpr std::size_t kRefusedMax = 10;
/// A status waits for the one before it.
constexpr Duration kKubeletLags = 2 * Nodes::kKubeletLagMax;

bool has_reason(const api::Condition& c, std::initializer_list<const char*> reasons) {
  return std::ranges::any_of(reasons, [&](const char* one) { return c.reason == one; });
}

bool says_so(const v1::EtcdCluster& cluster, const char* type, const char* words) {
  const auto* c = runtime::find_condition(cluster.status.conditions, type);
  return c && c->message.find(words) != std::string::npos;
}

/// Whether Available or Degraded names the client Service: clients do not reach the members by it.
bool names_service(const v1::EtcdCluster& cluster) {
  const std::string name = "Service " + cluster.metadata.name + "-client ";
  return std::ranges::any_of(cluster.status.conditions, [&](const api::Condition& c) {
    return (c.type == v1::kAvailable || c.type == v1::kDegraded) &&
           c.message.find(name) != std::string::npos;
  });
}

bool is_wanted(const v1::EtcdMember& member) {
  return !member.metadata.terminating() && !member.spec.dormant;
}

/// By its owner, or by the label with the UID of a Secret whose owner a user took away.
bool is_of(const v1::EtcdCluster& cluster, const api::ObjectMeta& secret) {
  const auto is_owner = [&](const auto& owner) { return owner.uid == cluster.metadata.uid; };
  if (std::ranges::any_of(secret.owner_references, is_owner)) return true;
  const auto label = secret.labels.find(v1::kClusterUidLabel);
  return secret.owner_references.empty() && label != secret.labels.end() &&
         label->second == cluster.metadata.uid;
}

}  // namespace

/// One cluster as the world knows it.
struct Oracles::Facts {
  struct Member {
    std::shared_ptr<const v1::EtcdMember> object;
    std::string address;                                 ///< The Pod's; empty: none.
    std::optional<EtcdNet::Truth> process;               ///< That runs there.
    bool ready = false;                                  ///< /readyz answers 200.
    bool has_data = false;                               ///< Data of this cluster that can be read.
    std::optional<etcd::ClusterId> etcd = std::nullopt;  ///< That its data is of, if any.
    bool counts = false;  ///< It belongs to this EtcdCluster, not to an earlier one.
  };
  etcd::ClusterId id;
  bool quorum = false;
  std::vector<EtcdNet::Member> listed;  ///< By etcd.
  std::vector<Member> members;          ///< With an EtcdMember.
  /// The cluster ids of the processes to which the client Service leads.
  std::vector<etcd::ClusterId> led_to;
  int want = 0;
  bool has_service = false;                ///< The client Service exists.
  bool no_space = false, corrupt = false;  ///< Alarms.

  /// A linearizable read through the client Service succeeds.
  bool serves() const { return quorum && !led_to.empty(); }
  int ready() const { return static_cast<int>(std::ranges::count(members, true, &Member::ready)); }
  bool runs() const {
    return std::ranges::any_of(members, [](const Member& one) { return one.process.has_value(); });
  }
  bool has_data() const { return std::ranges::any_of(members, &Member::has_data); }
  /// As their data says; before the cluster has an etcd, also as their tokens do (seed 501771).
  std::size_t etcds() const {
    std::set<etcd::ClusterId> all;
    std::set<std::string> tokens;
    for (const Member& one : members) {
      if (one.process && one.process->cluster.value != 0) all.insert(one.process->cluster);
      else if (one.etcd) all.insert(*one.etcd);
      if (one.counts) tokens.insert(one.object->spec.cluster_token);
    }
    return id.value == 0 ? std::max(all.size(), tokens.size()) : all.size();
  }
  /// A member that never started has no name yet, and its URL begins with it.
  static bool is_of(const EtcdNet::Member& one, const Member& known) {
    const std::string& name = known.object->metadata.name;
    return one.name == name || one.peer_url.find("://" + name + ".") != std::string::npos;
  }
  bool has_foreign() const {
    return std::ranges::any_of(listed,
                               [&](const EtcdNet::Member& one) {
                                 return std::ranges::none_of(
                                     members, [&](const Member& m) { return is_of(one, m); });
                               }) ||
           std::ranges::any_of(members, [&](const Member& m) {
             return !m.object->metadata.controller() &&
                    std::ranges::none_of(listed,
                                         [&](const EtcdNet::Member& one) { return is_of(one, m); });
           });
  }
};

Oracles::Oracles(const Clock& clock, ApiServer& server, const EtcdNet& net, const Nodes& nodes,
                 const Clients& clients, const Faults& faults, Checker& checker)
    : clock_(clock),
      server_(server),
      net_(net),
      nodes_(nodes),
      clients_(clients),
      faults_(faults),
      checker_(checker) {
  server_.on_change([this](const api::Resource& r, const ApiServer::Object& before,
                           const ApiServer::Object& after) {
    if (r == kube::Pod::resource) pod_changed(before, after);
    const auto data_of = [](const ApiServer::Object& object) {
      const Json* const data = object ? at(*object, {"data"}) : nullptr;
      return data ? *data : Json();
    };
    if (r == kube::SecretObject::resource && data_of(before) != data_of(after))
      secrets_[key_of(after ? *after : *before)] = clock_.now();
    if (r.group == std::string_view(v1::kGroup) && after) check_types(*after);
  });
}

/// I9: a Pod that fails at once is made again less and less often, and its kubelet's reason is
/// told.
void Oracles::pod_changed(const ApiServer::Object& before, const ApiServer::Object& after) {
  const json::object* const status = (after ? after : before)->at("status").if_object();
  const Json* const reason = status ? status->if_contains("reason") : nullptr;
  if (!reason || *reason != Nodes::kRefusal) return;
  kube::Pod pod;
  if (!api::decode(after ? *after : *before, pod, "Pod")) return;
  const auto cluster = pod.metadata.labels.find(v1::kClusterLabel);
  if (cluster == pod.metadata.labels.end()) return;
  if (after)
    return blocked({pod.metadata.ns, cluster->second}, Nodes::kRefusal,
                   [this, key = pod.metadata.key()] { return is_refused_again(key); });
  std::deque<Instant>& times = refused_[pod.metadata.key()];
  times.push_back(clock_.now());
  while (clock_.now() - times.front() > 5min) times.pop_front();
}

/// Whether a kubelet refused the member's Pod, which no other one has taken since. Data that is
/// lost, a volume without an owner, a broken certificate, or the API server, keeps the next Pod
/// from being made: that is the cause then.
bool Oracles::is_refused_again(const api::ObjectKey& member) const {
  const auto object = server_.read<v1::EtcdMember>(member);
  if (!object || !is_wanted(*object)) return false;
  const auto volume = server_.read<kube::PersistentVolumeClaim>({member.ns, "data-" + member.name});
  if (volume ? volume->metadata.owner_references.empty() : !object->status.pvc_name.empty())
    return false;
  const auto* ready = runtime::find_condition(object->status.conditions, v1::kReady);
  if (ready &&
      has_reason(*ready, {v1::kCertificateInvalid, v1::kCertificateMissing, v1::kPodRejected}))
    return false;
  const auto pod = server_.look(kube::Pod::resource, member);
  if (!pod && object->spec.storage.medium == v1::Medium::Memory) return false;
  const json::object* const status = pod ? pod->at("status").if_object() : nullptr;
  const Json* const phase = status ? status->if_contains("phase") : nullptr;
  return !pod || (phase && *phase == "Failed");
}

void Oracles::judge(const std::string& object, const std::string& claim, const Verdict& verdict) {
  if (verdict.why.empty()) return;
  const std::pair key{object, claim};
  const auto known = before_.find(key);
  const Instant since = known == before_.end() ? clock_.now() : known->second;
  untrue_[key] = since;
  const Duration lasts = clock_.now() - std::max({since, judged_from_, verdict.from});
  const Duration later = faults_.on(Fault::KubeletLag) ? kKubeletLags : Duration(0);
  if (lasts > verdict.bound + later)
    checker_.violated("I17", object + " says " + claim + ", and " + verdict.why + " for " +
                                 std::to_string((clock_.now() - since) / 1s) + " s");
}

void Oracles::look(const Missing& missing) {
  if (faults_.hinder()) hindered(kSettles);
  before_ = std::exchange(untrue_, {});
  std::erase_if(blocked_, [](const auto& one) { return !one.second.holds(); });
  for (const auto& cluster : server_.read_all<v1::EtcdCluster>())
    if (!cluster->metadata.terminating()) look_at(*cluster, missing);
  for (const auto& [pod, times] : refused_)  // Not at each one: two may lead for a moment.
    if (times.size() > kRefusedMax)
      checker_.violated("I9", "Pod " + to_string(pod) + " is made and refused " +
                                  std::to_string(times.size()) + " times in five minutes");
}

/// Every condition type that the operator writes has an oracle, and no pass ends in an error of the
/// program. At each change: the next pass takes an InternalError back.
void Oracles::check_types(const Json& object) {
  const auto at = [](const Json& from, const char* key) -> const Json* {
    const json::object* const fields = from.if_object();
    return fields ? fields->if_contains(key) : nullptr;
  };
  const Json* const status = at(object, "status");
  const Json* const conditions = status ? at(*status, "conditions") : nullptr;
  if (!conditions) return;
  for (const Json& c : conditions->as_array()) {
    const std::string name(c.at("type").as_string());
    const auto type = v1::condition_type(name);
    if (!type) checker_.violated("I17", "no oracle judges the condition " + name);
    if (type == ConditionType::InternalError && c.at("status") == "True")
      checker_.violated("InternalError", to_string(key_of(object)) + ": " +
                                             std::string(c.at("message").as_string()));
  }
}

bool Oracles::sees_two_etcds(const v1::EtcdCluster& cluster) const {
  return facts_of(cluster).etcds() > 1;
}

Oracles::Facts Oracles::facts_of(const v1::EtcdCluster& cluster) const {
  const api::ObjectKey key = cluster.metadata.key();
  const auto& observed = cluster.status.observed;
  Facts out;
  out.id = {etcd::from_hex(cluster.status.cluster_id).value_or(0)};
  out.quorum = net_.has_quorum(out.id);
  out.listed = net_.membership(out.id);
  out.want = observed ? observed->replicas : cluster.spec.replicas;
  out.has_service = bool(server_.look(kube::Service::resource, {key.ns, key.name + "-client"}));
  out.no_space = net_.has_alarm(out.id, etcd::AlarmKind::NoSpace);
  out.corrupt = net_.has_alarm(out.id, etcd::AlarmKind::Corrupt);
  const auto processes = net_.processes();
  const auto at = [&](const std::string& address) -> std::optional<EtcdNet::Truth> {
    const auto found = std::ranges::find(processes, address, &EtcdNet::Truth::address);
    return found == processes.end() ? std::nullopt : std::optional(*found);
  };
  for (const std::string& address : clients_.endpoints({key.ns, key.name + "-client"}))
    if (const auto process = at(address)) out.led_to.push_back(process->cluster);
  for (const auto& object : server_.read_all<v1::EtcdMember>()) {
    if (object->metadata.ns != key.ns || object->spec.cluster_name != key.name) continue;
    Facts::Member member{.object = object, .address = {}, .process = {}};
    member.address = nodes_.address_of(object->metadata.key());
    if (!member.address.empty()) member.process = at(member.address);
    member.ready = member.process && net_.ready(member.address) &&
                   (out.id.value == 0 || member.process->cluster == out.id);
    const auto dir = nodes_.data_of_member(object->metadata.key());
    const auto owner = dir ? EtcdNet::owner_of(*dir) : std::nullopt;
    member.has_data = owner && owner->first == out.id;
    if (owner) member.etcd = owner->first;
    const auto* by = object->metadata.controller();
    member.counts = by && by->uid == cluster.metadata.uid;
    out.members.push_back(std::move(member));
  }
  return out;
}

void Oracles::look_at(const v1::EtcdCluster& cluster, const Missing& missing) {
  const Facts is = facts_of(cluster);
  const v1::EtcdClusterStatus& status = cluster.status;
  const std::string name = to_string(cluster.metadata.key());
  const auto claims = [&](const std::string& claim, Verdict verdict) {
    judge(name + " " + cluster.metadata.uid, claim, std::move(verdict));
  };
  for (const Facts::Member& member : is.members) look_at(*member.object, is);
  for (const api::Condition& c : status.conditions)
    if (const auto type = v1::condition_type(c.type))
      claims(c.type + "=" + c.status + "/" + c.reason, of_cluster(*type, c, cluster, is));

  const std::string& phase = status.phase;
  if (phase == v1::kPhaseReady && !is.serves())
    claims("phase " + phase, {"it does not serve", kAvailableFor});
  if (phase == v1::kPhaseReady && is.ready() < is.want)
    claims("phase " + phase, {"a member is not ready", kAvailableFor});
  if (phase == v1::kPhaseQuorumLost && is.serves())
    claims("phase " + phase, {"it serves", kPolled});
  if (phase == v1::kPhaseDataLost && is.has_data())
    claims("phase " + phase, {"a member has its data", kWatched});
  if (phase == v1::kPhaseSplitBrain && is.etcds() < 2)
    claims("phase " + phase, {"its members are of one etcd", kPolled});
  if (phase == v1::kPhaseCorrupt && !is.corrupt)
    claims("phase " + phase, {"no alarm is raised", kPolled});
  if (phase == v1::kPhasePaused && is.runs()) claims("phase " + phase, {"an etcd runs", kNodeLost});
  if (phase == v1::kPhaseCreating && is.serves() && is.ready() >= is.want)
    claims("phase " + phase, {"it serves", kReadyAgain});

  if (is.want > 0 && status.ready_members > is.ready())
    claims("readyMembers " + std::to_string(status.ready_members),
           {std::to_string(is.ready()) + " are ready", kNodeLost});
  if (is.want > 0 && status.ready_members < is.ready() && is.quorum)
    claims("readyMembers " + std::to_string(status.ready_members),
           {std::to_string(is.ready()) + " are ready", kReadyAgain});
  const auto lost = std::ranges::count(is.members, false, &Facts::Member::has_data);
  if (status.broken_members > lost)
    claims("brokenMembers " + std::to_string(status.broken_members),
           {std::to_string(lost) + " have no data", kWatched});
  const auto voters_lost = std::ranges::count_if(is.members, [](const Facts::Member& one) {
    return one.object->status.is_voter && is_wanted(*one.object) && !one.has_data;
  });
  if (is.quorum && status.broken_members < voters_lost)
    claims("brokenMembers " + std::to_string(status.broken_members),
           {std::to_string(voters_lost) + " voters have no data", kStuck});

  const auto says = [&](const char* type, const char* value) {
    const auto* c = runtime::find_condition(status.conditions, type);
    return c && c->status == value;
  };
  const auto* tls = runtime::find_condition(status.conditions, v1::kTlsReady);
  // The Pod of a member that was replaced ends when its lost node is back.
  const auto has_ending_pod = [&](const api::ObjectKey& key) {
    return std::ranges::any_of(server_.read_all<kube::Pod>(), [&](const auto& pod) {
      const auto label = pod->metadata.labels.find(v1::kClusterLabel);
      return pod->metadata.ns == key.ns && pod->metadata.terminating() &&
             label != pod->metadata.labels.end() && label->second == key.name;
    });
  };
  const auto* progress = runtime::find_condition(status.conditions, v1::kProgressing);
  if (phase == v1::kPhaseReady && says(v1::kAvailable, "True") && says(v1::kDegraded, "False") &&
      progress && progress->reason == v1::kReconciled && (!tls || tls->status == "True"))
    if (const std::string what = missing(cluster.metadata.key());
        !what.empty() && !has_ending_pod(cluster.metadata.key()))
      claims("that all is well", {"it " + what, kStuck});
  for (const auto& [what, cause] : blocked_)
    if (what.first == cluster.metadata.key() && clock_.now() - cause.since > kUnnamed)
      claims("nothing of \"" + what.second + "\"", {unnamed(cluster, is, what.second), 15s});
}

/// Whether no condition of the cluster or of its members has the word in it; empty: one has.
std::string Oracles::unnamed(const v1::EtcdCluster& cluster, const Facts& is,
                             const std::string& word) const {
  const auto has = [&](const std::vector<api::Condition>& conditions) {
    return std::ranges::any_of(conditions, [&](const api::Condition& c) {
      return c.message.find(word) != std::string::npos || c.reason == word;
    });
  };
  if (has(cluster.status.conditions)) return "";
  for (const Facts::Member& member : is.members)
    if (has(member.object->status.conditions)) return "";
  return "that is what holds it up";
}

Oracles::Verdict Oracles::of_cluster(ConditionType type, const api::Condition& c,
                                     const v1::EtcdCluster& cluster, const Facts& is) const {
  const bool says_true = c.status == "True";
  switch (type) {
    case ConditionType::Available:
      if (says_true && !is.quorum) return {"etcd has no quorum", kAvailableFor};
      // Where the Service cannot be written, etcd serves, and the words name the Service.
      if (says_true && is.led_to.empty() && !names_service(cluster))
        return {"the client Service leads to no member", kAvailableFor};
      // Under an older CRD its EtcdMember does not say so; Degraded does.
      if (says_true && std::ranges::any_of(is.led_to, [&](auto id) { return id != is.id; }) &&
          !says_so(cluster, v1::kDegraded, "clients may reach it"))
        return {"the client Service leads to another etcd", kPolled};
      if (c.reason == v1::kQuorumLost && is.serves()) return {"a read succeeds", kPolled};
      if (c.reason == v1::kDataLost && is.has_data()) return {"a member has its data", kWatched};
      if (c.reason == v1::kCorrupt && !is.corrupt) return {"no alarm is raised", kPolled};
      if (c.reason == v1::kSplitBrain && is.etcds() < 2)
        return {"its members are of one etcd", kPolled};
      if (has_reason(c, {v1::kClusterUnreachable, v1::kCrashLooping}) && is.serves())
        return {"a read succeeds", kReadyAgain};
      return {};
    case ConditionType::Degraded:
      if (c.reason == v1::kQuorumHealthy && c.status == "False") {
        if (!is.quorum) return {"etcd has no quorum", kPolled};
        if (is.ready() < is.want)
          return {std::to_string(is.ready()) + " of " + std::to_string(is.want) + " are ready",
                  kPolled};
        if (is.no_space || is.corrupt) return {"an alarm is raised", kPolled};
        return {};
      }
      if (c.reason == v1::kServiceRefused && is.has_service)
        return {"the client Service exists", kPolled};
      if (c.reason == v1::kMembersUnhealthy && is.quorum && is.ready() >= is.want)
        return {"all members are ready", kReadyAgain};
      if (c.reason == v1::kQuorumLost && is.serves()) return {"a read succeeds", kPolled};
      if (c.reason == v1::kClusterUnreachable && is.serves())
        return {"a read succeeds", kReadyAgain};
      if (c.reason == v1::kDataLost && is.has_data()) return {"a member has its data", kWatched};
      if (c.reason == v1::kSplitBrain && is.etcds() < 2)
        return {"its members are of one etcd", kPolled};
      if (c.reason == v1::kForeignMember && !is.has_foreign())
        return {"each member of etcd has an EtcdMember", kPolled};
      if (c.reason == v1::kNoSpace && !is.no_space) return {"no alarm is raised", kPolled};
      if (c.reason == v1::kCorrupt && !is.corrupt) return {"no alarm is raised", kPolled};
      return {};
    case ConditionType::Alarmed:
      if (says_true && !is.no_space && !is.corrupt) return {"no alarm is raised", kPolled};
      if (!says_true && (is.no_space || is.corrupt)) return {"an alarm is raised", kPolled};
      return {};
    case ConditionType::TlsReady: return certificates(c, cluster, is);
    case ConditionType::PlainText: {
      const auto plain = [&](const Facts::Member& one) {
        return one.process && (!nodes_.port_at(one.address, v1::kClientPort) ||
                               !nodes_.port_at(one.address, v1::kPeerPort));
      };
      if (says_true && is.runs() && std::ranges::none_of(is.members, plain))
        return {"every port speaks TLS", kWatched};
      return {};
    }
    case ConditionType::InternalError:  // Judged in check_types().
    case ConditionType::Progressing:    // Reconciled comes with issue G; see also "all is well".
    case ConditionType::Ready:          // Not of clusters, nor are the following.
    case ConditionType::VersionDrifted:
    case ConditionType::DefragChecked:  // F2
    case ConditionType::Verified:       // Its truth is checked by SnapshotChecker; its age by F2.
    case ConditionType::BackupStale:
    case ConditionType::BackupUnverified:
    case ConditionType::RetentionApplied:  // F2
    case ConditionType::Checked:
    case ConditionType::Stopped:
    case ConditionType::DataRestored:
    case ConditionType::Committed:  // F2
    case ConditionType::RolledBack:
    case ConditionType::kCount: return {};
  }
  return {};
}

/// Whether the certificate's Secrets are in use, or its CA lost, as the condition says.
Oracles::Verdict Oracles::certificates(const api::Condition& c, const v1::EtcdCluster& cluster,
                                       const Facts& is) const {
  if (c.reason == v1::kAuthorityLost && authority_is_there(cluster))
    return {"every CA is there", kSecretsRead};
  if (c.status != "True") return {};
  if (!authority_is_there(cluster)) return {"a CA is gone", kSecretsRead};
  const TlsSecrets names = tls_secrets_of(cluster);
  const auto shows = [&](const Facts::Member& one, std::int32_t port, const std::string& secret) {
    if (secret.empty() || !one.ready) return true;
    const auto wanted = server_.look(kube::SecretObject::resource, {cluster.metadata.ns, secret});
    const auto shown = nodes_.port_at(one.address, port);
    return wanted && shown && shown->now->certificate == files_of(*wanted)->certificate;
  };
  // Each new certificate takes its time to arrive (seed 601240).
  Instant from{};
  for (const std::string& secret : {names.server, names.peer})
    if (const auto known = secrets_.find({cluster.metadata.ns, secret}); known != secrets_.end())
      from = std::max(from, known->second);
  for (const Facts::Member& one : is.members)
    if (!shows(one, v1::kClientPort, names.server) || !shows(one, v1::kPeerPort, names.peer))
      return {one.object->metadata.name + " shows another certificate than its Secret has",
              kSecretsRead, from};
  return {};
}

/// Every CA of the operator's own has a readable certificate.
bool Oracles::authority_is_there(const v1::EtcdCluster& cluster) const {
  for (const ManagedSecret& secret : managed_secrets_of(cluster)) {
    const auto there = server_.read<kube::SecretObject>({cluster.metadata.ns, secret.name});
    if (there && !is_of(cluster, there->metadata)) return false;
    if (secret.kind != ManagedSecret::Kind::Authority) continue;
    if (!there || !read_certificate(std::string(there->value(kCertificateKey).reveal())))
      return false;
  }
  return true;
}

void Oracles::look_at(const v1::EtcdMember& member, const Facts& is) {
  if (member.metadata.terminating()) return;
  for (const api::Condition& c : member.status.conditions)
    if (const auto type = v1::condition_type(c.type))
      judge("EtcdMember " + to_string(member.metadata.key()) + " " + member.metadata.uid,
            c.type + "=" + c.status + "/" + c.reason, of_member(*type, c, member, is));
}

Oracles::Verdict Oracles::of_member(ConditionType type, const api::Condition& c,
                                    const v1::EtcdMember& member, const Facts& is) const {
  const auto& it =
      *std::ranges::find(is.members, member.metadata.uid,
                         [](const Facts::Member& one) { return one.object->metadata.uid; });
  if (type == ConditionType::Ready) {
    const bool of_this = it.process && it.process->cluster == is.id;
    if (c.status == "True" && it.process && !of_this && clock_.now() < pruned_until_) return {};
    if (c.status == "True" && !it.ready) return {"it does not serve", kNodeLost};
    if (c.status == "True" && is.id.value != 0 && !of_this)
      return {"it is a member of another etcd", kPolled};
    if (has_reason(c, {v1::kDataLost, v1::kDataCorrupt}) && it.has_data)
      return {"it has its data", kWatched};
    if (has_reason(c, {v1::kPodNotReady, v1::kCrashLooping, v1::kUnschedulable,
                       v1::kImagePullFailed, v1::kPodRejected, v1::kDiscoveringMemberId}) &&
        it.ready && of_this)
      return {"it serves", kReadyAgain};
    if (c.reason == v1::kPaused && it.process) return {"its etcd runs", kNodeLost};
  }
  if (type == ConditionType::VersionDrifted && it.process && it.process->serves) {
    const bool drifted = it.process->version != member.spec.version;
    if (drifted != (c.status == "True")) return {"its etcd runs " + it.process->version, kPolled};
  }
  return {};
}

}  // namespace etcdop::sim
