#include "operator/snapshot/conditions.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "api/v1alpha2/names.h"
#include "operator/agents/agent_pod.h"

namespace etcdop::snapshot {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;

constexpr auto kOrdinaryWait = 60s;  // Usual time to pull images and attach volumes.

/// The reasons that an agent may give.
constexpr auto kAgentReasons = std::to_array<std::string_view>(
    {v1::kEtcdUnreachable, v1::kEtcdCredentialsRejected, v1::kEtcdUnhealthy, v1::kSnapshotBroken,
     v1::kDestinationExists, v1::kDestinationInvalid, v1::kDestinationUnreachable,
     v1::kDestinationUntrusted, v1::kDestinationCredentialsRejected, v1::kDestinationAccessDenied,
     v1::kBucketNotFound, v1::kNoSpace, v1::kDestinationClockSkewed, v1::kDestinationFailed,
     v1::kEncryptionKeyInvalid});

/// The failure of the agent in that Pod, in the words of a condition.
struct Failure {
  std::string reason, message;
};
Failure failure_of(const kube::Pod& pod) {
  const kube::ContainerTerminated& end = *end_of(pod, v1::kAgentContainer);
  auto report = to_agent_report(end.message);
  if (report && std::ranges::find(kAgentReasons, report->reason) != kAgentReasons.end())
    return {report->reason, report->message};
  const bool in_log = end.reason != "OOMKilled";
  return {v1::kJobFailed, ended_without_report(pod, end) + (in_log ? ": see kubectl logs" : "")};
}

}  // namespace

std::string job_name(const std::string& snapshot) { return snapshot + "-snapshot"; }

std::optional<AgentReport> stored(const std::vector<kube::Pod>& pods) {
  for (const kube::Pod& pod : pods) {
    const kube::ContainerTerminated* end = end_of(pod, v1::kAgentContainer);
    if (!end || end->exit_code != 0) continue;
    auto report = to_agent_report(end->message);
    if (report && !report->failed()) return std::move(*report);
  }
  return std::nullopt;
}

Verdict why_failed(const Observation& seen, const kube::JobCondition& failed,
                   const std::string& before) {
  const std::string job = "Job " + job_name(seen.snapshot.metadata.name) + " failed (" +
                          (failed.reason.empty() ? failed.message : failed.reason) + ")";
  if (const kube::Pod* pod = last_ended(seen.pods, v1::kAgentContainer)) {
    Failure last = failure_of(*pod);
    return {"False", std::move(last.reason), last.message + "; " + job};
  }
  return {"False", v1::kJobFailed, job + (before.empty() ? "" : "; before that: " + before)};
}

Verdict progress(const Observation& seen) {
  const std::string job = "Job " + job_name(seen.snapshot.metadata.name);
  const kube::Pod* pod = newest(seen.pods);
  const bool of_go_operator = seen.job->attempt == 0;  // Its Pods have no label that we watch.
  if (!pod && !of_go_operator && seen.now - seen.job->made >= kOrdinaryWait)
    return {"False", v1::kJobRunning,
            job + " has no Pod: see kubectl describe job, a quota may be used up"};
  if (!pod) return {"False", v1::kJobRunning, job + " is running"};
  if (std::string why = waiting(seen.pods, v1::kAgentContainer, seen.now); !why.empty())
    return {"False", v1::kJobRunning, std::move(why)};
  const kube::Pod* ended = last_ended(seen.pods, v1::kAgentContainer);
  if (!ended || end_of(*ended, v1::kAgentContainer)->exit_code == 0)
    return {"False", v1::kJobRunning, job + " is running"};
  const Failure last = failure_of(*ended);
  return {"False", v1::kJobRunning,
          job + " tries again after a failure (" + last.reason + "): " + last.message};
}

}  // namespace etcdop::snapshot
