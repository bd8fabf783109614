// Exact numbers from the last pass over each cluster, for scrapes. The status has coarse ones
// (member_report.h). docs/user/operations.md lists the metrics.
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

/// Numbers only, some 300 bytes per cluster: lines and labels are made at each scrape.
class ClusterMetrics {
 public:
  /// Notes what a pass saw, and the status that it reports.
  void saw(const Observation& seen, const api::v1alpha2::EtcdClusterStatus& status);
  void gone(const api::ObjectKey& cluster) { clusters_.erase(cluster); }
  /// Call once. Scrapes read this object, so it must outlive the last scrape.
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
    std::int64_t voters = 0;  ///< 0: unknown.
    bool quorum = false;      ///< etcd gave a linearizable list.
    bool held = false;        ///< A replacement waits for an outage of many clusters to end.
    WallTime quorum_seen;     ///< The last time of that; 0: never.
    std::string phase;
    std::string restore_stage;  ///< The restore in place under way; empty: none.
    std::vector<Member> each;
    std::vector<std::pair<std::string, WallTime>> certificates;  ///< Secret and expiry.
    std::vector<std::pair<std::string, const char*>> alarms;     ///< Member and etcd's alarm name.
  };

 private:
  std::map<api::ObjectKey, Cluster> clusters_;
};

}  // namespace etcdop::cluster
