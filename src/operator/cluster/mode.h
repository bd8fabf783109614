// In which mode a cluster is, and which rules hold in it. A restore in place comes before all
// modes, with a plan of its own (restore_in_place.h). Pure.
#pragma once
#include <span>
#include <string>

#include "operator/cluster/rule.h"

namespace etcdop::cluster {

enum class Mode {
  Paused,     ///< No members are wanted, and all that are left are dormant.
  Founding,   ///< There is no cluster id yet.
  Unclear,    ///< etcd does not say with quorum which members and alarms there are.
  Corrupt,    ///< Members may differ, and it is a person's to decide which one is right.
  Outrun,     ///< No new member could join: its version, or its certificates, forbid it.
  Convicted,  ///< One member has other data than a majority.
  Normal
};
/// Computed once per pass.
Mode mode_of(const View&);

/// In their order: the first that has a step takes it.
std::span<const Rule> rules_of(Mode);

/// Why the mode keeps the cluster from what its spec wants; empty: it does not.
std::string why_it_waits(Mode, const View&);

}  // namespace etcdop::cluster
