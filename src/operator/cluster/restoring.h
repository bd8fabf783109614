// How it goes with the snapshot that a new cluster starts from. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// For the condition Progressing.
struct Restore {
  bool stopped = false;  ///< It does not go on by itself, or not at once.
  const char* reason = nullptr;
  std::string message;
};
/// nullopt: there is no snapshot; or no member that could restore it yet; or it has been restored.
std::optional<Restore> restore_of(const Observation&);

/// Whether that is a reason of conditions of a cluster that is still to be born.
bool precedes_birth(std::string_view reason);
/// Those that somebody has to do something about.
bool stops_birth(std::string_view reason);

}  // namespace etcdop::cluster
