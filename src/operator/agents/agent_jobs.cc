#include "operator/agents/agent_jobs.h"

namespace etcdop {

bool JobRefusals::note(const api::ObjectKey& of, bool creates, const Result<Done>& acted,
                       WallTime wall, Instant now) {
  if (creates && acted) rejected_.erase(of);
  if (creates && !acted && !acted.failed_with(Code::Cancelled)) {
    const auto [known, first] = rejected_.try_emplace(of, Rejection{"", wall});
    if (first || refused(acted)) known->second.why = acted.error().message;
  }
  return writes_.note(of, kJob, acted, now);
}

std::optional<Rejection> JobRefusals::why(const api::ObjectKey& of, bool is_there) {
  const auto known = rejected_.find(of);
  if (known == rejected_.end()) return std::nullopt;
  if (!is_there) return known->second;
  rejected_.erase(known);
  return std::nullopt;
}

void JobRefusals::forget(const api::ObjectKey& of) {
  writes_.forget(of);
  rejected_.erase(of);
}

}  // namespace etcdop
