// Progress of the restore of the snapshot that a new cluster starts from. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// For the condition Progressing.
struct Restore {
  bool stopped = false;  ///< It does not continue by itself, or not at once.
  const char* reason = nullptr;
  std::string message;
};
/// nullopt: no snapshot; or no member yet that could restore it; or it is restored.
std::optional<Restore> restore_of(const Observation&);

/// Whether conditions have that reason only before the cluster is founded.
bool precedes_birth(std::string_view reason);
/// Whether that reason needs a user's action.
bool stops_birth(std::string_view reason);

}  // namespace etcdop::cluster
