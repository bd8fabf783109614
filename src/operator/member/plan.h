// Decides what to report and what to do next for one etcd member: its volume, its Pod, and whether
// the client Service selects it. Pure. The cluster's controller changes the membership in etcd; the
// finalizer is removed here only when the cluster itself is deleted.
#pragma once
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "operator/member/observation.h"
#include "operator/passes/step.h"
#include "operator/pods/member_name.h"

namespace etcdop::member {

struct ReleaseFinalizer : WithoutFields {
  static constexpr StepTraits traits{"release-finalizer", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "release-finalizer"; }
};
struct AddFinalizer : WithoutFields {
  static constexpr StepTraits traits{"add-finalizer", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "add-finalizer"; }
};
/// Lets a first member go, whose etcd never ran: another one founds the cluster. Proven once more
/// against the API; nothing that it leaves can start.
struct ReleaseUnborn : WithoutFields {
  static constexpr StepTraits traits{"release-unborn", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "release-unborn"; }
};
/// Deletes a volume that was never bound and does not have the corrected size.
struct DeleteUnboundVolume : ByUid {
  static constexpr StepTraits traits{"delete-unbound-volume", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "delete-unbound-volume"; }
};
struct CreateVolume : WithoutFields {
  static constexpr StepTraits traits{"create-volume", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "create-volume"; }
};
/// `founds`: etcd starts with initial-cluster-state=new. Checked once more against the API before
/// the Pod is created.
struct CreatePod {
  static constexpr StepTraits traits{"create-pod", Asks::ApiServer, Effect::AtOnce};
  bool founds = false;
  std::string words() const { return founds ? "create-pod new" : "create-pod existing"; }
  std::string concerns() const { return ""; }
  bool operator==(const CreatePod&) const = default;

  template <class S = CreatePod>
  static auto describe() {
    return api::value(api::sparse("founds", &S::founds));
  }
};
/// The state of a Pod in which it is deleted, as the API server has it then. In another state it
/// stays, and the next pass decides again.
enum class OnlyIf {
  Any,
  /// etcd does not run: etcd is asked, too.
  Down,
  /// etcd does not run, by the Pod's status alone: on a volume, the next Pod goes on with what it
  /// has. Data in memory goes with the Pod: it must not have had a node.
  Idle,
  /// As it was seen: a later owner may rely on it by now.
  Unchanged,
};
inline auto names(OnlyIf) {
  return std::array{std::pair{OnlyIf::Any, "Any"}, std::pair{OnlyIf::Down, "Down"},
                    std::pair{OnlyIf::Idle, "Idle"}, std::pair{OnlyIf::Unchanged, "Unchanged"}};
}

struct DeletePod {
  static constexpr StepTraits traits{"delete-pod", Asks::ApiServer, Effect::AtOnce};
  std::string uid, why;
  OnlyIf only_if = OnlyIf::Any;
  std::string words() const { return "delete-pod: " + why; }
  std::string concerns() const { return ""; }
  bool operator==(const DeletePod&) const = default;

  template <class S = DeletePod>
  static auto describe() {
    return api::value(api::sparse("uid", &S::uid), api::sparse("why", &S::why),
                      api::sparse("onlyIf", &S::only_if));
  }
};
/// Adds the Pod to the voters that the client Service and the budget count, or removes it.
struct SetRole {
  static constexpr StepTraits traits{"set-role", Asks::ApiServer, Effect::AtOnce};
  std::string pod_uid;
  bool voter = false;
  std::string words() const { return voter ? "set-role voter" : "set-role none"; }
  std::string concerns() const { return ""; }
  bool operator==(const SetRole&) const = default;

  template <class S = SetRole>
  static auto describe() {
    return api::value(api::sparse("podUID", &S::pod_uid), api::sparse("voter", &S::voter));
  }
};
/// Labels the Pod of a member that will be deleted: the others are scheduled as if it did not
/// exist.
struct MarkLeaving {
  static constexpr StepTraits traits{"mark-leaving", Asks::ApiServer, Effect::AtOnce};
  std::string pod_uid;
  std::string words() const { return "mark-leaving"; }
  std::string concerns() const { return ""; }
  bool operator==(const MarkLeaving&) const = default;

