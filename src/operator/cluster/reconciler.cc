// One pass over an EtcdCluster, from top to bottom.
#include "operator/cluster/reconciler.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/v1alpha2/names.h"
#include "operator/cluster/alarms.h"
#include "operator/cluster/census.h"
#include "operator/cluster/events.h"
#include "operator/cluster/issuing.h"
#include "operator/cluster/log_words.h"
#include "operator/cluster/member_report.h"
#include "operator/cluster/membership.h"
#include "operator/cluster/objects.h"
#include "operator/cluster/outage.h"
#include "operator/cluster/remains.h"
#include "operator/cluster/restore_in_place.h"
#include "operator/cluster/security.h"
#include "operator/cluster/selectors.h"
#include "operator/cluster/spec.h"
#include "operator/passes/finalizer.h"
#include "operator/passes/metadata.h"
#include "operator/passes/owner.h"
#include "operator/pods/etcd_pod.h"
#include "operator/pods/founder.h"
#include "operator/pods/member_endpoint.h"
#include "operator/pods/member_name.h"
#include "runtime/conditions.h"
#include "runtime/transitions.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

/// Kubernetes copies it from the node to the Pod (1.35 by default). The operator may not read
/// Nodes.
constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
constexpr auto kAddAgain = 1s;
constexpr auto kRefusalsExpected = 15s;  // For 5 s after each change; longer is reported.

/// Whether the member has TLS at other ports than one that the cluster would make now.
bool has_other_tls(const v1::EtcdMember& member, const v1::EtcdCluster& cluster) {
  v1::EtcdMember made;
  made.spec.tls = member_tls(cluster);
  return client_tls(member) != client_tls(made) || peer_tls(member) != peer_tls(made);
}

Seat::Object object_of(const v1::EtcdMember& member, const v1::EtcdCluster& cluster) {
  Seat::Object out;
  out.uid = member.metadata.uid;
  out.current = member.spec.cluster_token == cluster.status.cluster_token;
  out.terminating = member.metadata.terminating();
  out.seed = member.spec.bootstrap;
  out.dormant = member.spec.dormant;
  out.has_finalizer = has_our_finalizer(member.metadata);
  out.initial_cluster = member.spec.initial_cluster;
  out.member_id = member.status.member_id;
  out.voter = member.status.is_voter;
  out.joined_in = member.status.joined_in;
  out.removed = member.status.removed;
  out.elsewhere = member.status.elsewhere;
  out.version = member.status.version;
  out.spec_version = member.spec.version;
  out.made_as = template_of(member.spec);
  out.other_tls = cluster.status.cluster_id.empty() && has_other_tls(member, cluster);
  out.other_medium = member.spec.storage.medium != cluster.spec.storage.medium;
  out.created = from_rfc3339(member.metadata.creation_timestamp).value_or(WallTime{});
  for (const api::Condition& c : member.status.conditions) {
    if (c.type != v1::kReady) continue;
    out.ready = c.status == "True";
    out.lost = !out.ready && (c.reason == v1::kDataLost || c.reason == v1::kDataCorrupt);
    if (!out.ready) out.reason = c.reason;
    const bool ordinary = c.reason == v1::kPodNotReady || c.reason == v1::kDiscoveringMemberId ||
                          c.reason == v1::kRestoring;
    if (!out.ready && !ordinary) out.trouble = c.message;
  }
  return out;
}

/// Whether the place of its data exists, whatever its etcd says about it.
bool has_its_place(const v1::EtcdMember& member, const kube::Pod* pod,
                   const kube::PersistentVolumeClaim* volume) {
  if (member.spec.storage.medium != v1::Medium::Memory)
    return volume && is_ours(volume->metadata, member.metadata.uid);
  return pod && pod->metadata.uid == member.status.pod_uid && !has_ended(*pod);
}

