// The Pod in which an agent restores a stored snapshot into scratch, and starts an etcd on it; and
// how such agents ended. Pure.
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

/// Which images such Pods run.
struct VerifyImages {
  std::string own;  ///< The operator's.
  std::string etcd_repository = "quay.io/coreos/etcd";
};

/// What one is to do.
struct VerifyWork {
  api::v1alpha2::SnapshotLocation from;
  std::string etcd_version;  ///< Of the etcd that restores it.
  json::array expected;      ///< Variables: what it has to be.
  std::optional<api::v1alpha2::AgentPodSpec> placed;
};

/// Its spec.
json::object verify_pod(const VerifyWork&, const VerifyImages&,
                        const std::optional<api::v1alpha2::EtcdCluster>&);

/// What an agent of these Pods found to be good; nullopt: none has.
std::optional<VerifyReport> verify_success(const std::vector<kube::Pod>&);

/// How the agent that ended last has failed.
struct VerifyFailure {
  std::string reason, message;
  bool for_good = false;
};
VerifyFailure verify_failure(const std::vector<kube::Pod>&, const kube::JobCondition& failed);

}  // namespace etcdop
