// One pass over an EtcdMember, from top to bottom.
#include "operator/member/reconciler.h"

#include <algorithm>

#include "api/v1alpha2/names.h"
#include "operator/agents/store_secrets.h"
#include "operator/credentials/passwords.h"
#include "operator/member/conditions.h"
#include "operator/members/silence.h"
#include "operator/passes/finalizer.h"
#include "operator/passes/members_of.h"
#include "operator/passes/metadata.h"
#include "operator/passes/owner.h"
#include "operator/pods/etcd_pod.h"
#include "operator/pods/founder.h"
#include "operator/pods/member_endpoint.h"
#include "runtime/conditions.h"
#include "runtime/transitions.h"

namespace etcdop::member {
namespace {

namespace v1 = api::v1alpha2;

/// Whether the cluster owns the member, by UID, and is not being deleted; or will own it again in a
/// moment: its data must not go meanwhile.
bool owns(const v1::EtcdCluster& cluster, const v1::EtcdMember& member) {
  const api::OwnerReference* owner = member.metadata.controller();
  if (!owner) return has_lost_owner(member, cluster);
  return owner->uid == cluster.metadata.uid && !cluster.metadata.terminating();
}

/// Whether its EtcdCluster goes without it (`--cascade=orphan`), or has gone, and it has a vote. In
/// the first case the garbage collector takes the owner from one after the other.
bool is_orphaned(const v1::EtcdMember& member, const v1::EtcdCluster* cluster) {
  const bool orphaned = !member.metadata.controller() ||
                        (cluster && std::ranges::count(cluster->metadata.finalizers, "orphan") > 0);
  return orphaned && member.status.is_voter && !member.status.removed;
}

bool stays_beside(const v1::EtcdMember& other, const v1::EtcdMember& member) {
  return !other.metadata.terminating() && other.spec.cluster_token == member.spec.cluster_token;
}

/// The write and the object of a step that repairs what a user or another controller undid, and may
/// undo again. Empty for other steps.
std::string contested_write(const Observation& seen, const Step& step) {
  if (std::holds_alternative<AddFinalizer>(step) ||
      std::holds_alternative<DeleteUnboundVolume>(step))
    return to_string(step);
  if (std::holds_alternative<AdoptVolume>(step))
    return to_string(step) + " " + seen.volume->metadata.uid;
  const bool told =
      std::holds_alternative<SetRole>(step) || std::holds_alternative<MarkLeaving>(step) ||
      std::holds_alternative<LabelWithUid>(step) || std::holds_alternative<AdoptPod>(step) ||
      std::holds_alternative<SetInitialState>(step);
  return told ? to_string(step) + " " + seen.pod->metadata.uid : "";
}

/// The label of the Pod with the UID of another EtcdCluster; empty: none.
std::string other_uid(const kube::Pod& pod, const std::string& cluster_uid) {
  const std::string uid = label_of(pod.metadata, v1::kClusterUidLabel);
  return uid == cluster_uid ? "" : uid;
}

bool selects_by(const kube::Service& service, const std::string& cluster_uid) {
  const auto found = service.spec.selector.find(v1::kClusterUidLabel);
  return found != service.spec.selector.end() && found->second == cluster_uid;
}

/// For how long the member has not been ready, if its status tells that its Pods fail; else zero.
Duration told_failing(const Observation& seen) {
  const auto* told = runtime::find_condition(seen.member.status.conditions, v1::kReady);
  const auto since = told && told->reason == v1::kPodFailed
                         ? from_rfc3339(told->last_transition_time)
                         : std::nullopt;
  return since && *since < seen.now ? seen.now - *since : Duration(0);
}

template <class T>
std::optional<T> copy(const std::shared_ptr<const T>& object) {
  return object ? std::optional<T>(*object) : std::nullopt;
}

}  // namespace

Result<Observation> Reconciler::observe(const Object& member, Context&) {
  const api::ObjectKey key = member.metadata.key();
  Observation seen;
  seen.now = with_.clock.wall_now();
  seen.member = member;
  if (const auto cluster = with_.stores.clusters.get({key.ns, member.spec.cluster_name});
      cluster && owns(*cluster, member))
    seen.cluster = *cluster;
  seen.pod = copy(with_.stores.pods.get(key));
  seen.volume = copy(with_.stores.volumes.get({key.ns, volume_name(key.name)}));
  if (seen.cluster && seen.pod) seen.selected_by_other = selected_by_other(seen);
  seen.rejected = refusal(key);
  if (seen.pod && is_ours(seen.pod->metadata, member.metadata.uid) && ended_by_itself(*seen.pod))
    failures_.failed(key, seen.pod->metadata.uid, end_of(*seen.pod), with_.executor.now(),
                     told_failing(seen));
  seen.failed = failures_.words(key, with_.executor.now());
  if (const auto told = told_.find(key); told != told_.end())
    seen.words_s = (with_.executor.now() - told->second) / std::chrono::seconds(1);
  seen.has_image = !images_.operator_image.empty();
  seen.outdated = is_outdated(seen);
  if (seen.cluster) seen.makes_room_for = voter_without_place(seen);
  else seen.beside_orphans = beside_orphans(member);
  if (seen.cluster && member.spec.dormant) seen.others_awake = others_are_awake(seen);
  if (seen.cluster && !seen.pod) seen.all_have_uid = all_have_uid(seen);
  if (seen.cluster && !seen.pod) seen.tls = with_.credentials.certificates.of(member);
  if (founds(seen) && !seen.pod) seen.credentials_fault = credentials_fault(member);
  if (!data_lost(seen)) return seen;
  // The loss is not believed yet: an object without our label is not in the cache.
  const auto ask = [&]<class T>(std::optional<T>& child, const api::ObjectKey& of,
                                const char* what) -> Result<Done> {
    auto there = with_.api.get<T>(of);
    if (there) child = std::move(*there);
    else if (!there.failed_with(Code::NotFound)) return Error(there.error()).during(what);
    return Done{};
  };
  const auto asked = in_memory(member)
                         ? ask(seen.pod, key, "find the Pod")
                         : ask(seen.volume, {key.ns, volume_name(key.name)}, "find the volume");
  if (!asked) return asked.error();
  return seen;
}

bool Reconciler::is_outdated(const Observation& seen) const {
  const v1::EtcdMember& member = seen.member;
  if (!seen.cluster || !seen.pod || member.status.member_id.empty() || !cannot_run(*seen.pod))
    return false;
  auto wanted = pod(member, {.many_learners = seen.cluster->status.max_learners != 1}, images_);
  return wanted && !runs_as(*seen.pod, *wanted);
}

std::string Reconciler::voter_without_place(const Observation& seen) const {
  const v1::EtcdCluster& cluster = *seen.cluster;
  const auto* available = runtime::find_condition(cluster.status.conditions, v1::kAvailable);
  if (!available || available->status == "True" || !seen.member.status.member_id.empty()) return "";
  for (const auto& other : with_.stores.members.in_group(cluster.metadata.key())) {
    const auto* ready = runtime::find_condition(other->status.conditions, v1::kReady);
    const bool has_no_place =
        ready && (ready->reason == v1::kUnschedulable || ready->reason == v1::kPodRejected);
    if (has_no_place && other->status.is_voter && !other->status.removed &&
        is_ours(other->metadata, cluster.metadata.uid))
      return other->metadata.name;
  }
  return "";
}

bool Reconciler::others_are_awake(const Observation& seen) const {
  const v1::EtcdCluster& cluster = *seen.cluster;
  const auto& reported = cluster.status.members;
  const auto counts = [&](const v1::EtcdMember& other) {  // A stranger is not reported.
    return owns(cluster, other) && std::ranges::find(reported, other.metadata.name,
                                                     &v1::MemberReport::name) != reported.end();
  };
  const auto all = with_.stores.members.in_group(cluster.metadata.key());
  return std::ranges::any_of(all, [&](const auto& other) {
    return other->metadata.uid != seen.member.metadata.uid && !other->spec.dormant &&
           counts(*other);
  });
}

bool Reconciler::beside_orphans(const v1::EtcdMember& member) const {
  const api::ObjectKey key{member.metadata.ns, member.spec.cluster_name};
  return is_orphaned(member, with_.stores.clusters.get(key).get()) &&
         std::ranges::any_of(with_.stores.members.in_group(key),
                             [&](const auto& one) { return stays_beside(*one, member); });
}

/// Whether no Pod of a member of the cluster lacks its UID as a label.
bool Reconciler::all_have_uid(const Observation& seen) const {
  const api::ObjectMeta& cluster = seen.cluster->metadata;
  return std::ranges::all_of(with_.stores.pods.in_group(cluster.key()), [&](const auto& pod) {
    const auto member = with_.stores.members.get(pod->metadata.key());
    return !member || !is_ours(pod->metadata, member->metadata.uid) ||
           !is_ours(member->metadata, cluster.uid) ||
           label_of(pod->metadata, v1::kClusterUidLabel) == cluster.uid;
  });
}

bool Reconciler::selected_by_other(const Observation& seen) const {
  const api::ObjectMeta& cluster = seen.cluster->metadata;
  const std::string other = other_uid(*seen.pod, cluster.uid);
  return !other.empty() &&
         std::ranges::any_of(with_.stores.services.in_group(cluster.key()),
                             [&](const auto& service) { return selects_by(*service, other); });
}

/// The fault of the Secrets that its Pod would restore with.
std::string Reconciler::credentials_fault(const Object& member) const {
  if (!member.spec.restore) return "";
  return store_fault(with_.credentials.secrets, member.metadata.ns, member.spec.restore->source);
}

/// The status patch has only the changes, so memberID, isVoter and version stay the cluster
/// controller's. The two controllers write one after the other.
Reconciler::Claimed Reconciler::claims(const Observation& seen, const Plan&) {
  return std::pair(&with_.stores.status_writes, seen.member.metadata.key());
}

void Reconciler::tell(const Observation& seen, const Plan& plan) {
  const auto* before = runtime::find_condition(seen.member.status.conditions, v1::kReady);
  const auto* now = runtime::find_condition(plan.status.conditions, v1::kReady);
  if (now && (!before || before->message != now->message))
    told_[seen.member.metadata.key()] = with_.executor.now();
  if (!with_.events) return;
  for (const auto& one :
       runtime::transitions(regarding(seen), seen.member.status.conditions, plan.status.conditions))
    with_.events->record(one);
}

Duration Reconciler::holds_up(const Observation& seen, const Plan& plan) {
  const api::ObjectKey key = seen.member.metadata.key();
  const Instant now = with_.executor.now();
  if (std::holds_alternative<CreatePod>(plan.step)) return failures_.wait(key, now);
  return contested_.wait(key, contested_write(seen, plan.step), now);
}

void Reconciler::forget(const api::ObjectKey& key) {
  contested_.forget(key);
  failures_.forget(key);
  told_.erase(key);
}

namespace {

/// Carries out one step. The UID of what it was decided on is in the write, or the object is read
/// again.
struct Actor {
  const Kind::Collaborators& with;
  const Images& images;
  const Observation& seen;