Seat::Pod pod_of(const kube::Pod& pod, const std::string& cluster_uid) {
  const auto note = [&](const char* key) {
    const auto found = pod.metadata.annotations.find(key);
    return found == pod.metadata.annotations.end() ? "" : found->second;
  };
  return {.node = pod.spec.node_name,
          .many_learners = takes_many_learners(pod),
          .founds = founds_a_cluster(pod),
          .restores = has_to_restore(pod),
          .may_join = may_join(pod),
          .has_uid = label_of(pod.metadata, v1::kClusterUidLabel) == cluster_uid,
          .has_role = label_of(pod.metadata, v1::kRoleLabel) == v1::kVoter,
          .idle = is_idle(pod),
          .client_authority = note(v1::kClientAuthorityAnnotation),
          .peer_authority = note(v1::kPeerAuthorityAnnotation),
          .run = run_of(pod),
          .zone = label_of(pod.metadata, kZoneLabel),
          .snapshot_count = number_in(pod, kSnapshotCountFlag),
          .catch_up = std::max(number_in(pod, kCatchUpFlag), number_in(pod, kOldCatchUpFlag))};
}

/// The member whose EtcdMember a step writes; null: none.
const Seat* seat_of(const Observation& seen, const Step& step) {
  if (asks_etcd(step)) return nullptr;
  const std::string name = concerned_by(step);
  for (const auto* seats : {&seen.seats, &seen.kept})
    if (const auto seat = std::ranges::find(*seats, name, &Seat::name);
        seat != seats->end() && seat->object)
      return &*seat;
  return nullptr;
}

/// The joiner that the step deletes because its data is lost; null: none.
const Seat* failed_joiner(const Observation& seen, const Step& step) {
  const auto* deleted = std::get_if<DeleteMember>(&step);
  const Seat* seat = deleted ? seat_of(seen, step) : nullptr;
  return seat && !seat->object->voter && lost(*seat) ? seat : nullptr;
}

json::object status_of(const MemberFacts& fact) {
  json::object out{
      {"memberID", fact.member_id}, {"isVoter", fact.voter}, {"version", fact.version}};
  if (fact.removed) out["removed"] = true;
  out["elsewhere"] = fact.elsewhere ? Json(true) : Json(nullptr);
  if (!fact.joined_in.empty()) out["joinedIn"] = fact.joined_in;
  return out;
}

bool has_kept(const v1::EtcdMemberStatus& status, const MemberFacts& fact) {
  return status.removed == fact.removed && status.elsewhere == fact.elsewhere;
}

/// Whatever the answer was: if the step comes again, that voter did not take the leadership.
void note_heir(const Step& step, std::vector<std::string>& heirs) {
  const auto* moved = std::get_if<MoveLeader>(&step);
  if (!moved || std::ranges::find(heirs, moved->name) != heirs.end()) heirs.clear();
  if (moved) heirs.push_back(moved->name);
}

/// Whether it was refused only for now (another change is too recent, a learner lags): retried at
/// the plan's pace.
bool for_now(const Result<Done>& acted) {
  return acted.failed_with(Code::Unavailable) || acted.failed_with(Code::Conflict);
}

}  // namespace

void Reconciler::forget(const api::ObjectKey& key) {
  memory_.erase(key);
  failed_joiners_.forget(key);
  corrected_.forget(key);
  children_.forget(key);
  questions_.forget(key);
  served_certificates_.forget(key);
  with_.credentials.forget(key);
  if (with_.metrics) with_.metrics->gone(key);
}

Result<Observation> Reconciler::observe(const Object& cluster, Context& endpoints) {
  Observation seen;
  seen.now = with_.clock.wall_now();
  seen.cluster = cluster;
  seen.cert_manager = with_.stores.certificates.synced();
  seen.cluster_domain = with_.cluster_domain;
  seen.pod_policy = with_.pod_policy;
  observe_account(seen);
  seen.tls = with_.credentials.certificates.of(cluster);
  observe_members(seen, endpoints);
  observe_volumes(seen);
  observe_children(seen);
  observe_restore(seen);
  observe_refusals(seen);
  const bool reachable = !endpoints.empty();
  with_.credentials.certificates.equip(cluster, endpoints);
  if (reachable && endpoints.empty()) seen.etcd_error = "operator TLS config: " + tls_trouble(seen);
  questions_.ask(seen, endpoints);
  observe_stray_pods(seen);
  note_answers(seen);
  served_certificates_.look(seen, endpoints, with_.credentials.certificates);
  note_unreachable(seen);
  note_lasting(seen, endpoints);
  if (note_condemned(seen)) observe_others(seen);
  std::ranges::sort(seen.seats, {}, &Seat::name);
  std::ranges::sort(seen.kept, {}, &Seat::name);
  return seen;
}

