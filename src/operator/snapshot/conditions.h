// How a snapshot's Job ended, or what it waits for, in words for users. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "operator/agents/agent_report.h"
#include "operator/snapshot/observation.h"

namespace etcdop::snapshot {

/// "<snapshot>-snapshot": the name of the Job, and the beginning of its Pods' names.
std::string job_name(const std::string& snapshot);

struct Verdict {
  const char* status;
  std::string reason, message;
};

/// The report of an agent in these Pods that stored the snapshot; nullopt: none.
std::optional<AgentReport> stored(const std::vector<kube::Pod>& pods);

/// Why the Job failed: the message of the agent that ended last, or else that of Kubernetes.
/// `before`: the last message about the Job.
Verdict why_failed(const Observation& seen, const kube::JobCondition& failed,
                   const std::string& before);

/// The state of a Job that has not ended, or what its Pod has been waiting for for a minute. The
/// words stay the same at each try of Kubernetes.
Verdict progress(const Observation& seen);

}  // namespace etcdop::snapshot
