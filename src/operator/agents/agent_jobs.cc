#include "operator/agents/agent_jobs.h"

namespace etcdop {

void FailedJobs::note(const api::ObjectKey& of, const Result<Done>& created, WallTime now) {
  if (created) {
    failed_.erase(of);
    return;
  }
  if (created.failed_with(Code::Cancelled)) return;
  const auto [known, first] = failed_.try_emplace(of, Rejection{"", now});
  if (first || refused(created)) known->second.why = created.error().message;
}

std::optional<Rejection> FailedJobs::why(const api::ObjectKey& of, bool exists) {
  const auto known = failed_.find(of);
  if (known == failed_.end()) return std::nullopt;
  if (!exists) return known->second;
  failed_.erase(known);
  return std::nullopt;
}

}  // namespace etcdop
