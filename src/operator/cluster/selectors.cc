#include "operator/cluster/selectors.h"

#include <algorithm>

#include "api/v1alpha2/names.h"
#include "operator/passes/metadata.h"
#include "operator/passes/owner.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

/// Without etcd's list every member may be a voter.
bool may_vote(const Observation& seen, const Seat& seat) {
  return !seen.linearizable || (seat.object && seat.object->voter) ||
         (seat.listed && !seat.listed->learner);
}

/// The member of a Pod; null: it has none in this observation.
const Seat* seat_of(const Observation& seen, const kube::Pod& pod) {
  for (const auto* seats : {&seen.seats, &seen.kept})
    for (const Seat& seat : *seats)
      if (seat.object && is_ours(pod.metadata, seat.object->uid)) return &seat;
  return nullptr;
}

bool belongs_to_a_member(const kube::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  return owner && owner->kind == v1::EtcdMember::resource.kind;
}

SelectorKeys seen_on_all(const Observation& seen) {
  SelectorKeys out{.uid = true, .role = true};
  for (const auto* seats : {&seen.seats, &seen.kept})
    for (const Seat& seat : *seats) {
      // Its next Pod is created with the labels. One that is kept away from clients lacks them.
      if (!seat.pod || (seat.object && seat.object->elsewhere)) continue;
      out.uid &= seat.pod->has_uid;
      out.role &= seat.pod->has_role || !may_vote(seen, seat);
    }
  return out;
}

/// The keys for a selector that lacks these.
SelectorKeys keys_for(SelectorKeys lacking, SelectorKeys on_all) {
  return {.uid = !lacking.uid || on_all.uid, .role = !lacking.role || on_all.role};
}

}  // namespace

bool gains(SelectorKeys wanted, SelectorKeys lacking) {
  return (wanted.uid && lacking.uid) || (wanted.role && lacking.role);
}

void select_members(const Observation& seen, Plan& plan) {
  const SelectorKeys on_all = seen_on_all(seen);
  plan.headless_by = keys_for(seen.headless_lacks, on_all);
  plan.headless_by.role = false;
  plan.client_by = keys_for(seen.client_lacks, on_all);
  plan.make_headless_service =
      seen.headless_service != Child::AsMade || gains(plan.headless_by, seen.headless_lacks);
  plan.make_client_service =
      seen.client_service != Child::AsMade || gains(plan.client_by, seen.client_lacks);
}

SelectorKeys shown_by_all(const Observation& seen, std::span<const kube::Pod> pods) {
  SelectorKeys out{.uid = true, .role = true};
  for (const kube::Pod& pod : pods) {
    const Seat* seat = seat_of(seen, pod);
    if (seat ? seat->object->elsewhere : !belongs_to_a_member(pod)) continue;
    out.uid &= label_of(pod.metadata, v1::kClusterUidLabel) == seen.cluster.metadata.uid;
    out.role &=
        label_of(pod.metadata, v1::kRoleLabel) == v1::kVoter || (seat && !may_vote(seen, *seat));
  }
  return out;
}

bool has_no_pods(const Observation& seen) {
  return seen.cluster.status.cluster_id.empty() && seen.seats.empty() && seen.kept.empty();
}

SelectorKeys lacks(const kube::Service& service, const v1::EtcdCluster& cluster) {
  const auto& selector = service.spec.selector;
  const auto has = [&](const char* key, const std::string& value) {
    const auto found = selector.find(key);
    return found != selector.end() && found->second == value;
  };
  return {.uid = !has(v1::kClusterUidLabel, cluster.metadata.uid),
          .role = !has(v1::kRoleLabel, v1::kVoter)};
}

}  // namespace etcdop::cluster