void Reconciler::observe_member(const v1::EtcdMember& member, Observation& seen,
                                Endpoints& endpoints) const {
  const v1::EtcdCluster& cluster = seen.cluster;
  const api::ObjectKey key = member.metadata.key();
  const bool orphan = is_orphan(member, cluster);
  const bool disowned = has_lost_owner(member, cluster);
  if (!orphan && !disowned && !is_ours(member.metadata, cluster.metadata.uid)) {
    const bool anothers = member.metadata.controller() || member.metadata.terminating();
    if (cluster.status.cluster_id.empty()) seen.stray_members.push_back("EtcdMember " + key.name);
    else if (!anothers) seen.strangers.push_back(key.name);
    return;
  }
  Seat seat;
  seat.name = key.name;
  seat.peer_url = peer_url_of(member);
  seat.object = object_of(member, cluster);
  seat.object->orphan = orphan;
  seat.object->disowned = disowned;
  seat.object->astray = disowned || cluster_of(member.metadata) != cluster.metadata.key();
  const auto pod = with_.stores.pods.get(key);
  if (pod) seat.pod = pod_of(*pod, cluster.metadata.uid);
  const auto volume = with_.stores.volumes.get({key.ns, volume_name(seat.name)});
  seat.object->unborn = never_ran(member, pod.get(), volume.get());
  if (seat.object->lost && has_its_place(member, pod.get(), volume.get())) {
    seat.object->lost = false;
    seat.object->says_lost = true;
  }
  if (cluster.restoring() && cluster.restoring()->keeps(member.metadata.uid)) {
    seen.kept.push_back(std::move(seat));
    return;
  }
  if (pod)
    if (auto endpoint = endpoint_of(cluster, member, *pod))
      endpoints.emplace(seat.name, std::move(*endpoint));
  seen.seats.push_back(std::move(seat));
}

void Reconciler::observe_members(Observation& seen, Endpoints& endpoints) const {
  const v1::EtcdCluster& cluster = seen.cluster;
  const api::ObjectKey key = cluster.metadata.key();
  for (const auto& member : with_.stores.members.in_group(key)) {
    seen.taken_names.push_back(member->metadata.name);
    observe_member(*member, seen, endpoints);
  }
  const std::set<std::string> ours = uids_of_members(seen);
  for (const auto& pod : with_.stores.pods.in_group(key)) {
    seen.taken_names.push_back(pod->metadata.name);
    if (cluster.status.cluster_id.empty() && is_stray(*pod, ours))
      seen.stray_members.push_back("Pod " + pod->metadata.name);
  }
  if (cluster.status.cluster_id.empty()) note_tokens(seen);
}

void Reconciler::observe_stray_pods(Observation& seen) const {
  const std::set<std::string> ours = uids_of_members(seen);
  const api::ObjectMeta& cluster = seen.cluster.metadata;
  for (const auto& pod : with_.stores.pods.in_group(cluster.key())) {
    if (!is_stray(*pod, ours)) continue;
    const api::ObjectMeta& meta = pod->metadata;
    seen.stray_voters += pod->ready() && label_of(meta, v1::kRoleLabel) == v1::kVoter;
    if (!meta.controller() && label_of(meta, v1::kClusterUidLabel) == cluster.uid &&
        !with_.stores.members.get(meta.key()))
      seen.stray_pods.push_back(meta.name);
  }
}

/// Members that the cluster did not make are one etcd only if all have one token.
void Reconciler::note_tokens(Observation& seen) const {
  for (Seat& seat : seen.seats)
    if (const auto member = with_.stores.members.get({seen.cluster.metadata.ns, seat.name}))
      seat.object->token = member->spec.cluster_token;
}

