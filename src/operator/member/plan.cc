// The decision for one etcd member, in reading order.
#include "operator/member/plan.h"

#include <algorithm>

#include "api/v1alpha2/names.h"
#include "base/quantity.h"
#include "etcd/version_facts.h"
#include "operator/member/conditions.h"
#include "operator/member/objects.h"
#include "operator/member/restoring.h"
#include "operator/passes/finalizer.h"
#include "operator/passes/metadata.h"
#include "operator/passes/owner.h"
#include "operator/pods/etcd_pod.h"
#include "operator/pods/founder.h"
#include "operator/pods/member_name.h"
#include "runtime/conditions.h"

namespace etcdop::member {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr auto kSteady = 60s;
constexpr auto kLookAgain = 10s;  // Then it reports what was too young before.

/// A member that has started once has a data directory, and etcd ignores its initial-cluster.
bool never_started(const v1::EtcdMember& member) { return member.status.member_id.empty(); }

/// The command line has another list than etcd has now, so etcd would refuse to start. A Pod
/// without a list is not ours: it is an adopted member's, with its data.
bool list_is_stale(const Observation& seen) {
  const std::string list = initial_cluster_of(*seen.pod);
  return never_started(seen.member) && !seen.member.spec.bootstrap && !list.empty() &&
         list != seen.member.spec.initial_cluster;
}

/// Whether it is the first member, in a cluster that has made no other. A cluster that another
/// operator created has other member names.
bool is_first(const Observation& seen) {
  const v1::EtcdCluster& cluster = *seen.cluster;
  return !cluster.status.cluster_id.empty() &&
         seen.member.metadata.name ==
             member_name(cluster.metadata.name, cluster.metadata.uid, cluster.status.last_sequence);
}

/// Whether etcd of the version in the spec starts on the data that it has written, as far as is
/// known. For a first member: its spec may have been edited while its Pod was on its way. Then the
/// cluster controller writes back the version that ran (keep_version).
bool goes_on(const Observation& seen) {
  const auto data = etcd::parse_version(seen.member.status.version);
  const auto with = etcd::parse_version(seen.member.spec.version);
  return !data || !with || etcd::goes_on(*data, *with);
}

/// The spec was edited since this Pod was created, and the version that runs is not known yet.
bool may_not_go_on(const Observation& seen) {
  return made_from(*seen.pod) < seen.member.metadata.generation &&
         seen.member.status.version.empty();
}

/// Until another member votes, the Pod that founded the cluster is recreated as one that joins: on
/// a volume that is emptied under it, it would found a second cluster with the same ids. No client
/// relies on the cluster yet, and the other members wait for this.
bool has_founded(const Observation& seen) {
  return !in_memory(seen.member) && founds_a_cluster(*seen.pod) && is_first(seen) &&
         goes_on(seen) && !may_not_go_on(seen);
}

/// Whether its Pod may found. A first member of an earlier EtcdCluster, created again without its
/// status, has founded an etcd before: a second one would have the same ids (I4). A restore in
/// place makes a new token from that of the members, which an earlier EtcdCluster may have made.
bool may_found(const Observation& seen) {
  const v1::EtcdCluster& cluster = *seen.cluster;
  const std::string& token = seen.member.spec.cluster_token;
  const bool restores = cluster.restoring() && token == cluster.status.cluster_token;
  return founds(seen) && (restores || is_token_of(token, cluster.metadata));
}

/// The state that the annotation of a first member with data in memory is to have; empty: it may
/// stay. Its cluster has been founded, or a user wrote what no etcd starts with.
std::string state_to_set(const Observation& seen) {
  if (!in_memory(seen.member)) return "";
  const auto says = annotated_state(*seen.pod);
  if (!says || *says == "existing") return "";
  if (!may_found(seen)) return "existing";
  return *says == "new" ? "" : "new";
}

/// The spec of a first member was corrected before its etcd ran, and its Pod has the earlier one.
/// The Pod does not found if an earlier EtcdCluster made the member.
bool has_earlier_spec(const Observation& seen) {
  return founds(seen) && made_from(*seen.pod) < seen.member.metadata.generation;
}

/// Whether its Pod may be replaced. On a volume the next Pod goes on where this one stopped, which
/// is the same founding. Data in memory goes with the Pod, so its etcd must not have run.
bool can_be_corrected(const Observation& seen) {
  return in_memory(seen.member) ? never_ran(seen.member, &*seen.pod, nullptr) : is_idle(*seen.pod);
}

/// The storage that is not there yet has not the size that was asked for: the size was corrected.
bool has_earlier_size(const Observation& seen) {
  const kube::PersistentVolumeClaim& volume = *seen.volume;
  const auto& requests = volume.spec.resources.requests;
  const auto is = requests.find("storage");
  if (!founds(seen) || seen.member.metadata.generation <= 1) return false;
  if (!is_unbound(volume) || is == requests.end()) return false;
  const auto has = bytes_of(is->second), wants = bytes_of(seen.member.spec.storage.size);
  return has && wants && *has != *wants;
}

/// Whether it is to go, and no etcd of it ever ran. A restore in place lets its own founder go.
bool goes_unborn(const Observation& seen) {
  return seen.member.metadata.terminating() && founds(seen) && !seen.cluster->restoring() &&
         never_ran(seen.member, seen.pod ? &*seen.pod : nullptr,
                   seen.volume ? &*seen.volume : nullptr);
}

bool waits_to_be_recorded(const kube::Pod& pod) {
  return std::ranges::any_of(pod.spec.scheduling_gates,
                             [](const auto& gate) { return gate.name == v1::kRecordGate; });
}

bool is_ready(const v1::EtcdMemberStatus& status) {
  const api::Condition* ready = runtime::find_condition(status.conditions, v1::kReady);
  return ready && ready->status == "True";
}

/// A user took the owner away from the Pod that is recorded. Without it the member has no Pod.
bool pod_has_lost_owner(const Observation& seen) {
  const api::ObjectMeta& pod = seen.pod->metadata;
  return pod.owner_references.empty() && pod.uid == seen.member.status.pod_uid &&
         !pod.terminating();
}

/// A user edited or removed the label by which Services and the budget select. A Pod without it is
/// not watched. One with a volume gets it back when the Pod is created in vain. Before one in
/// memory is said to be lost it is asked for, so it is here.
bool pod_lacks_our_label(const Observation& seen) {
  return label_of(seen.pod->metadata, v1::kClusterLabel) != seen.member.spec.cluster_name &&
         is_ours(seen.pod->metadata, seen.member.metadata.uid) && !seen.pod->metadata.terminating();
}

Step pod_step(const Observation& seen) {
  const v1::EtcdMember& member = seen.member;
  if (!seen.pod) {
    if (makes_room(seen) || may_be_of_another_etcd(seen)) return NoStep{};
    if (!tls_trouble(seen).empty() || !restore_trouble(seen).empty()) return NoStep{};
    if (is_first(seen) && !goes_on(seen)) return NoStep{};
    return CreatePod{may_found(seen)};
  }
  const kube::Pod& pod = *seen.pod;
  const std::string& uid = pod.metadata.uid;
  if (!is_ours(pod.metadata, member.metadata.uid) || pod.metadata.terminating()) return NoStep{};
  if (has_ended(pod)) return DeletePod{uid, "it has ended"};
  if (makes_room(seen)) return DeletePod{uid, "a voter finds no place, and this cannot start yet"};
  if (const std::string state = state_to_set(seen); !state.empty())
    return SetInitialState{uid, state};
  if (has_founded(seen)) return DeletePod{uid, "the cluster has been founded", OnlyIf::Unchanged};
  // Its data is on a volume: another Pod loses nothing. A running etcd is left as it is.
  if (seen.outdated && !in_memory(member))
    return DeletePod{uid, "etcd cannot run with the command line and image of this Pod",
                     OnlyIf::Down};
  if (has_earlier_spec(seen) && can_be_corrected(seen))
    return DeletePod{uid, "the spec was corrected before etcd started", OnlyIf::Idle};
  if (list_is_stale(seen)) return DeletePod{uid, "etcd's members changed before it started"};
  if (waits_to_be_recorded(pod)) return AdmitPod{uid};  // The status of this pass records it.
  if (may_join(pod) && !never_started(member)) return EndJoining{uid};
  const bool labelled = label_of(pod.metadata, v1::kRoleLabel) == v1::kVoter;
  const bool votes = member.status.is_voter && !member.status.elsewhere;
  if (labelled != votes) return SetRole{uid, votes};
  return NoStep{};
}

/// Whether the Pod is the only place of its data. It waits as a volume does: until the replacement
/// votes.
bool keeps_data(const Observation& seen) { return in_memory(seen.member) && !data_lost(seen); }

/// Otherwise its replacement would avoid its node, and come to a node with another member.
bool leaves_unmarked(const Observation& seen) {
  return seen.member.metadata.terminating() && has_pod(seen) &&
         !seen.pod->metadata.labels.contains(v1::kLeavingLabel);
}

Step next(const Observation& seen) {
  const v1::EtcdMember& member = seen.member;
  // First of all, also for a member that goes: else its Pod stays without it.
  if (seen.pod && (pod_has_lost_owner(seen) || pod_lacks_our_label(seen)))
    return AdoptPod{seen.pod->metadata.uid};
  // Deleted or being deleted, and so is its data: etcd need not be asked. Orphans keep theirs.
  if (!seen.cluster) {
    const bool goes = member.metadata.terminating() && has_our_finalizer(member.metadata);
    return goes && !seen.beside_orphans ? Step(ReleaseFinalizer{}) : Step(NoStep{});
  }
  if (!has_our_finalizer(member.metadata))
    return member.metadata.terminating() ? Step(NoStep{}) : Step(AddFinalizer{});
  if (goes_unborn(seen)) return ReleaseUnborn{};
  if (member.metadata.terminating() && member.status.removed && !keeps_data(seen))
    return has_pod(seen) ? Step(DeletePod{seen.pod->metadata.uid, "etcd has removed the member"})
                         : Step(NoStep{});
  const bool sleeps = member.spec.dormant && !stays_awake(seen);
  if (leaves_unmarked(seen) && !sleeps) return MarkLeaving{seen.pod->metadata.uid};
  if (member.spec.dormant) {
    if (!has_pod(seen) || !sleeps) return NoStep{};
    return DeletePod{seen.pod->metadata.uid, seen.cluster->restoring()
                                                 ? "the cluster goes back to a snapshot"
                                                 : "the cluster is paused"};
  }
  if (member.spec.initial_cluster.empty()) return NoStep{};
  if (!not_implemented(member).empty()) return NoStep{};  // No Pod, rather than one without it.
  // A voter that lost its data has lost its promises: it is replaced, never refilled.
  if (data_lost(seen)) return NoStep{};
  // Without an owner it may be a copy of one that has a vote and has lost its data: it gets none.
  const bool has_place = in_memory(member) ? seen.pod.has_value() : seen.volume.has_value();
  if (!member.metadata.controller() && !has_place && !founds(seen)) return NoStep{};
  if (in_memory(member)) return pod_step(seen);
  if (!seen.volume) return CreateVolume{};
  if (volume_has_lost_owner(seen)) return AdoptVolume{seen.volume->metadata.uid};
  if (!is_ours(seen.volume->metadata, member.metadata.uid)) return NoStep{};
  if (!seen.pod && seen.volume->metadata.terminating()) return NoStep{};
  if (!seen.pod && has_earlier_size(seen)) return DeleteUnboundVolume{seen.volume->metadata.uid};
  return pod_step(seen);
}

/// Nothing waits for this label, so it comes after all other steps. A Pod of an earlier EtcdCluster
/// keeps its label while a Service selects by it: first the key leaves the selector.
Step label_with_uid(const Observation& seen) {
  if (!seen.cluster || !has_pod(seen)) return NoStep{};
  // Neither a client nor a peer is led to a member of another etcd cluster.
  const std::string uid = seen.member.status.elsewhere ? "" : seen.cluster->metadata.uid;
  const std::string now = label_of(seen.pod->metadata, v1::kClusterUidLabel);
  if (now == uid || seen.selected_by_other) return NoStep{};
  return LabelWithUid{seen.pod->metadata.uid, uid};
}

/// Without our label, a volume is not found when the EtcdCluster comes back without its status, and
/// an empty etcd would be founded beside it (K14). Nothing waits for this label either.
Step label_volume(const Observation& seen) {
  if (!seen.cluster || in_memory(seen.member) || !seen.volume) return NoStep{};
  const api::ObjectMeta& volume = seen.volume->metadata;
  if (!is_ours(volume, seen.member.metadata.uid) || volume.terminating()) return NoStep{};
  if (label_of(volume, v1::kClusterLabel) == seen.member.spec.cluster_name) return NoStep{};
  return AdoptVolume{volume.uid};
}

/// Whether the operator may have made it dormant: a restore in place stops the members of the
/// earlier etcd, its rollback the restored one, and each of its stages one that it deletes; a pause
/// stops the last member.
bool is_to_sleep(const Observation& seen) {
  const v1::EtcdCluster& cluster = *seen.cluster;
  const v1::RestoreRecord* restore = cluster.restoring();
  if (!restore) return cluster.spec.replicas == 0 && !seen.others_awake;
  return restore->stage == v1::RestoreStage::Stopping ||
         restore->stage == v1::RestoreStage::RollingBack || seen.member.metadata.terminating() ||
         restore->keeps(seen.member.metadata.uid);
}

}  // namespace