  const v1::EtcdMember& member() const { return seen.member; }
  const api::ObjectMeta& meta() const { return seen.member.metadata; }

  /// Reads the cluster from the API: the next action cannot be undone.
  Result<std::optional<v1::EtcdCluster>> cluster_now() const {
    auto cluster = with.api.get<v1::EtcdCluster>({meta().ns, member().spec.cluster_name});
    if (cluster.failed_with(Code::NotFound)) return std::optional<v1::EtcdCluster>();
    if (!cluster) return cluster.error();
    return owns(*cluster, member()) ? std::optional(std::move(*cluster)) : std::nullopt;
  }

  Result<Done> operator()(const NoStep&) const { return Done{}; }

  /// All is asked of the API server: the watch of EtcdMembers may be behind that of EtcdClusters.
  Result<Done> operator()(const ReleaseFinalizer&) const {
    auto cluster = look_for<v1::EtcdCluster>(with.api, {meta().ns, member().spec.cluster_name});
    if (!cluster) return cluster.error();
    auto now = member_now();
    if (now.failed_with(Code::NotFound)) return Done{};
    if (!now) return now.error();
    if (*cluster && owns(**cluster, *now))
      return Error{Code::Conflict, "the cluster of " + meta().name + " still exists"};
    if (is_orphaned(*now, *cluster ? &**cluster : nullptr))
      if (auto alone = stays_none_beside(*now); !alone) return alone;
    return release_finalizer(with.api, with.stores, meta().key(), meta().uid,
                             now->metadata.resource_version);
  }
  Result<Done> stays_none_beside(const v1::EtcdMember& now) const {
    auto others = members_of(with.api, meta().ns, now.spec.cluster_name);
    if (!others) return others.error();
    for (v1::EtcdMember& other : *others) {
      if (!stays_beside(other, now)) continue;
      const std::string name = other.metadata.name;
      with.stores.members.wrote(std::move(other));
      return Error{Code::Conflict, "the etcd of " + meta().name + " runs on in " + name};
    }
    return Done{};
  }