void Reconciler::observe_refusals(Observation& seen) {
  const api::ObjectKey key = seen.cluster.metadata.key();
  seen.rejected = refusal(key);
  seen.failing_step = failing(key);
  seen.tried_heirs = memory_[key].heirs;
  if (seen.rejected.empty()) seen.rejected = children_.why(key);
  if (seen.client_service == Child::Missing)
    seen.service_refused = children_.why_no_client_service(key);
  if (seen.rejected.empty()) seen.rejected = failed_joiners_.words(key, with_.executor.now());
  const Memory& memory = memory_[key];
  if (!memory.put_off.empty() && with_.executor.now() - memory.put_off_since >= kRefusalsExpected)
    seen.rejected = memory.put_off;
}

void Reconciler::observe_volumes(Observation& seen) const {
  const std::set<std::string> members = uids_of_members(seen);
  for (const auto& volume : with_.stores.volumes.in_group(seen.cluster.metadata.key())) {
    const std::string& name = volume->metadata.name;
    if (name.starts_with(kVolumePrefix))
      seen.have_volumes.push_back(name.substr(std::string_view(kVolumePrefix).size()));
    if (seen.cluster.status.cluster_id.empty() && is_stray(*volume, members))
      seen.stray_volumes.push_back(name);
  }
}

/// Asked of the API server only for a template that may be accepted now.
void Reconciler::observe_account(Observation& seen) const {
  const v1::EtcdCluster& cluster = seen.cluster;
  if (seen.pod_policy != PodPolicy::Restricted || !has_new_template(cluster)) return;
  const std::string name = account_of(*cluster.spec.pod_template);
  if (name.empty()) return;
  const std::string account = "ServiceAccount " + name;
  auto read = with_.api.get<kube::ServiceAccount>({cluster.metadata.ns, name});
  if (!read)
    seen.account_trouble =
        account + (read.failed_with(Code::NotFound) ? " does not exist"
                                                    : " cannot be read: " + read.error().message);
  else if (label_of(read->metadata, v1::kAllowPodsLabel) != "true")
    seen.account_trouble = account + " must have the label " + v1::kAllowPodsLabel +
                           "=true, because of --pod-template-policy=restricted";
}

/// Asks the API server for the user's decision, as the next steps stop a cluster or cannot be
/// undone. Unknown if the API server does not answer.
void Reconciler::observe_restore(Observation& seen) {
  const v1::EtcdCluster& cluster = seen.cluster;
  const v1::RestoreRecord* record = cluster.restoring();
  const std::string name =
      record ? record->name
             : next_to_begin(with_.stores.restores.in_group(cluster.metadata.key()), cluster);
  if (name.empty()) return;
  auto there = with_.api.get<v1::EtcdRestore>({cluster.metadata.ns, name});
  if (!there && !there.failed_with(Code::NotFound)) {
    with_.log.warn("cannot read the EtcdRestore", {{"cluster", to_string(cluster.metadata.key())},
                                                   {"error", there.error().message}});
    return;
  }
  if (!record && (!there || !may_begin(*there, cluster))) return;
  const bool same = there && (!record || there->metadata.uid == record->uid);
  RestoreSeen& out = seen.restore.emplace();
  out.name = name;
  out.uid = record ? record->uid : there->metadata.uid;
  out.gone = !same || there->metadata.terminating();
  if (out.gone) return;
  out.decision = there->spec.decision;
  out.from = {.source = there->spec.source,
              .bump_revision = there->spec.bump_revision,
              .checksum = there->status.source ? there->status.source->checksum : ""};
  out.run_id = there->spec.run_id;
}

/// Notes since when a member has had neither an answer nor a ready Pod. It takes both: the first
/// depends on our network, the second on the API server.
void Reconciler::note_unreachable(Observation& seen) {
  const api::ObjectKey key = seen.cluster.metadata.key();
  Memory& memory = memory_[key];
  const UnreachablePolicy policy = unreachable_policy(seen.cluster);
  seen.replace_unreachable_s = policy.after_s;
  seen.policy_error = policy.error;
  if (std::exchange(memory.policy_error, policy.error) != policy.error && !policy.error.empty())
    with_.log.warn("ignored", {{"cluster", to_string(key)}, {"error", policy.error}});
  std::set<std::string> unseen;
  for (const Seat& seat : seen.seats) {
    if (policy.after_s == 0 || !seat.object || seat.answer) continue;
    const auto pod = with_.stores.pods.get({key.ns, seat.name});
    if (!pod || !pod->ready()) unseen.insert(seat.object->uid);
  }
  const Instant now = with_.executor.now();
  memory.unreachable.note(unseen, now);
  for (Seat& seat : seen.seats)
    if (seat.object) seat.unreachable_s = memory.unreachable.seconds(seat.object->uid, now);
}

