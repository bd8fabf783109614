#include "operator/cluster/restoring.h"

#include <algorithm>

#include "api/v1alpha2/names.h"
#include "operator/agents/snapshot_env.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

constexpr const char* kStops[] = {v1::kRestoreFailed, v1::kOperatorImageNotConfigured};

/// Whether the restore is over or was not needed: etcd was seen, or its Pod is about to start it.
bool is_past(const Seat& seat) {
  return !seat.object->member_id.empty() || (seat.pod && !seat.pod->restores);
}

}  // namespace

std::optional<Restore> restore_of(const Observation& seen) {
  const auto from = seen.cluster.founded_from();
  if (!from || !seen.cluster.status.cluster_id.empty()) return std::nullopt;
  const auto seed =
      std::ranges::find_if(seen.seats, [](const Seat& s) { return s.object && s.object->seed; });
  if (seed == seen.seats.end() || is_past(*seed)) return std::nullopt;
  for (const char* reason : kStops)
    if (seed->object->reason == reason) return Restore{true, reason, seed->object->trouble};
  std::string message = "restoring " + to_words(from->source) + " into " + seed->name;
  if (!seed->object->trouble.empty()) message += "; " + seed->object->trouble;
  return Restore{false, v1::kRestoring, std::move(message)};
}

bool stops_birth(std::string_view reason) {
  return std::ranges::find(kStops, reason) != std::end(kStops);
}

bool precedes_birth(std::string_view reason) {
  return stops_birth(reason) || reason == v1::kBootstrapFailed || reason == v1::kRestoring ||
         reason == v1::kWaitingForSeed;
}

}  // namespace etcdop::cluster
