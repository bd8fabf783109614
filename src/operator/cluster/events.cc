#include "operator/cluster/events.h"

#include <algorithm>

#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/names.h"
#include "operator/agents/snapshot_env.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

std::string progress_reason(const v1::EtcdClusterStatus& status) {
  const auto* c = runtime::find_condition(status.conditions, v1::kProgressing);
  return c ? c->reason : "";
}

}  // namespace

runtime::Event::Object object_of(const Observation& seen) {
  return {v1::EtcdCluster::resource, seen.cluster.metadata.key(), seen.cluster.metadata.uid};
}

std::vector<runtime::Event> turns_of_members(const Observation& seen,
                                             const v1::EtcdClusterStatus& now) {
  std::vector<runtime::Event> out;
  const v1::EtcdClusterStatus& before = seen.cluster.status;
  const std::string& ns = seen.cluster.metadata.ns;
  const bool waits = progress_reason(now) == v1::kWaitingForSeed;
  const auto seed =
      std::ranges::find_if(seen.seats, [](const Seat& s) { return s.object.has_value(); });
  if (waits && progress_reason(before) != v1::kWaitingForSeed && seed != seen.seats.end())
    out.push_back({.regarding = {v1::EtcdMember::resource, {ns, seed->name}, seed->object->uid},
                   .related = object_of(seen),
                   .warning = false,
                   .reason = v1::kWaitingForSeed,
                   .action = "Reconcile",
                   .note = "the cluster waits for its first member to answer"});
  if (!before.leader.empty() && !now.leader.empty() && before.leader != now.leader)
    out.push_back(
        {.regarding = object_of(seen),
         .related = runtime::Event::Object{v1::EtcdMember::resource, {ns, now.leader}, ""},
         .warning = false,
         .reason = v1::kLeaderChanged,
         .action = "Reconcile",
         .note = "the leader changed from " + before.leader + " to " + now.leader});
  return out;
}

std::vector<runtime::Event> renewals(const Observation& seen, const v1::EtcdClusterStatus& now) {
  const auto* const before = runtime::find_condition(seen.cluster.status.conditions, v1::kTlsReady);
  const auto* const after = runtime::find_condition(now.conditions, v1::kTlsReady);
  if (!before || !after || before->status != "True" || after->status != "True" ||
      before->message == after->message)
    return {};
  return {{.regarding = object_of(seen),
           .related = std::nullopt,
           .warning = false,
           .reason = v1::kCertificateRenewed,
           .action = "RenewCertificates",
           .note = after->message}};
}

std::vector<runtime::Event> births(const Observation& seen, const v1::EtcdClusterStatus& now) {
  const auto from = seen.cluster.founded_from();
  const bool born = seen.cluster.status.cluster_id.empty() && !now.cluster_id.empty();
  const auto seed = std::ranges::find_if(seen.seats, [](const Seat& s) {
    return s.object && s.object->seed && s.pod && s.pod->founds;
  });
  if (!born || !from || seed == seen.seats.end()) return {};
  return {{.regarding = object_of(seen),
           .related = runtime::Event::Object{v1::EtcdMember::resource,
                                             {seen.cluster.metadata.ns, seed->name},
                                             seed->object->uid},
           .warning = false,
           .reason = v1::kRestored,
           .action = "Restore",
           .note = seed->name + " was restored from " + to_words(from->source)}};
}

runtime::Event not_redundant(const Observation& seen) {
  return {.regarding = object_of(seen),
          .related = std::nullopt,
          .warning = false,
          .reason = v1::kNotRedundant,
          .action = "ProtectMembers",
          .note = "the cluster has only one member: a drain of its node interrupts etcd"};
}

}  // namespace etcdop::cluster