/// Notes since when members have been silent, learners without progress, and Pods without a node.
void Reconciler::note_lasting(Observation& seen, const Endpoints& endpoints) {
  Memory& memory = memory_[seen.cluster.metadata.key()];
  std::set<std::string> silent, stalled, blocked;
  std::map<std::string, std::uint64_t> applied;
  for (const Seat& seat : seen.seats) {
    if (!seat.object) continue;
    const std::string& uid = seat.object->uid;
    if (!seat.answer) silent.insert(uid);
    if (seat.object->reason == v1::kUnschedulable || seat.object->reason == v1::kPodRejected)
      blocked.insert(uid);
    if (!seat.listed || !seat.listed->learner) continue;
    const auto known = memory.applied.find(uid);
    const std::uint64_t before = known == memory.applied.end() ? 0 : known->second;
    const std::uint64_t now = seat.answer ? seat.answer->applied : 0;
    if (now <= before && (!seat.answer || lag_of(seen, seat) > 0)) stalled.insert(uid);
    applied[uid] = std::max(before, now);
  }
  memory.applied = std::move(applied);
  const Instant now = with_.executor.now();
  memory.silent.note(silent, now);
  memory.stalled.note(stalled, now);
  memory.blocked.note(blocked, now);
  for (Seat& seat : seen.seats) {
    if (!seat.object) continue;
    seat.silent_s = memory.silent.seconds(seat.object->uid, now);
    seat.stalled_s = memory.stalled.seconds(seat.object->uid, now);
    seat.blocked_s = memory.blocked.seconds(seat.object->uid, now);
    const auto at = endpoints.find(seat.name);
    if (!is_stalled(seen, seat) || at == endpoints.end() || !with_.receives_snapshot) continue;
    auto receives = with_.receives_snapshot(at->second);
    // It may receive one while too many others are asked.
    seat.receives_snapshot = receives ? *receives : receives.failed_with(Code::Expired);
  }
}

void Reconciler::observe_children(Observation& seen) const {
  const v1::EtcdCluster& cluster = seen.cluster;
  const api::ObjectKey key = cluster.metadata.key();
  const auto child = [&](const auto& found, const Json& wanted) {
    if (!found || !is_ours(found->metadata, cluster.metadata.uid)) return Child::Missing;
    return is_as_made(*found, wanted) ? Child::AsMade : Child::Drifted;
  };
  // A Service that selects by fewer keys is as made: the plan decides when it gets another one.
  const auto service = [&](const std::string& name, auto wanted, SelectorKeys& lacking) {
    const auto found = with_.stores.services.get({key.ns, name});
    lacking = {.uid = true, .role = true};
    if (found) lacking = lacks(*found, cluster);
    return child(found, wanted(cluster, {.uid = !lacking.uid, .role = !lacking.role}));
  };
  seen.headless_service = service(key.name, headless_service, seen.headless_lacks);
  seen.client_service = service(client_service_name(key.name), client_service, seen.client_lacks);
  for (const Json& wanted : least_certificates(seen)) {
    const std::string name(wanted.at("metadata").at("name").as_string());
    seen.certificates.push_back(
        {name, child(with_.stores.certificates.get({key.ns, name}), wanted)});
  }
  const auto budget_now = with_.stores.budgets.get(key);
  seen.budget = child(budget_now, budget(cluster, 0));
  if (seen.budget == Child::AsMade) seen.budget_min = budget_now->spec.min_available->as_int64();
}

void Reconciler::note_answers(Observation& seen) {
  std::optional<WallTime>& answered = memory_[seen.cluster.metadata.key()].answered;
  const auto answers = [](const Seat& s) { return s.answer.has_value(); };
  if (std::ranges::any_of(seen.seats, answers)) answered = seen.now;
  else seen.last_answer = answered;
}