  template <class S = MarkLeaving>
  static auto describe() {
    return api::value(api::sparse("podUID", &S::pod_uid));
  }
};
/// Labels the Pod with its EtcdCluster's UID, by which the Services select. Only for a Pod that was
/// created without it: by the Go operator, by an earlier release, or for an earlier EtcdCluster.
/// Without a UID: takes the label away, so that no Service selects the Pod.
struct LabelWithUid {
  static constexpr StepTraits traits{"label-with-uid", Asks::ApiServer, Effect::AtOnce};
  std::string pod_uid, cluster_uid;
  std::string words() const {
    return "label-with-uid " + (cluster_uid.empty() ? "none" : cluster_uid);
  }
  std::string concerns() const { return ""; }
  bool operator==(const LabelWithUid&) const = default;

  template <class S = LabelWithUid>
  static auto describe() {
    return api::value(api::sparse("podUID", &S::pod_uid),
                      api::sparse("clusterUID", &S::cluster_uid));
  }
};
/// Gives the recorded Pod, which has no owner or not our label, its own again.
struct AdoptPod : ByUid {
  static constexpr StepTraits traits{"adopt-pod", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "adopt-pod"; }
};
/// Lets a Pod with data in memory run: its UID is recorded, and no other Pod ever runs.
struct AdmitPod : ByUid {
  static constexpr StepTraits traits{"admit-pod", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "admit-pod"; }
};
/// Gives the volume its label again; and its owner, if it belongs to nobody and its Pod runs.
struct AdoptVolume : ByUid {
  static constexpr StepTraits traits{"adopt-volume", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "adopt-volume"; }
};
/// The initial state of a first member with data in memory at its next start: "existing" once a
/// cluster has been founded, so that it never founds another.
struct SetInitialState {
  static constexpr StepTraits traits{"set-initial-state", Asks::ApiServer, Effect::AtOnce};
  std::string uid, state;
  std::string words() const { return "set-initial-state " + state; }
  std::string concerns() const { return ""; }
  bool operator==(const SetInitialState&) const = default;

  template <class S = SetInitialState>
  static auto describe() {
    return api::value(api::sparse("uid", &S::uid), api::sparse("state", &S::state));
  }
};
/// Removes the list with which the etcd of a Pod with data in memory has joined: it joins only
/// once.
struct EndJoining : ByUid {
  static constexpr StepTraits traits{"end-joining", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "end-joining"; }
};
using Step = OneStepOf<ReleaseFinalizer, ReleaseUnborn, AddFinalizer, DeleteUnboundVolume,
                       CreateVolume, CreatePod, DeletePod, SetRole, MarkLeaving, LabelWithUid,
                       AdoptVolume, AdoptPod, AdmitPod, SetInitialState, EndJoining>;

/// The cluster's controller writes memberID, isVoter and version of the status.
using Plan = PlanOf<api::v1alpha2::EtcdMemberStatus, Step>;

Plan plan(const Observation& seen);

/// Whether only the owner of its volume is missing: its Pod uses the volume, so the volume is the
/// one that it was created for. Kubernetes deletes no volume that a Pod uses.
bool volume_has_lost_owner(const Observation& seen);

/// Whether a joiner that cannot start, as etcd has no quorum, leaves its node to a voter that finds
/// none. Its volume stays.
bool makes_room(const Observation& seen);

/// Whether a dormant member keeps its Pod: the cluster is about to resume, or the data is in
/// memory. Needs `cluster`.
bool stays_awake(const Observation& seen);

/// Whether a user made an EtcdCluster without an id the owner of members of two etcds: nothing
/// tells which of them it is to serve, so none gets a Pod. Needs `cluster`.
bool may_be_of_another_etcd(const Observation& seen);

/// Whether a Pod created now founds the cluster: the first member's Pod, before etcd was ever seen.
bool founds(const Observation& seen);

}  // namespace etcdop::member
