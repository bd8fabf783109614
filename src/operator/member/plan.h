// What to report and what to do next for one etcd member: its volume, its Pod, its place in the
// client Service. Pure. Membership in etcd is the cluster's business; the finalizer is released
// here only when the cluster itself is gone.
#pragma once
#include <chrono>
#include <string>
#include <variant>

#include "operator/member/observation.h"

namespace etcdop::member {

struct NoStep {
  static constexpr const char* word = "none";
  bool operator==(const NoStep&) const = default;
};
struct ReleaseFinalizer {
  static constexpr const char* word = "release-finalizer";
  bool operator==(const ReleaseFinalizer&) const = default;
};
struct AddFinalizer {
  static constexpr const char* word = "add-finalizer";
  bool operator==(const AddFinalizer&) const = default;
};
struct CreateVolume {
  static constexpr const char* word = "create-volume";
  bool operator==(const CreateVolume&) const = default;
};
/// `founds`: etcd is started with initial-cluster-state=new. Checked once more against the API
/// before the Pod is made.
struct CreatePod {
  static constexpr const char* word = "create-pod";
  bool founds = false;
  bool operator==(const CreatePod&) const = default;

  template <class S = CreatePod>
  static auto describe() {
    return api::object("Creates the Pod.", api::Fields{api::sparse("founds", &S::founds, "")});
  }
};
struct DeletePod {
  static constexpr const char* word = "delete-pod";
  std::string uid, why;
  bool operator==(const DeletePod&) const = default;

  template <class S = DeletePod>
  static auto describe() {
    return api::object("Deletes the Pod.", api::Fields{api::sparse("uid", &S::uid, ""),
                                                       api::sparse("why", &S::why, "")});
  }
};
/// Puts the Pod among the voters that the client Service and the budget count, or takes it out.
struct SetRole {
  static constexpr const char* word = "set-role";
  std::string pod_uid;
  bool voter = false;
  bool operator==(const SetRole&) const = default;

  template <class S = SetRole>
  static auto describe() {
    return api::object("Labels the Pod.", api::Fields{api::sparse("podUID", &S::pod_uid, ""),
                                                      api::sparse("voter", &S::voter, "")});
  }
};
/// Labels the Pod of a member that is to go: the others' places are chosen as if it were gone.
struct MarkLeaving {
  static constexpr const char* word = "mark-leaving";
  std::string pod_uid;
  bool operator==(const MarkLeaving&) const = default;

  template <class S = MarkLeaving>
  static auto describe() {
    return api::object("Labels the Pod.", api::Fields{api::sparse("podUID", &S::pod_uid, "")});
  }
};
/// Lets a Pod that keeps its data in memory run: its UID is recorded, no other ever will.
struct AdmitPod {
  static constexpr const char* word = "admit-pod";
  std::string uid;
  bool operator==(const AdmitPod&) const = default;

  template <class S = AdmitPod>
  static auto describe() {
    return api::object("Admits the Pod.", api::Fields{api::sparse("uid", &S::uid, "")});
  }
};
/// Tells the Pod that founded a cluster in memory to found none with its next start.
struct EndFounding {
  static constexpr const char* word = "end-founding";
  std::string uid;
  bool operator==(const EndFounding&) const = default;

  template <class S = EndFounding>
  static auto describe() {
    return api::object("Ends the founding.", api::Fields{api::sparse("uid", &S::uid, "")});
  }
};
/// Takes from a Pod with data in memory what its etcd has joined with: it does not join again.
struct EndJoining {
  static constexpr const char* word = "end-joining";
  std::string uid;
  bool operator==(const EndJoining&) const = default;

  template <class S = EndJoining>
  static auto describe() {
    return api::object("Ends the joining.", api::Fields{api::sparse("uid", &S::uid, "")});
  }
};
using Step = std::variant<NoStep, ReleaseFinalizer, AddFinalizer, CreateVolume, CreatePod,
                          DeletePod, SetRole, MarkLeaving, AdmitPod, EndFounding, EndJoining>;

struct Plan {
  api::v1alpha2::EtcdMemberStatus
      status;  ///< As it should be; memberID, isVoter and version are the cluster's to write.
  Step step;
  std::chrono::milliseconds again{0};
  bool operator==(const Plan&) const = default;

  template <class S = Plan>
  static auto describe() {
    return api::object(
        "What one pass decided.",
        api::Fields{api::required("status", &S::status, ""), api::sparse("step", &S::step, ""),
                    api::sparse("again", &S::again, "")});
  }
};

Plan plan(const Observation& seen);

/// Whether a Pod that is made now founds the cluster: the first member's, before etcd was ever
/// seen.
bool founds(const Observation& seen);

std::string to_string(const Step& step);

/// "data-<member>"
std::string volume_name(const std::string& member);

}  // namespace etcdop::member