  /// Reads the member: what its status records decides.
  Result<v1::EtcdMember> member_now() const {
    auto now = with.api.get<v1::EtcdMember>(meta().key());
    if (!now) return Error(now.error()).during("find EtcdMember " + meta().name);
    if (now->metadata.uid != meta().uid)
      return Error{Code::Conflict, "another EtcdMember has the name " + meta().name};
    with.stores.members.wrote(v1::EtcdMember(*now));
    return now;
  }

  /// Proves from the API server that no etcd of the member ever ran, and sees to it that none will:
  /// the Pod and then the volume go only if they are as they were read. The record of the volume
  /// goes once nothing can start on it, and before the volume itself. So a pass that is interrupted
  /// begins again. Returns the member.
  Result<v1::EtcdMember> erase_unborn() const {
    auto now = member_now();
    if (!now) return now;
    auto pod = look_for<kube::Pod>(with.api, meta().key());
    if (!pod) return pod.error();
    auto volume =
        look_for<kube::PersistentVolumeClaim>(with.api, {meta().ns, volume_name(meta().name)});
    if (!volume) return volume.error();
    if (!never_ran(*now, *pod ? &**pod : nullptr, *volume ? &**volume : nullptr))
      return Error{Code::Conflict, "the etcd of " + meta().name + " may have run"};
    if (auto gone = remove_ours(*pod, with.stores.pods); !gone) return gone.error();
    if (auto forgot = forget_place(*now); !forgot) return forgot.error();
    if (auto gone = remove_ours(*volume, with.stores.volumes); !gone) return gone.error();
    return now;
  }
  /// Removes from the status where its data would be.
  Result<Done> forget_place(v1::EtcdMember& now) const {
    if (now.status.pvc_name.empty() && now.status.pod_uid.empty()) return Done{};
    auto written = with.api.merge_patch<v1::EtcdMember, kube::Part::Status>(
        meta().key(),
        {{"metadata", {{"resourceVersion", now.metadata.resource_version}}},
         {"status", {{"pvcName", nullptr}, {"podName", nullptr}, {"podUID", nullptr}}}});
    if (!written) return Error(written.error()).during("write the status of " + meta().name);
    now = *written;
    with.stores.members.wrote(std::move(*written));
    return Done{};
  }
  template <class T>
  Result<Done> remove_ours(const std::optional<T>& child, kube::Store<T>& store) const {
    if (!child || !is_ours(child->metadata, meta().uid) || child->metadata.terminating())
      return Done{};
    auto gone = with.api.remove_unchanged<T>(child->metadata);
    if (gone.failed_with(Code::Conflict))  // The watch may be silent.
      look_again(with.api, store, child->metadata.key(), child->metadata.uid);
    if (!gone)
      return Error(gone.error())
          .during(std::string("delete ") + T::resource.kind + " " + child->metadata.name);
    if (*gone) store.wrote(std::move(**gone));
    else store.saw_deleted(child->metadata.key(), child->metadata.uid);
    return Done{};
  }

