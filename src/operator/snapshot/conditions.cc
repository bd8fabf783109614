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

/// How the agent in that Pod ended; null: it has not (yet).
const kube::ContainerTerminated* end_of(const kube::Pod& pod) {
  const kube::ContainerStatus* agent = pod.container(v1::kAgentContainer);
  return agent && agent->state.terminated ? &*agent->state.terminated : nullptr;
}

bool is_newer(const kube::Pod& a, const kube::Pod& b) {
  return a.metadata.creation_timestamp > b.metadata.creation_timestamp;
}

/// The Pod created last, of those whose agent has ended.
const kube::Pod* last_ended(const std::vector<kube::Pod>& pods) {
  const kube::Pod* out = nullptr;
  for (const kube::Pod& pod : pods)
    if (end_of(pod) && (!out || is_newer(pod, *out))) out = &pod;
  return out;
}

/// The failure of the agent in that Pod, in the words of a condition.
struct Failure {
  std::string reason, message;
};
Failure failure_of(const kube::Pod& pod) {
  const kube::ContainerTerminated& end = *end_of(pod);
  auto report = to_agent_report(end.message);
  if (report && std::ranges::find(kAgentReasons, report->reason) != kAgentReasons.end())
    return {report->reason, report->message};
  const std::string agent = "the agent in Pod " + pod.metadata.name;
  if (end.reason == "OOMKilled")
    return {v1::kJobFailed, agent + " was killed because it ran out of memory"};
  return {v1::kJobFailed, agent + " ended with exit code " + std::to_string(end.exit_code) +
                              " without a report: see kubectl logs"};
}

}  // namespace

std::string job_name(const std::string& snapshot) { return snapshot + "-snapshot"; }

std::optional<AgentReport> stored(const std::vector<kube::Pod>& pods) {
  for (const kube::Pod& pod : pods) {
    const kube::ContainerTerminated* end = end_of(pod);
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
  if (const kube::Pod* pod = last_ended(seen.pods)) {
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
  const kube::Pod* ended = last_ended(seen.pods);
  if (!ended || end_of(*ended)->exit_code == 0)
    return {"False", v1::kJobRunning, job + " is running"};
  const Failure last = failure_of(*ended);
  return {"False", v1::kJobRunning,
          job + " tries again after a failure (" + last.reason + "): " + last.message};
}

}  // namespace etcdop::snapshot
