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
  bool operator==(const NoStep&) const = default;
};
struct ReleaseFinalizer {
  bool operator==(const ReleaseFinalizer&) const = default;
};
struct AddFinalizer {
  bool operator==(const AddFinalizer&) const = default;
};
struct CreateVolume {
  bool operator==(const CreateVolume&) const = default;
};
/// `founds`: etcd is started with initial-cluster-state=new. Checked once more against the API
/// before the Pod is made.
struct CreatePod {
  bool founds = false;
  bool operator==(const CreatePod&) const = default;
};
struct DeletePod {
  std::string uid, why;
  bool operator==(const DeletePod&) const = default;
};
/// Puts the Pod among the voters that the client Service and the budget count, or takes it out.
struct SetRole {
  std::string pod_uid;
  bool voter = false;
  bool operator==(const SetRole&) const = default;
};
using Step = std::variant<NoStep, ReleaseFinalizer, AddFinalizer, CreateVolume, CreatePod,
                          DeletePod, SetRole>;

struct Plan {
  api::v1alpha2::EtcdMemberStatus
      status;  ///< As it should be; memberID, isVoter and version are the cluster's to write.
  Step step;
  std::chrono::milliseconds again{0};
};

Plan plan(const Observation& seen);
std::string to_string(const Step& step);

/// "data-<member>"
std::string volume_name(const std::string& member);

}  // namespace etcdop::member
