// Random stories of requests to an API server, for kube_fuzz.
#pragma once
#include <cstdint>
#include <vector>

#include "kube/api.h"

namespace etcdop::contract {

/// The kinds in the stories, most important first.
const std::vector<api::Resource>& story_kinds();
inline constexpr api::Resource kBudgets{"policy", "v1", "poddisruptionbudgets",
                                        "PodDisruptionBudget"};
inline constexpr int kStepsMax = 120;  ///< Per story; each has its own namespace.

/// One request, before its "@uid" and "@rv" are replaced: "@rv0" is the object's last version,
/// "@rv1" the one before, and so on; "@owner-one" is the UID of a ConfigMap that always exists,
/// "@owner-two" that of another.
struct Step {
  kube::Call call;
  /// A controller's work decides the answer: wait for it.
  bool settles = false;
};
using Story = std::vector<Step>;

/// The same seed gives the same story. Every fourth is about evictions.
Story tell(std::uint64_t seed);

}  // namespace etcdop::contract
