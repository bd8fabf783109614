// Random stories of requests to an API server, as kube_fuzz tells them.
#pragma once
#include <cstdint>
#include <vector>

#include "kube/api.h"

namespace etcdop::contract {

/// What the stories are about, most important first.
const std::vector<api::Resource>& story_kinds();
inline constexpr api::Resource kBudgets{"policy", "v1", "poddisruptionbudgets",
                                        "PodDisruptionBudget"};
inline constexpr int kStepsMax = 120;  ///< Of one story, which has a namespace of its own.

/// One request, before it is known what its "@uid" and "@rv" stand for: "@rv0" is the version that
/// the object had last, "@rv1" the one before, and so on; "@owner-one" is the UID of a ConfigMap
/// that is always there, "@owner-two" another's.
struct Step {
  kube::Call call;
  /// A controller answers, in its own time: wait for it.
  bool settles = false;
};
using Story = std::vector<Step>;

/// The same seed, the same story. Every fourth is about evictions.
Story tell(std::uint64_t seed);

}  // namespace etcdop::contract
