// The mode of a cluster, and the rules of each mode. A restore in place comes before all modes and
// has its own plan (restore_in_place.h). Pure.
#pragma once
#include <span>
#include <string>

#include "operator/cluster/rule.h"

namespace etcdop::cluster {

enum class Mode {
  Paused,     ///< No members are wanted, and every member is dormant.
  Founding,   ///< No cluster id exists yet.
  Unclear,    ///< etcd does not list its members and alarms with quorum.
  Corrupt,    ///< Members' data may differ; a user must decide which is right.
  Outrun,     ///< No new member could join: its version, or its certificates, forbid it.
  Convicted,  ///< One member's data differs from a majority's.
  Normal
};
/// Computed once per pass.
Mode mode_of(const View&);

/// In order: the first rule that has a step decides.
std::span<const Rule> rules_of(Mode);

/// Why the mode keeps the cluster from what its spec wants; empty: it does not.
std::string why_it_waits(Mode, const View&);

}  // namespace etcdop::cluster
