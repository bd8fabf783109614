#include "operator/cluster/intents.h"

#include <algorithm>

#include "operator/cluster/plan.h"
#include "operator/pods/member_name.h"

namespace etcdop::cluster {

using api::v1alpha2::EtcdClusterStatus;
using api::v1alpha2::PendingMember;

namespace {

bool is_taken(const Observation& seen, const EtcdClusterStatus& status, const std::string& name) {
  const auto named = [&](const auto& x) { return x.name == name; };
  return std::ranges::find(seen.taken_names, name) != seen.taken_names.end() ||
         std::ranges::any_of(seen.seats, named) ||
         std::ranges::any_of(status.pending_members, named);
}

}  // namespace

const PendingMember& record_intent(const Observation& seen, EtcdClusterStatus& status) {
  const auto& meta = seen.cluster.metadata;
  std::int64_t sequence = status.last_sequence;
  std::string name;
  do name = member_name(meta.name, meta.uid, ++sequence);
  while (is_taken(seen, status, name));
  status.last_sequence = sequence;
  status.pending_members.push_back(
      {sequence, name, peer_url(seen.cluster, name), to_rfc3339(seen.now)});
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