/// Whether a member is to be replaced.
bool Reconciler::note_condemned(Observation& seen) {
  const std::set<std::string> uids = condemned(seen);
  const Instant now = with_.executor.now();
  Lasting& since = memory_[seen.cluster.metadata.key()].condemned;
  since.note(uids, now);
  for (Seat& seat : seen.seats)
    if (seat.object) seat.condemned_s = since.seconds(seat.object->uid, now);
  return !uids.empty();
}

void Reconciler::observe_others(Observation& seen) const {
  std::map<std::string, bool> elsewhere;  // By namespace: whether one became unavailable lately.
  for (const auto& other : with_.stores.clusters.all()) {
    if (other->status.cluster_id.empty() || other->metadata.uid == seen.cluster.metadata.uid)
      continue;
    const bool fell = became_unavailable_lately(*other, seen.now);
    if (other->metadata.ns != seen.cluster.metadata.ns) {
      elsewhere[other->metadata.ns] |= fell;
      continue;
    }
    ++seen.others;
    seen.others_unavailable += fell;
  }
  seen.others += std::ssize(elsewhere);
  for (const auto& [ns, fell] : elsewhere) seen.others_unavailable += fell;
}

/// Writes etcd's facts about members into the status of their EtcdMembers. Fields that an older CRD
/// drops are not written at each pass (I9).
Result<Done> Reconciler::report_more(const Observation& seen, Plan& plan) {
  const api::ObjectMeta& meta = seen.cluster.metadata;
  const Instant now = with_.executor.now();
  auto& dropped = memory_[meta.key()].dropped;
  std::erase_if(dropped, [&](const auto& one) {
    return std::ranges::find(plan.facts, one.second.first) == plan.facts.end() ||
           now - one.second.second >= kDroppedAgain;
  });
  for (const MemberFacts& fact : plan.facts) {
    if (dropped.contains(fact.uid)) continue;
    const api::ObjectKey key{meta.ns, fact.name};
    // resourceVersion stands in for the UID, which the API server ignores in a write of the status.
    const auto member = with_.stores.members.get(key);
    if (!member || member->metadata.uid != fact.uid) continue;  // As if it were deleted.
    if (with_.stores.status_writes.contains(key)) {             // Written later, if still needed.
      plan.again = std::min(plan.again, kAgainSoon);
      continue;
    }
    const Claim alone(with_.stores.status_writes, key);
    auto written = with_.api.merge_patch<v1::EtcdMember, kube::Part::Status>(
        key, {{"metadata", {{"resourceVersion", member->metadata.resource_version}}},
              {"status", status_of(fact)}});
    if (written.failed_with(Code::NotFound))
      continue;  // Force-deleted meanwhile: the next pass sees it.
    if (leaves_doubt(written)) look_again(with_.api, with_.stores.members, key, fact.uid);
    if (!written) return Error(written.error()).during("write the status of " + to_string(key));
    if (!has_kept(written->status, fact)) dropped[fact.uid] = {fact, now};
    with_.stores.members.wrote(std::move(*written));
  }
  return Done{};
}

/// Records each Event once: the status was written under the resourceVersion of the plan.
void Reconciler::tell(const Observation& seen, const Plan& plan) {
  if (!with_.events) return;
  for (const auto& one : turns_of_members(seen, plan.status)) with_.events->record(one);
  for (const auto& one : renewals(seen, plan.status)) with_.events->record(one);
  for (const auto& one : births(seen, plan.status)) with_.events->record(one);
  for (const auto& one : runtime::transitions(regarding(seen), seen.cluster.status.conditions,
                                              plan.status.conditions))
    with_.events->record(one);
}

bool Reconciler::is_worth_a_write(const json::object& patch) const {
  return !has_only_measurements(patch);
}

std::string Reconciler::says(const Plan& plan) const {
  return to_string(plan.step) + "; " + plan.waiting_for;
}

/// A plan without a visible effect is not carried out again at once.
void Reconciler::planned(const Observation& seen, Plan& plan, bool news) {
  const api::ObjectKey key = seen.cluster.metadata.key();
  if (with_.metrics) with_.metrics->saw(seen, plan.status);
  if (!news) {
    plan.again = std::max(plan.again, pace(seen, plan.status));
    return;
  }
  if (std::holds_alternative<NoStep>(plan.step))
    with_.log.debug(
        "planned",
        {{"cluster", to_string(key)}, {"step", "none"}, {"waiting_for", plan.waiting_for}});
  say(key, words_before(seen, plan), plan.step);
}