  Result<Done> operator()(const ReleaseUnborn&) const {
    auto cluster = cluster_now();
    if (!cluster) return cluster.error();
    if (!*cluster || !(*cluster)->status.cluster_id.empty() || (*cluster)->restoring())
      return Error{Code::Conflict, "the cluster of " + meta().name + " has changed"};
    auto now = erase_unborn();
    if (!now) return now.error();
    // The version: since it was read, nobody has recorded a place of its data.
    return release_finalizer(with.api, with.stores, meta().key(), meta().uid,
                             now->metadata.resource_version);
  }

  Result<Done> operator()(const DeleteUnboundVolume&) const {
    auto erased = erase_unborn();
    return erased ? Result<Done>(Done{}) : erased.error();
  }

  Result<Done> operator()(const AddFinalizer&) const {
    json::array finalizers;
    for (const std::string& f : meta().finalizers) finalizers.emplace_back(f);
    finalizers.emplace_back(v1::kMemberFinalizer);
    auto written = with.api.merge_patch<v1::EtcdMember>(
        meta().key(), {{"metadata",
                        {{"uid", meta().uid},
                         {"resourceVersion", meta().resource_version},
                         {"finalizers", std::move(finalizers)}}}});
    if (!written) return Error(written.error()).during("protect EtcdMember " + meta().name);
    with.stores.members.wrote(std::move(*written));
    return Done{};
  }

