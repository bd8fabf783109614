// Jobs: what Kubernetes' API server makes of one, and the controller that runs them.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/wall_time.h"
#include "sim/api/server.h"

namespace etcdop::sim {

inline constexpr Resource kJobs{"batch", "v1", "jobs", "Job"};

/// The kind: the server gives a Job its selector, and its Pods' template the labels that go with
/// it, so that a name that is no label's value is refused. The template never changes.
ApiKind job_kind();

/// Runs each Job's Pod, one at a time, until one has succeeded: after failures with back-off (10 s,
/// doubled each time, 10 min at most), as often as backoffLimit has it, for activeDeadlineSeconds,
/// and as podFailurePolicy has it; deletes Jobs ttlSecondsAfterFinished after their end. What they
/// own goes with them (ApiServer::collect_garbage). Source: pkg/controller/job.
///
/// Caveats: it remembers which Pods it has counted, where the real one keeps a finalizer on each
/// and lists in the status; no more than one completion, no parallelism, no indexes, no suspension;
/// restartPolicy Never; a Pod that is being deleted is replaced once it is gone, as where there is
/// a podFailurePolicy.
class JobController {
 public:
  /// Both outlive it.
  JobController(ApiServer&, const WallClock&);
  JobController(const JobController&) = delete;
  /// Looks at every Job, once.
  void run();

 private:
  struct Ending {
    std::string reason, message;
  };
  /// What became of a Job's Pods so far.
  struct Past {
    std::set<std::string> counted;  // Pods, by UID.
    std::int64_t failed = 0;
    bool succeeded = false;
    std::optional<WallTime> failed_at;
    std::optional<Ending> failure;  // Decided; its last Pod may still be there.
  };
  void look(const ObjectKey&, const Json& job);
  void count(Past&, const Json& job, const Json& pod);
  void pod_gone(const Json& pod);
  void decide(Past&, const Json& job);
  bool may_start(const Past&) const;
  void start_pod(const Json& job);
  void report(const ObjectKey&, const Past&, std::int64_t active, bool over);
  void delete_when_old(const ObjectKey&, const Json& job);

  ApiServer& server_;
  const WallClock& clock_;
  std::map<std::string, Past> past_;  // By UID.
};

}  // namespace etcdop::sim