bool founds(const Observation& seen) {
  return seen.member.spec.bootstrap && never_started(seen.member) && seen.cluster &&
         seen.cluster->status.cluster_id.empty();
}

bool may_be_of_another_etcd(const Observation& seen) {
  const v1::EtcdClusterStatus& status = seen.cluster->status;
  return status.cluster_id.empty() && status.cluster_token != seen.member.spec.cluster_token;
}

bool stays_awake(const Observation& seen) {
  return seen.member.spec.dormant && has_pod(seen) &&
         (!is_to_sleep(seen) || in_memory(seen.member));
}

bool makes_room(const Observation& seen) {
  return !seen.makes_room_for.empty() && never_started(seen.member) &&
         !seen.member.spec.bootstrap && !in_memory(seen.member);
}

bool volume_has_lost_owner(const Observation& seen) {
  if (!seen.volume || !has_pod(seen) || seen.pod->spec.node_name.empty()) return false;
  const api::ObjectMeta& volume = seen.volume->metadata;
  const auto made = from_rfc3339(volume.creation_timestamp);
  const auto used = from_rfc3339(seen.pod->metadata.creation_timestamp);
  return volume.owner_references.empty() && !volume.terminating() &&
         seen.member.status.pvc_name == volume.name && made && used && *made <= *used;
}

Plan plan(const Observation& seen) {
  Plan out;
  out.status = seen.member.status;
  if (seen.cluster) report(seen, out.status);
  else if (!seen.member.metadata.controller()) report_orphan(seen, out.status);
  out.step = next(seen);
  if (!acts(out.step)) out.step = label_with_uid(seen);
  if (!acts(out.step)) out.step = label_volume(seen);
  // Written before the first etcd can run: the volume of a first member is never made twice.
  if (std::holds_alternative<CreatePod>(out.step) && seen.member.spec.bootstrap && seen.volume)
    out.status.pvc_name = seen.volume->metadata.name;
  out.again = is_ready(out.status) ? kSteady : kLookAgain;
  return out;
}

}  // namespace etcdop::member
