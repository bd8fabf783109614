// What the last pass over each cluster saw, in exact numbers, for whoever scrapes them. The status
// has the same in coarse (member_report.h). docs/user/operations.md lists them.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/meta.h"
#include "operator/cluster/observation.h"
#include "runtime/metrics.h"

namespace etcdop::cluster {

/// Numbers only, some 300 bytes a cluster: lines and labels are made when they are asked for.
class ClusterMetrics {
 public:
  /// A pass saw this, and this is what it reports.
  void saw(const Observation& seen, const api::v1alpha2::EtcdClusterStatus& status);
  void gone(const api::ObjectKey& cluster) { clusters_.erase(cluster); }
  /// Once. Asked from then on: this must outlive the other, or nobody may scrape any more.
  void show_in(runtime::Metrics&) const;

  struct Member {
    std::string name;
    bool up = false;  ///< It answered.
    bool leads = false, learner = false;
    std::int64_t db_size = 0, db_in_use = 0;  ///< Bytes.
    std::uint64_t lag = 0;                    ///< Entries of the raft log.
  };
  struct Cluster {
    std::int64_t wanted = 0, members = 0, ready = 0;
    std::int64_t voters = 0;  ///< 0: etcd did not tell.
    bool quorum = false;      ///< It gave a linearizable list.
    WallTime quorum_seen;     ///< When it did so last; 0: never.
    std::string phase;
    std::string restore_stage;  ///< Of a restore in place; empty: none is under way.
    std::vector<Member> each;
    std::vector<std::pair<std::string, WallTime>> certificates;  ///< By Secret, until when.
    std::vector<std::pair<std::string, const char*>> alarms;  ///< Of whom, and etcd's word for it.
  };

 private:
  std::map<api::ObjectKey, Cluster> clusters_;
};

}  // namespace etcdop::cluster