  Result<Done> operator()(const CreateVolume&) const {
    const std::string name = volume_name(meta().name);
    auto made = with.api.create<kube::PersistentVolumeClaim>(meta().ns, volume(member()));
    if (made.failed_with(Code::AlreadyExists))
      made = with.api.get<kube::PersistentVolumeClaim>({meta().ns, name});
    if (!made) return Error(made.error()).during("create PersistentVolumeClaim " + name);
    with.stores.volumes.wrote(std::move(*made));  // The next pass sees its owner.
    return Done{};
  }

  /// Only this volume, as it was seen.
  Result<Done> operator()(const AdoptVolume& step) const {
    const std::string name = volume_name(meta().name);
    auto written = with.api.merge_patch<kube::PersistentVolumeClaim>(
        {meta().ns, name}, {{"metadata", as_ours(step.uid, seen.volume->metadata)}});
    if (!written) return Error(written.error()).during("adopt PersistentVolumeClaim " + name);
    with.stores.volumes.wrote(std::move(*written));
    return Done{};
  }

  Result<Done> operator()(const CreatePod& step) const {
    const TlsSeen tls = with.credentials.certificates.now_of(member());
    if (std::string trouble = trouble_with(tls, {member_host(member())}, with.clock.wall_now());
        !trouble.empty())
      return Error{Code::Conflict, std::move(trouble)};
    Start start{.founds = step.founds,
                .with_auth = false,
                .many_learners = seen.cluster->status.max_learners != 1,
                .by_uid = seen.all_have_uid};
    if (step.founds) {
      auto cluster = cluster_now();
      if (!cluster) return cluster.error();
      if (!*cluster || !(*cluster)->status.cluster_id.empty())
        return Error{Code::Conflict,
                     "the cluster of " + meta().name + " is deleted or already founded"};
      const v1::EtcdClusterStatus& status = (*cluster)->status;
      if (status.restore && status.cluster_token != member().spec.cluster_token)
        return Error{Code::Conflict, meta().name + " is older than the last restore in place"};
      const v1::RestoreRecord* record = (*cluster)->restoring();
      if (record && record->stage != v1::RestoreStage::Restoring)
        return Error{Code::Conflict,
                     "EtcdRestore " + record->name + " is not in its stage Restoring"};
      if ((*cluster)->founded_from() != member().spec.restore)
        return Error{Code::Invalid, "EtcdMember " + meta().name +
                                        " has another spec.restore than its EtcdCluster: update "
                                        "the CustomResourceDefinitions to this release, or delete "
                                        "the EtcdCluster and create it again"};
      start.with_auth = wants_auth(**cluster);
    }
    auto manifest = pod(member(), start, images, tls);
    if (!manifest) return manifest.error();
    auto made = with.api.create<kube::Pod>(meta().ns, *manifest);
    if (made.failed_with(Code::AlreadyExists)) made = adopt_pod(manifest->at("metadata"));
    if (!made) return Error(made.error()).during("create Pod " + meta().name);
    with.stores.pods.wrote(std::move(*made));
    return Done{};
  }

