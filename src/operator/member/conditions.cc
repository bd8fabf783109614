#include "operator/member/conditions.h"

#include <algorithm>

#include "api/v1alpha2/names.h"
#include "base/utf8.h"
#include "etcd/last_words.h"
#include "operator/agents/snapshot_env.h"
#include "operator/member/objects.h"
#include "operator/member/plan.h"
#include "operator/member/restoring.h"
#include "operator/member/scheduler_words.h"
#include "operator/passes/metadata.h"
#include "operator/passes/owner.h"
#include "operator/pods/etcd_pod.h"
#include "operator/pods/founder.h"
#include "operator/pods/member_endpoint.h"
#include "runtime/conditions.h"

namespace etcdop::member {
namespace {

namespace v1 = api::v1alpha2;

constexpr std::chrono::seconds kPassing{10};
constexpr std::chrono::seconds kRestartsSoon{300};  // Two restarts within it are too many.
constexpr std::chrono::seconds kReadyLong{60};      // Then it counts again.
constexpr std::size_t kWordsOfKubelet = 500;        // Bytes.
constexpr std::chrono::seconds kWordsStay{60};

struct Verdict {
  const char* status;
  const char* reason;
  std::string message;
};

/// The volume of a first member is being deleted and was never bound: no Pod can start on it any
/// more, so there was no etcd and no data, and it may be made again.
bool goes_unused(const Observation& seen) {
  return founds(seen) && seen.volume->metadata.terminating() && is_unbound(*seen.volume);
}

/// Nothing to report yet: the member will get its first Pod.
bool is_young(const Observation& seen) {
  return !seen.pod && !data_lost(seen) && seen.rejected.empty() && seen.failed.empty() &&
         !makes_room(seen) && !may_be_of_another_etcd(seen) && tls_trouble(seen).empty() &&
         restore_trouble(seen).empty() && seen.member.status.conditions.empty() &&
         not_implemented(seen.member).empty() &&
         (!seen.volume || is_ours(seen.volume->metadata, seen.member.metadata.uid));
}

/// A container that the kubelet cannot start.
std::optional<Verdict> not_startable(const v1::EtcdMember& member,
                                     const kube::ContainerStatus& container) {
  if (!container.state.waiting) return std::nullopt;
  const std::string& waiting = container.state.waiting->reason;
  if (waiting == "ErrImagePull" || waiting == "ImagePullBackOff" || waiting == "InvalidImageName")
    return Verdict{"False", v1::kImagePullFailed,
                   container.name == v1::kInstallToolsContainer
                       ? "the operator's own image, which restores the snapshot, cannot be pulled"
                       : "the etcd image of version " + member.spec.version + " cannot be pulled"};
  if (waiting == "CreateContainerConfigError" || waiting == "CreateContainerError")
    return Verdict{"False", v1::kPodRejected,
                   "the " + container.name +
                       " container cannot be created: " + container.state.waiting->message};
  return std::nullopt;
}

/// The remedy that etcd's last words call for; empty: they are not known.
std::string remedy_of_last_words(const kube::Pod& pod) {
  const auto* ended = last_end(etcd_container(pod));
  const auto says = [&](const char* words) {
    return ended && ended->message.find(words) != std::string::npos;
  };
  if (says("no space left on device"))
    return "no space is left on its volume; make the volume larger";
  // 3.5's words, and those of 3.6 and later: version "3.7.0" is not supported.
  if (says("server version is lower than determined cluster version") ||
      (says("version \"3.") && says("\" is not supported")))
    return "a newer minor version has written its data; set spec.version to that version";
  return "";
}

/// How its container ended last, and where to look.
std::string about_last_end(const kube::Pod& pod) {
  const std::string end = last_end_of(pod);
  if (end.empty()) return ": see kubectl logs " + pod.metadata.name;
  if (const std::string remedy = remedy_of_last_words(pod); !remedy.empty())
    return ", last with " + end + ": " + remedy;
  const bool memory = end.ends_with("(OOMKilled)");
  return ", last with " + end + ": " +
         (memory ? "it needs more memory than its limit; raise spec.resources.limits.memory"
                 : "see kubectl logs --previous " + pod.metadata.name);
}

/// The kubelet ended the Pod, or refused to run it, in the kubelet's words.
Verdict pod_failed(const std::string& name, const std::string& words) {
  return {"False", v1::kPodFailed,
          "Pod " + name + " failed: " + (words.empty() ? "the kubelet gives no reason" : words)};
}

/// Whether etcd's container was restarted twice within a short time, by the clock of its node, and
/// has not been ready for long since: it may end again in a moment.
bool restarts_often(const kube::Pod& pod, WallTime now) {
  const auto* etcd = etcd_container(pod);
  if (!etcd || etcd->restart_count < 2 || !etcd->state.running || !etcd->last_state.terminated)
    return false;
  const auto last = from_rfc3339(etcd->state.running->started_at);
  const auto before = from_rfc3339(etcd->last_state.terminated->started_at);
  if (!last || !before || *last - *before > kRestartsSoon) return false;
  const auto* ready = pod.condition("Ready");
  const auto since = ready ? from_rfc3339(ready->last_transition_time) : std::nullopt;
  // The clock of the node may be ahead of ours.
  return since && now - *since < kReadyLong && *since - now < kReadyLong;
}

/// The problem that the kubelet or the scheduler reports, in words that stay the same at each of
/// their tries.
std::optional<Verdict> complaint(const Observation& seen, const kube::Pod& pod) {
  const auto* const etcd = etcd_container(pod);
  for (const auto* container : {pod.init_container(v1::kInstallToolsContainer),
                                pod.init_container(v1::kRestoreContainer), etcd})
    if (auto problem = container ? not_startable(seen.member, *container) : std::nullopt)
      return problem;
  if (std::string failed = restore_failure(seen, pod); !failed.empty())
    return Verdict{"False", v1::kRestoreFailed, std::move(failed)};
  if (etcd && etcd->state.waiting && etcd->state.waiting->reason == "CrashLoopBackOff")
    return Verdict{"False", v1::kCrashLooping, "etcd exits repeatedly" + about_last_end(pod)};
  for (const kube::PodCondition& c : pod.status.conditions)
    if (c.type == "PodScheduled" && c.status == "False" && c.reason == "Unschedulable")
      return Verdict{"False", v1::kUnschedulable,
                     "no node can run the Pod: " + reasons_of_scheduler(c.message)};
  return std::nullopt;
}

/// The words of etcd about its data when it last ended, unless it serves now. While etcd runs, that
/// may be old, even from before it had data, and it may be unready for another reason: then only a
/// verdict that was reported before is kept.
std::optional<Verdict> last_words(const v1::EtcdMember& member, const kube::Pod& pod) {
  const auto* etcd = etcd_container(pod);
  if (!etcd || ended_by(pod, member.status.joined_in)) return std::nullopt;
  const bool runs = !etcd->state.terminated && !etcd->state.waiting;
  const auto* told = runtime::find_condition(member.status.conditions, v1::kReady);
  if (runs && !(told && (told->reason == v1::kDataLost || told->reason == v1::kDataCorrupt)))
    return std::nullopt;
  const auto* ended = last_end(etcd);
  if (!ended) return std::nullopt;
  switch (etcd::verdict_of(ended->message, !member.status.member_id.empty())) {
    case etcd::DataVerdict::Unknown: return std::nullopt;
    case etcd::DataVerdict::Lost:
      return Verdict{
          "False", v1::kDataLost,
          "etcd says that its data is gone: see kubectl logs --previous " + pod.metadata.name};
    case etcd::DataVerdict::Corrupt:
      return Verdict{"False", v1::kDataCorrupt,
                     "etcd says that it cannot read its data: see kubectl logs --previous " +
                         pod.metadata.name};
  }
  return std::nullopt;
}

/// A young Pod goes through phases, and is not scheduled before its volume is bound: not worth a
/// write each.
bool is_passing(const Observation& seen, const Verdict& now) {
  const api::Condition* before = runtime::find_condition(seen.member.status.conditions, v1::kReady);
  if (!before || (before->reason != v1::kPodNotReady && before->reason != v1::kRestoring))
    return false;
  const auto since = from_rfc3339(before->last_transition_time);
  const bool ordinary = now.reason == std::string_view(v1::kPodNotReady) ||
                        now.reason == std::string_view(v1::kUnschedulable);
  return ordinary && since && seen.now - *since < kPassing;
}

/// Words from outside, for the same problem, may differ at each look: they change once a minute
/// (I9).
Verdict steady(const Observation& seen, Verdict now) {
  const api::Condition* told = runtime::find_condition(seen.member.status.conditions, v1::kReady);
  const std::string_view reason = now.reason;
  const bool from_outside = reason == v1::kUnschedulable || reason == v1::kPodRejected;
  if (from_outside && told && told->status == now.status && told->reason == reason &&
      seen.words_s && std::chrono::seconds(*seen.words_s) < kWordsStay)
    now.message = told->message;
  return now;
}

/// A Pod without a reported problem.
Verdict on_its_way(const Observation& seen, const kube::Pod& pod) {
  const v1::EtcdMember& member = seen.member;
  if (ended_by_itself(pod)) return pod_failed(pod.metadata.name, end_of(pod));
  if (!seen.failed.empty()) return pod_failed(pod.metadata.name, seen.failed);
  const auto& restore = member.spec.restore;
  if (restore && member.status.member_id.empty() && has_to_restore(pod))
    return {"False", v1::kRestoring,
            "restoring " + to_words(restore->source) + ": see kubectl logs " + pod.metadata.name +
                " -c " + v1::kRestoreContainer};
  return {"False", v1::kPodNotReady, "pod phase: " + pod.status.phase};
}

/// Why a Pod with data in memory ended, for the end of a sentence; empty: unknown.
std::string why_in_memory(const Observation& seen) {
  if (!in_memory(seen.member) || !seen.pod || !has_ended(*seen.pod)) return "";
  const std::string words = end_of(*seen.pod);
  return words.empty() ? "" : "; the Pod failed: " + words;
}

bool pod_ready(const kube::Pod& pod) {
  return std::ranges::any_of(pod.status.conditions,
                             [](const auto& c) { return c.type == "Ready" && c.status == "True"; });
}

bool serves(const Observation& seen) {
  return seen.pod && is_ours(seen.pod->metadata, seen.member.metadata.uid) &&
         !seen.pod->metadata.terminating() && pod_ready(*seen.pod) &&
         !seen.member.status.member_id.empty();
}

Verdict judge(const Observation& seen) {
  const v1::EtcdMember& member = seen.member;
  const std::string volume = volume_name(member.metadata.name);
  if (member.spec.dormant && !stays_awake(seen))
    return {"False", v1::kPaused,
            (seen.cluster && seen.cluster->restoring() ? "the cluster goes back to a snapshot"
                                                       : "the cluster is paused") +
                (has_pod(seen) && !seen.rejected.empty() ? "; " + seen.rejected : "")};
  if (!seen.rejected.empty() && !serves(seen)) return {"False", v1::kPodRejected, seen.rejected};
  if (member.spec.initial_cluster.empty())
    return {"False", v1::kPodNotReady, "waiting to be added to etcd"};
  if (data_lost(seen))
    return {"False", v1::kDataLost,
            (in_memory(member) ? "the Pod " + member.metadata.name : "the volume " + volume) +
                " is gone, and the data with it" + why_in_memory(seen)};
  if (seen.volume && !is_ours(seen.volume->metadata, member.metadata.uid) &&
      !volume_has_lost_owner(seen))
    return {"False", v1::kVolumeConflict,
            "PersistentVolumeClaim " + volume +
                (seen.volume->metadata.owner_references.empty()
                     ? " has no owner; to use its data, make this EtcdMember its owner: see "
                       "VolumeConflict in docs/user/operations.md"
                     : " has another owner")};
  if (!seen.pod) {
    if (std::string trouble = tls_trouble(seen); !trouble.empty())
      return {"False", is_missing(seen.tls) ? v1::kCertificateMissing : v1::kCertificateInvalid,
              trouble + "; the operator creates no Pod until this is fixed"};
    if (std::string trouble = restore_trouble(seen); !trouble.empty())
      return {"False", seen.has_image ? v1::kRestoreFailed : v1::kOperatorImageNotConfigured,
              std::move(trouble)};
    if (!seen.failed.empty()) return pod_failed(member.metadata.name, seen.failed);
    if (makes_room(seen))
      return {"False", v1::kPodNotReady,
              "the Pod is created when " + seen.makes_room_for +
                  ", which has etcd's data, has found a place"};
    if (may_be_of_another_etcd(seen))
      return {"False", v1::kPodNotReady,
              "the Pod is created when the EtcdCluster knows that this is a member of its etcd: "
              "see SplitBrain in docs/user/operations.md"};
    const std::string missing = not_implemented(member);
    if (missing.empty()) return {"False", v1::kPodNotReady, "the Pod does not exist yet"};
    return {"False", v1::kNotImplemented,
            "this release does not implement " + missing + ", so the operator creates no Pod"};
  }
  if (!is_ours(seen.pod->metadata, member.metadata.uid))
    return {"False", v1::kPodConflict,
            "Pod " + member.metadata.name +
                (seen.pod->metadata.owner_references.empty()
                     ? " has no owner; make this EtcdMember its owner: see PodConflict in "
                       "docs/user/operations.md"
                     : " has another owner")};
  if (!pod_ready(*seen.pod) || seen.pod->metadata.terminating()) {
    if (auto loss = last_words(member, *seen.pod)) return *loss;
    if (auto problem = complaint(seen, *seen.pod)) return *problem;
    return on_its_way(seen, *seen.pod);
  }
  if (member.status.is_voter && restarts_often(*seen.pod, seen.now))
    return {"False", v1::kCrashLooping,
            "etcd restarted twice within five minutes" + about_last_end(*seen.pod)};
  if (member.status.member_id.empty())
    return {"False", v1::kDiscoveringMemberId, "waiting for memberID"};
  if (member.status.elsewhere)
    return {"False", v1::kSplitBrain, "etcd answers as a member of another etcd cluster"};
  return {"True", v1::kPodReady,
          seen.rejected.empty() ? "the member serves" : "the member serves; " + seen.rejected};
}

}  // namespace

std::string end_of(const kube::Pod& pod) {
  std::string words = pod.status.reason;
  if (!pod.status.message.empty()) words += (words.empty() ? "" : ": ") + pod.status.message;
  if (words.empty()) words = last_end_of(pod);
  return shortened(words, kWordsOfKubelet);
}

bool data_lost(const Observation& seen) {
  const v1::EtcdMemberStatus& known = seen.member.status;
  if (in_memory(seen.member)) {
    if (known.pod_uid.empty()) return !seen.pod && !known.member_id.empty();
    return !seen.pod || seen.pod->metadata.uid != known.pod_uid || has_ended(*seen.pod);
  }
  return !seen.volume && !(known.pvc_name.empty() && known.member_id.empty());
}

std::string tls_trouble(const Observation& seen) {
  return trouble_with(seen.tls, {member_host(seen.member)}, seen.now);
}

std::string not_implemented(const v1::EtcdMember& member) {
  // A member that has its data has started: the source of the data no longer matters.
  const bool asks = member.spec.restore && member.status.member_id.empty();
  return asks && in_memory(member) ? "restore with storage.medium Memory" : "";
}

void report_orphan(const Observation& seen, v1::EtcdMemberStatus& status) {
  const auto* told = runtime::find_condition(status.conditions, v1::kReady);
  if (!told) return;
  const bool has_etcd = has_pod(seen) && !has_ended(*seen.pod);
  const bool is = has_etcd && serves(seen) && !data_lost(seen) && !status.elsewhere;
  const bool is_told = is == (told->status == "True");
  const bool is_lost = told->reason == v1::kDataLost || told->reason == v1::kDataCorrupt;
  const bool fails = has_pod(seen) && ended_by_itself(*seen.pod) && !is_lost;
  if (is_told && !fails) return;  // The earlier words say more.
  Verdict verdict{"True", v1::kPodReady, "the member serves"};
  if (fails) verdict = pod_failed(seen.pod->metadata.name, end_of(*seen.pod));
  else if (!is)
    verdict = {"False", v1::kPodNotReady, has_etcd ? "the Pod is not ready" : "the Pod is gone"};
  if (!is)
    verdict.message +=
        ", and without an EtcdCluster as the owner of this EtcdMember the operator creates no "
        "other one";
  runtime::set_condition(status.conditions,
                         {v1::kReady, verdict.status, verdict.reason, verdict.message},
                         seen.member.metadata.generation, seen.now);
}

void report(const Observation& seen, v1::EtcdMemberStatus& status) {
  if (is_young(seen)) return;
  const v1::EtcdMember& member = seen.member;
  const auto set = [&](const char* type, const Verdict& v) {
    runtime::set_condition(status.conditions, {type, v.status, v.reason, v.message},
                           member.metadata.generation, seen.now);
  };
  // The Pod's name is told until it is gone, also while it is being deleted.
  const bool owns_pod = seen.pod && is_ours(seen.pod->metadata, member.metadata.uid);
  // The name of a deleted Pod stays until there is another: it may be a moment.
  if (owns_pod || member.spec.dormant) {
    status.pod_name = owns_pod ? seen.pod->metadata.name : "";
    // With data in memory there is only one, ever.
    if (!in_memory(member) || (owns_pod && status.pod_uid.empty()))
      status.pod_uid = owns_pod ? seen.pod->metadata.uid : "";
  }
  if (in_memory(member) && data_lost(seen)) status.pod_name.clear();
  if (seen.volume && is_ours(seen.volume->metadata, member.metadata.uid))
    status.pvc_name = goes_unused(seen) ? "" : seen.volume->metadata.name;
  status.replicas = 1;
  status.selector = selector_of(member.spec.cluster_name) +
                    ",app.kubernetes.io/component=" + member.metadata.name;
  if (const Verdict verdict = steady(seen, judge(seen)); !is_passing(seen, verdict))
    set(v1::kReady, verdict);
  if (status.version.empty()) return;
  const bool drifted = status.version != member.spec.version;
  const bool known = runtime::find_condition(status.conditions, v1::kVersionDrifted) != nullptr;
  const bool serves = runtime::find_condition(status.conditions, v1::kReady)->status == "True";
  if (!drifted && !known && !serves) return;  // Reported together with Ready.
  if (!drifted)
    set(v1::kVersionDrifted, {"False", v1::kVersionMatched, "etcd runs " + status.version});
  else
    set(v1::kVersionDrifted,
        {"True", v1::kVersionMismatch,
         "etcd runs " + status.version + ", spec.version is " + member.spec.version});
}

}  // namespace etcdop::member
