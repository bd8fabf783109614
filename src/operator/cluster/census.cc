#include "operator/cluster/census.h"

#include <algorithm>
#include <map>

#include "operator/cluster/intents.h"

namespace etcdop::cluster {

bool lost(const Seat& seat) { return seat.object && seat.object->lost; }

bool has_data_in_memory(const Observation& seen, const Seat& seat) {
  const bool memory = seen.cluster.spec.storage.medium == api::v1alpha2::Medium::Memory;
  return seat.object && memory != seat.object->other_medium;
}

bool healthy(const Seat& seat) {
  return seat.answer && seat.answer->leader != etcd::MemberId{} && !lost(seat);
}

bool unstarted(const Seat& seat) { return seat.listed && !seat.listed->started; }

Census::Census(const Observation& seen) {
  if (seen.cluster.status.observed) want = seen.cluster.status.observed->replicas;
  pause = want == 0;
  if (pause) want = 1;
  std::map<etcd::MemberId, int> leaders;
  for (const Seat& seat : seen.seats) {
    const bool votes = seat.listed && !seat.listed->learner;
    if (votes) voters.push_back(&seat);
    if (seat.listed && seat.listed->learner) learners.push_back(&seat);
    if (votes && healthy(seat)) {
      ++healthy_voters;
      ++leaders[seat.answer->leader];
    }
    if (!seat.object) {
      foreign_members.push_back(&seat);
      continue;
    }
    if (seat.object->ready && !seat.elsewhere) ++ready;
    if (seat.object->terminating) {
      leaving.push_back(&seat);
    } else if (votes) {
      staying.push_back(&seat);
    } else {
      joiners.push_back(&seat);
      publishing |= unstarted(seat) && !seat.object->initial_cluster.empty();
    }
  }
  int most = 0;  // Answers differ in an election: follow the majority.
  for (const auto& [id, votes] : leaders)
    if (votes > most) {
      most = votes;
      leader = nullptr;
      for (const Seat* voter : voters)
        if (voter->listed->id == id) leader = voter;
    }
}

bool Census::broken_staying() const {
  return std::ranges::any_of(staying, [](const Seat* seat) { return !healthy(*seat); });
}

bool is_complete(const Observation& seen, const Census& census) {
  return !census.pause && !is_founding(seen) && seen.linearizable &&
         static_cast<int>(census.staying.size()) == census.want && census.joiners.empty() &&
         census.leaving.empty() && census.ready >= census.want;
}

bool recorded(const api::v1alpha2::EtcdClusterStatus& status, const Seat& seat) {
  return std::ranges::find(status.pending_members, seat.peer_url,
                           &api::v1alpha2::PendingMember::peer_url) != status.pending_members.end();
}

}  // namespace etcdop::cluster
