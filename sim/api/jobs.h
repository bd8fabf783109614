// Jobs: how Kubernetes' API server stores them, and the controller that runs them.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/wall_time.h"
#include "sim/api/server.h"

namespace etcdop::sim {

inline constexpr Resource kJobs{"batch", "v1", "jobs", "Job"};

/// The kind. The server gives a Job its selector and adds matching labels to its Pods' template, so
/// it refuses a name that is no valid label value. The template is immutable.
ApiKind job_kind();

/// Runs each Job's Pod, one at a time, until one has succeeded: after failures with back-off (10 s,
/// doubled each time, 10 min at most), within backoffLimit, activeDeadlineSeconds and
/// podFailurePolicy. Deletes Jobs ttlSecondsAfterFinished after their end;
/// ApiServer::collect_garbage deletes their Pods. Source: pkg/controller/job.
/// own goes with them (ApiServer::collect_garbage). Source: pkg/controller/job.
///
/// Caveats: it remembers which Pods it has counted; the real controller keeps a finalizer on each
/// Pod, and lists in the status. Not modelled: more than one completion, parallelism, indexes,
/// suspension, any restartPolicy but Never. A terminating Pod is replaced only once it is deleted,
/// as with a podFailurePolicy.
class JobController {
 public:
  /// Both arguments outlive it.
  JobController(ApiServer&, const WallClock&);
  JobController(const JobController&) = delete;
  /// Looks at every Job once.
  void run();

 private:
  struct Ending {
    std::string reason, message;
  };
  /// The results of a Job's Pods so far.
  struct Past {
    std::set<std::string> counted;  // By Pod UID.
    std::int64_t failed = 0;
    bool succeeded = false;
    std::optional<WallTime> failed_at;
    std::optional<Ending> failure;  // Decided; the last Pod may still exist.
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