  /// Returns the existing Pod. If it is ours and unseen, it has lost the label that we watch by:
  /// its labels are restored.
  Result<kube::Pod> adopt_pod(const Json& metadata) const {
    auto there = with.api.get<kube::Pod>(meta().key());
    if (!there || !is_ours(there->metadata, member().metadata.uid) ||
        there->metadata.labels.contains(v1::kClusterLabel))
      return there;
    return with.api.merge_patch<kube::Pod>(
        meta().key(),
        {{"metadata", {{"uid", there->metadata.uid}, {"labels", metadata.at("labels")}}}});
  }

  /// The watch may be late, and so may the kubelet: etcd is asked, too. The Pod goes as it was
  /// read: etcd may start meanwhile.
  Result<Done> delete_down(const std::string& uid) const {
    auto now = with.api.get<kube::Pod>(meta().key());
    if (now.failed_with(Code::NotFound)) return Done{};
    if (!now) return Error(now.error()).during("find Pod " + meta().name);
    with.stores.pods.wrote(kube::Pod(*now));
    if (now->metadata.uid != uid) return Done{};
    if (!cannot_run(*now)) return Error{Code::Conflict, "etcd of " + meta().name + " runs"};
    auto heard = last_look(*seen.cluster, member(), *now, with.etcd, with.credentials);
    if (!heard) return heard.error();
    if (*heard != Heard::Refusal)
      return Error{Code::Conflict, "etcd of " + meta().name + " may run"};
    return remove_ours<kube::Pod>(*now, with.stores.pods);
  }

  /// A Pod of the first member with an earlier spec: it goes as it was read, without a running
  /// etcd.
  Result<Done> delete_idle(const std::string& uid) const {
    if (in_memory(member())) {
      auto erased = erase_unborn();
      return erased ? Result<Done>(Done{}) : erased.error();
    }
    auto pod = look_for<kube::Pod>(with.api, meta().key());
    if (!pod) return pod.error();
    if (!*pod || (*pod)->metadata.uid != uid) return Done{};
    if (!is_idle(**pod)) {
      with.stores.pods.wrote(std::move(**pod));
      return Error{Code::Conflict, "etcd of " + meta().name + " runs"};
    }
    return remove_ours(*pod, with.stores.pods);
  }

  Result<Done> operator()(const DeletePod& step) const {
    switch (step.only_if) {
      case OnlyIf::Any: break;
      case OnlyIf::Down: return delete_down(step.uid);
      case OnlyIf::Idle: return delete_idle(step.uid);
      case OnlyIf::Unchanged: return remove_ours(seen.pod, with.stores.pods);
    }
    if (member().spec.dormant && !member().status.removed) {
      auto cluster = cluster_now();
      if (!cluster) return cluster.error();
      Observation now = seen;
      if (*cluster) now.cluster = **cluster;
      if (*cluster && stays_awake(now))
        return Error{Code::Conflict, "the cluster of " + meta().name + " is no longer paused"};
    }
    auto going = with.api.remove<kube::Pod>(meta().key(), step.uid);
    if (!going) return Error(going.error()).during("delete Pod " + meta().name);
    if (*going) with.stores.pods.wrote(std::move(**going));
    return Done{};
  }

  Result<Done> operator()(const AdoptPod& step) const {
    return change_pod({{"metadata", as_ours(step.uid, seen.pod->metadata)}}, "adopt");
  }

  /// Metadata that gives a child, as it was seen, our label and owner again.
  json::object as_ours(const std::string& uid, const api::ObjectMeta& child) const {
    json::object out{{"uid", uid},
                     {"resourceVersion", child.resource_version},
                     {"labels", json::object{{v1::kClusterLabel, member().spec.cluster_name}}}};
    if (!is_ours(child, meta().uid)) out["ownerReferences"] = owned_by_controller(member());
    return out;
  }

