// Whether a cluster that has members may go to the version its spec names: invariant I14. Pure.
#pragma once
#include <string>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Why a new cluster could not have the version in spec, which was accepted, and what to take
/// instead; empty: it could.
std::string outdated_version(const Observation&);

/// Why not, for users; it begins with "spec.version"; empty: it may, or nothing changes.
///
/// Members are never two minors apart, and none is of an older minor than all others. Beside 3.6
/// run only those patches of 3.5 that keep their data in order for it. A change to the next minor
/// starts only when all members are healthy. A patch may change at any time: it may repair the
/// members.
std::string why_not_version(const Observation& seen);

/// Whether the target was accepted beside the members that exist. A cluster that has made none of
/// them (has_found_members) may have accepted it before it saw them; then it is theirs if they all
/// run it.
bool is_target_of_members(const Observation& seen);

/// Why no member of the target version could join, for users; empty: it could, as far as is known.
/// The target was accepted while a voter of its minor existed, which has left since; or before the
/// first member started, whose Pod was still created for the version before (K4).
std::string why_none_can_join(const Observation& seen);

/// Whether it runs a newer minor than that version's.
bool is_newer_minor(const Seat& seat, const std::string& version);

}  // namespace etcdop::cluster
