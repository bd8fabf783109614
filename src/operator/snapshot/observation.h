// The input of one pass over an EtcdSnapshot. A value; nothing here does I/O.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "base/wall_time.h"
#include "kube/core_types.h"
#include "operator/agents/agent_job.h"
#include "operator/passes/value_codecs.h"

namespace etcdop::snapshot {

struct Observation {
  WallTime now;
  api::v1alpha2::EtcdSnapshot snapshot;
  bool has_image = false;                             ///< The operator knows its own image.
  std::optional<api::v1alpha2::EtcdCluster> cluster;  ///< The one that the snapshot names.
  std::vector<std::string> endpoints;  ///< Client URLs of its voters, ordered by name.
  /// The Secret with root's present password; empty: no authentication.
  std::string password_secret;
  bool password_changing = false;  ///< It is unknown which of two passwords etcd has.
  std::string run_before;          ///< The EtcdDefrag whose turn it is; empty: none.
  bool run_under_way = false;      ///< An EtcdDefrag is Running.
  std::optional<JobSeen> job;
  std::vector<kube::Pod> pods;        ///< Pods of that Job, or of the one in the status.
  std::optional<Rejection> rejected;  ///< Why the Job could not be created.
  std::optional<JobSeen> verify_job;
  std::vector<kube::Pod> verify_pods;  ///< Pods of the present verification's Job.
  bool operator==(const Observation&) const = default;

  template <class S = Observation>
  static auto describe() {
    return api::value(
        api::required("now", &S::now), api::required("snapshot", &S::snapshot),
        api::sparse("hasImage", &S::has_image), api::optional("cluster", &S::cluster),
        api::sparse("endpoints", &S::endpoints), api::sparse("passwordSecret", &S::password_secret),
        api::sparse("passwordChanging", &S::password_changing),
        api::sparse("runBefore", &S::run_before), api::sparse("runUnderWay", &S::run_under_way),
        api::optional("job", &S::job), api::sparse("pods", &S::pods),
        api::optional("rejected", &S::rejected), api::optional("verifyJob", &S::verify_job),
        api::sparse("verifyPods", &S::verify_pods));
  }
};

}  // namespace etcdop::snapshot