  Result<Done> operator()(const AdmitPod& step) const {
    json::array others;
    for (const kube::SchedulingGate& gate : seen.pod->spec.scheduling_gates)
      if (gate.name != v1::kRecordGate) others.push_back(json::object{{"name", gate.name}});
    return change_pod(
        {{"metadata",
          {{"uid", step.uid}, {"resourceVersion", seen.pod->metadata.resource_version}}},
         {"spec", {{"schedulingGates", std::move(others)}}}},
        "admit");
  }

  Result<Done> operator()(const SetInitialState& step) const {
    return annotate_pod(step.uid, v1::kInitialStateAnnotation, Json(step.state));
  }

  Result<Done> operator()(const EndJoining& step) const {
    return annotate_pod(step.uid, v1::kInitialClusterAnnotation, nullptr);
  }

  Result<Done> operator()(const SetRole& step) const {
    return label_pod(step.pod_uid, v1::kRoleLabel, step.voter ? Json(v1::kVoter) : Json(nullptr));
  }

  Result<Done> operator()(const MarkLeaving& step) const {
    return label_pod(step.pod_uid, v1::kLeavingLabel, "true");
  }

  /// The cache may not know yet that a Service selects by the label that goes.
  Result<Done> operator()(const LabelWithUid& step) const {
    if (step.cluster_uid.empty()) return label_pod(step.pod_uid, v1::kClusterUidLabel, nullptr);
    if (const std::string other = other_uid(*seen.pod, step.cluster_uid); !other.empty()) {
      const std::string& cluster = member().spec.cluster_name;
      auto services = with.api.list<kube::Service>(meta().ns, selector_of(cluster));
      if (!services) return Error(services.error()).during("list the Services of " + cluster);
      for (const kube::Service& service : *services)
        if (selects_by(service, other))
          return Error{Code::Conflict, "Service " + service.metadata.name +
                                           " still selects by the UID of another EtcdCluster"};
    }
    return label_pod(step.pod_uid, v1::kClusterUidLabel, Json(step.cluster_uid));
  }

  Result<Done> annotate_pod(const std::string& uid, const char* key, Json value) const {
    return mark_pod("annotations", uid, key, std::move(value), "annotate");
  }
  Result<Done> label_pod(const std::string& uid, const char* key, Json value) const {
    return mark_pod("labels", uid, key, std::move(value), "label");
  }
  /// Null: removes the key.
  Result<Done> mark_pod(const char* field, const std::string& uid, const char* key, Json value,
                        const char* doing) const {
    json::object patch{{"metadata", {{"uid", uid}}}};
    patch["metadata"].as_object()[field].emplace_object()[key] = std::move(value);
    return change_pod(std::move(patch), doing);
  }

  /// A deleted Pod does not need the change.
  Result<Done> change_pod(json::object patch, const char* doing) const {
    auto written = with.api.merge_patch<kube::Pod>(meta().key(), std::move(patch));
    if (written.failed_with(Code::NotFound)) return Done{};
    if (!written) return Error(written.error()).during(doing + (" Pod " + meta().name));
    with.stores.pods.wrote(std::move(*written));
    return Done{};
  }
};

}  // namespace

Outcome Reconciler::act(const Observation& seen, const Context&, Plan& plan) {
  const api::ObjectMeta& meta = seen.member.metadata;
  const auto done = std::visit(Actor{with_, images_, seen}, plan.step);
  // One that the API server changes as it is created would be deleted for ever.
  if (const auto* deleted = std::get_if<DeletePod>(&plan.step);
      done && deleted && deleted->only_if == OnlyIf::Down)
    failures_.failed(meta.key(), deleted->uid, last_end_of(*seen.pod), with_.executor.now());
  const std::string contested = contested_write(seen, plan.step);
  if (done && !contested.empty()) contested_.did(meta.key(), contested, with_.executor.now());
  if (leaves_doubt(done)) look_again(with_.api, with_.stores.members, meta.key(), meta.uid);
  return done;
}

}  // namespace etcdop::member

template class etcdop::Pass<etcdop::member::Kind>;