std::string Reconciler::writes(const Plan& plan) const {
  const bool children =
      plan.make_headless_service || plan.make_client_service || plan.budget || plan.drop_budget;
  return (children ? "children, " : "") + to_string(plan.step);
}

Result<Done> Reconciler::prepare(const Observation& seen, Plan& plan) {
  return children_.make(seen, plan);
}

Outcome Reconciler::act(const Observation& seen, const Context& endpoints, Plan& plan) {
  const api::ObjectKey key = seen.cluster.metadata.key();
  auto done = cluster::act(with_, seen, plan, endpoints, memory_[key].joiner);
  with_.credentials.sessions.note_change(seen.cluster, done);
  say(key, words_after(plan.step, done), plan.step);
  if (leaves_doubt(done) || done.failed_with(Code::NotFound))
    if (const Seat* seat = seat_of(seen, plan.step))
      look_again(with_.api, with_.stores.members, {key.ns, seat->name}, seat->object->uid);
  return {done, !asks_etcd(plan.step)};
}

namespace {
/// Another client may write the first member's spec back.
bool corrects_founder(const Observation& seen, const Plan& plan) {
  return std::holds_alternative<CorrectFounder>(plan.step) ||
         (std::holds_alternative<Publish>(plan.step) && seen.cluster.status.cluster_id.empty());
}
}  // namespace

/// A refusal by etcd that lasts is reported in the status.
void Reconciler::acted(const Observation& seen, const Plan& plan, const Outcome& outcome) {
  const Result<Done>& done = outcome.done;
  const api::ObjectKey key = seen.cluster.metadata.key();
  if (const Seat* gone = done ? failed_joiner(seen, plan.step) : nullptr)
    failed_joiners_.failed(key, gone->object->uid, gone->name + ": " + gone->object->trouble,
                           with_.executor.now());
  if (done && corrects_founder(seen, plan))
    corrected_.did(key, to_string(plan.step), with_.executor.now());
  Memory& memory = memory_[key];
  note_heir(plan.step, memory.heirs);
  if (outcome.is_refused()) return memory.put_off.clear();  // Reported separately.
  if (!for_now(done) && !refused(done)) {
    memory.put_off.clear();
  } else if (memory.put_off != done.error().message) {
    memory.put_off = done.error().message;
    memory.put_off_since = with_.executor.now();
    with_.log.info("refused for now, trying again",
                   {{"cluster", to_string(key)}, {"error", memory.put_off}});
  }
}

/// For 5 s after a promotion etcd accepts no new member.
Result<runtime::Requeue> Reconciler::retry(const Observation& seen, const Plan& plan,
                                           const Error& error) {
  if (!for_now(error)) return error;
  const std::chrono::milliseconds due = pace(seen, plan.status);
  if (!std::holds_alternative<AddLearner>(plan.step)) return runtime::Requeue{due};
  return runtime::Requeue{std::max<std::chrono::milliseconds>(kAddAgain, due)};
}

/// A joiner that lost its data at once is not followed by another at once (K6). An older
/// CustomResourceDefinition may drop what a correction writes.
Duration Reconciler::holds_up(const Observation& seen, const Plan& plan) {
  if (corrects_founder(seen, plan))
    return corrected_.wait(seen.cluster.metadata.key(), to_string(plan.step), with_.executor.now());
  const auto* made = std::get_if<CreateMember>(&plan.step);
  return made && !made->seed
             ? failed_joiners_.wait(seen.cluster.metadata.key(), with_.executor.now())
             : Duration(0);
}

/// Logs once, however often the step is tried.
void Reconciler::say(const api::ObjectKey& key, std::string_view words, const Step& step) {
  if (words.empty()) return;
  std::string both = std::string(words) + " " + to_string(step);
  std::string& before = memory_[key].said;
  if (before == both) return;
  before = std::move(both);
  with_.log.info(words, {{"cluster", to_string(key)}, {"step", to_string(step)}});
}

}  // namespace etcdop::cluster

template class etcdop::Pass<etcdop::cluster::Kind>;
