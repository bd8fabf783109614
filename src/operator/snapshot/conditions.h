// What users read of a snapshot's Job: how it ended, or what it waits for. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "operator/agents/agent_report.h"
#include "operator/snapshot/observation.h"

namespace etcdop::snapshot {

/// "<snapshot>-snapshot": of the Job, and beginning of its Pods' names.
std::string job_name(const std::string& snapshot);

struct Verdict {
  const char* status;
  std::string reason, message;
};

/// What an agent of these Pods stored, and reported; nullopt: none has.
std::optional<AgentReport> stored(const std::vector<kube::Pod>& pods);

/// Why the Job failed: in the words of the agent that ended last, else in those of Kubernetes.
/// `before` is what was last said of the Job.
Verdict why_failed(const Observation& seen, const kube::JobCondition& failed,
                   const std::string& before);

/// Of a Job that has not ended: what it does, or what its Pod has been waiting for for a minute. In
/// words that do not change with each try of Kubernetes.
Verdict progress(const Observation& seen);

}  // namespace etcdop::snapshot
