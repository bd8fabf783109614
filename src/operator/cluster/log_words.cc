#include "operator/cluster/log_words.h"

#include <algorithm>
#include <string>

namespace etcdop::cluster {
namespace {

/// We have no record of it: another controller began it.
bool began_elsewhere(const Plan& plan, const std::string& member) {
  return std::ranges::count(plan.status.pending_members, member,
                            &api::v1alpha2::PendingMember::name) == 0;
}

std::string_view while_waiting(const Observation& seen, const Plan& plan) {
  const auto& status = plan.status;
  const bool has_member =
      std::ranges::any_of(seen.seats, [](const Seat& s) { return s.object.has_value(); });
  if (status.cluster_id.empty() && has_member)
    return "waiting for bootstrap member to form cluster";
  if (status.cluster_id.empty() && status.observed && status.observed->replicas == 0)
    return "cluster declared paused from the start; not bootstrapping";
  if (!status.pending_members.empty() && !plan.waiting_for.empty())
    return "waiting for existing members to become Ready before next scale-up step";
  return "";
}

}  // namespace

std::string_view words_before(const Observation& seen, const Plan& plan) {
  if (std::holds_alternative<NoStep>(plan.step)) return while_waiting(seen, plan);
  if (std::holds_alternative<WakeMember>(plan.step)) return "waking dormant member";
  if (const auto* made = std::get_if<CreateMember>(&plan.step))
    return made->seed ? "bootstrapping single-node cluster" : "";
  const auto* added = std::get_if<AddLearner>(&plan.step);
  const auto* told = std::get_if<Publish>(&plan.step);
  if ((added && began_elsewhere(plan, added->name)) || (told && began_elsewhere(plan, told->name)))
    return "completing pending scale-up member before further action";
  return "";
}

std::string_view words_after(const Step& step, const Result<Done>& done) {
  if (std::holds_alternative<AddLearner>(step) && done) return "added member as learner";
  if (!std::holds_alternative<Promote>(step)) return "";
  if (done) return "promoted learner";
  return done.failed_with(Code::Unavailable) ? "learner not yet promotable; will retry" : "";
}

}  // namespace etcdop::cluster
