// The input of one pass over an EtcdRestore. A value; nothing here does I/O.
#pragma once
#include <optional>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdrestore.h"
#include "base/wall_time.h"
#include "kube/core_types.h"
#include "operator/agents/agent_job.h"
#include "operator/passes/value_codecs.h"

namespace etcdop::restore {

struct Observation {
  WallTime now;
  api::v1alpha2::EtcdRestore restore;
  bool has_image = false;                             ///< The operator knows its own image.
  std::optional<api::v1alpha2::EtcdCluster> cluster;  ///< Absent also if it is being deleted.
  std::string in_memory;        ///< An EtcdMember of the cluster with data in memory; empty: none.
  std::optional<JobSeen> job;   ///< The Job that checks the snapshot.
  std::vector<kube::Pod> pods;  ///< The Pods of that Job.
  std::optional<Rejection> rejected;
  bool operator==(const Observation&) const = default;

  template <class S = Observation>
  static auto describe() {
    return api::value(api::required("now", &S::now), api::required("restore", &S::restore),
                      api::sparse("hasImage", &S::has_image), api::optional("cluster", &S::cluster),
                      api::sparse("inMemory", &S::in_memory), api::optional("job", &S::job),
                      api::sparse("pods", &S::pods), api::optional("rejected", &S::rejected));
  }
};

}  // namespace etcdop::restore
