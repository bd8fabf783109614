#include "operator/cluster/intents.h"

#include <algorithm>

#include "operator/pods/member_endpoint.h"
#include "operator/pods/member_name.h"

namespace etcdop::cluster {

using api::v1alpha2::EtcdClusterStatus;
using api::v1alpha2::PendingMember;

namespace {

bool is_taken(const Observation& seen, const EtcdClusterStatus& status, const std::string& name) {
  const auto named = [&](const auto& x) { return x.name == name; };
  return std::ranges::count(seen.taken_names, name) > 0 ||
         std::ranges::count(seen.have_volumes, name) > 0 ||
         std::ranges::any_of(seen.seats, named) ||
         std::ranges::any_of(status.pending_members, named);
}

}  // namespace

std::string peer_url(const api::v1alpha2::EtcdCluster& cluster, const std::string& member) {
  api::v1alpha2::EtcdMember made;
  made.metadata.name = member;
  made.metadata.ns = cluster.metadata.ns;
  made.spec.cluster_name = cluster.metadata.name;
  made.spec.tls = member_tls(cluster);
  return peer_url_of(made);
}

bool has_founder_only(const Observation& seen) {
  const api::ObjectMeta& meta = seen.cluster.metadata;
  return seen.seats.size() == 1 &&
         seen.seats[0].name == member_name(meta.name, meta.uid, seen.cluster.status.last_sequence);
}

bool is_founding(const Observation& seen) {
  return has_founder_only(seen) && seen.seats[0].pod && seen.seats[0].pod->founds;
}

bool runs(const Seat& seat) {
  return seat.answer || seat.elsewhere || (seat.pod && !seat.pod->idle);
}

const Seat* idle_founder(const Observation& seen) {
  if (!seen.cluster.status.cluster_id.empty() || seen.cluster.restoring() || seen.seats.size() != 1)
    return nullptr;
  const Seat& seat = seen.seats.front();
  const auto is_to_found = [](const Seat::Object& o) {
    return o.seed && !o.orphan && !o.dormant && !o.other_medium && o.member_id.empty();
  };
  return seat.object && is_to_found(*seat.object) && !runs(seat) ? &seat : nullptr;
}

/// Recorded, without an EtcdMember, and unknown to etcd: to be created or forgotten.
std::vector<PendingMember> uncreated(const Observation& seen, const EtcdClusterStatus& status) {
  std::vector<PendingMember> out;
  for (const PendingMember& intent : status.pending_members)
    if (!seat_named(seen, intent.name)) out.push_back(intent);
  return out;
}

PendingMember next_intent(const Observation& seen, const EtcdClusterStatus& status) {
  const auto& meta = seen.cluster.metadata;
  std::int64_t sequence = status.last_sequence;
  std::string name;
  do name = member_name(meta.name, meta.uid, ++sequence);
  while (is_taken(seen, status, name));
  return {sequence, name, peer_url(seen.cluster, name), to_rfc3339(seen.now)};
}

const PendingMember& record_intent(const Observation& seen, EtcdClusterStatus& status) {
  status.pending_members.push_back(next_intent(seen, status));
  status.last_sequence = status.pending_members.back().sequence;
  return status.pending_members.back();
}

const Seat* seat_named(const Observation& seen, const std::string& name) {
  const auto found = std::ranges::find(seen.seats, name, &Seat::name);
  return found == seen.seats.end() ? nullptr : &*found;
}

void settle_intents(const Observation& seen, EtcdClusterStatus& status) {
  const auto settled = std::erase_if(status.pending_members, [&](const PendingMember& intent) {
    const Seat* seat = seat_named(seen, intent.name);
    if (!seat) return false;
    const bool goes = seat->object && seat->object->terminating && !seat->listed;
    return goes || (seat->listed && !seat->listed->learner);
  });
  if (settled > 0)
    for (PendingMember& intent : status.pending_members) intent.since = to_rfc3339(seen.now);
}

}  // namespace etcdop::cluster
