// The Pod in which an agent restores a stored snapshot into scratch space and starts an etcd on it;
// and the results of such agents. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/v1alpha2/common.h"
#include "api/v1alpha2/etcdcluster.h"
#include "base/json.h"
#include "base/wall_time.h"
#include "kube/core_types.h"
#include "operator/agents/verify_report.h"

namespace etcdop {

/// The images that such Pods run.
struct VerifyImages {
  std::string own;  ///< The operator's.
  std::string etcd_repository = "quay.io/coreos/etcd";
};

/// The work of one such Pod.
struct VerifyWork {
  api::v1alpha2::SnapshotLocation from;
  std::string etcd_version;  ///< Version of the etcd that restores it.
  json::array expected;      ///< Variables: the expected values.
  std::optional<api::v1alpha2::AgentPodSpec> placed;
};

/// The spec of the Pod.
json::object verify_pod(const VerifyWork&, const VerifyImages&,
                        const std::optional<api::v1alpha2::EtcdCluster>&);

/// The report of an agent in these Pods that found the snapshot good; nullopt: none.
std::optional<VerifyReport> verify_success(const std::vector<kube::Pod>&);

/// The failure of the agent that ended last.
struct VerifyFailure {
  std::string reason, message;
  bool for_good = false;
};
VerifyFailure verify_failure(const std::vector<kube::Pod>&, const kube::JobCondition& failed);

}  // namespace etcdop
