// Whether a cluster that has members may go to the version its spec names: invariant I14. Pure.
#pragma once
#include <string>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Why not, for people: it begins with "spec.version"; empty: it may, or nothing changes.
///
/// Members are never two minors apart, none is of an older minor than all others, beside 3.6 only
/// those 3.5 are that keep their data in order for it, and a step to the next minor begins with all
/// members in sight. A patch may change at any time: it may be what mends them.
std::string why_not_version(const Observation& seen);

/// Why no member as the target wants it could join, for people; empty: it could, as far as is
/// known. It was taken up while somebody of its minor voted, who has gone since.
std::string why_none_can_join(const Observation& seen);

/// Whether it runs a newer minor than that version's.
bool is_newer_minor(const Seat& seat, const std::string& version);

}  // namespace etcdop::cluster
