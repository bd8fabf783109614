// Whether a cluster bears it that one of its members says nothing for a while. Pure.
#pragma once
#include <string>

#include "operator/defrag/observation.h"

namespace etcdop::defrag {

/// Why no member may be defragmented now, in words that do not change while it stays so; empty:
/// one may. While one of n is busy, the other n-1 must be there: so all of them answer, all know
/// the same leader and have caught up, none comes or goes, and no data is damaged. A full database
/// (NOSPACE) does not count: it is what a defragmentation is for.
std::string not_healthy(const Observation& seen);

/// The part of that which the API objects alone tell: etcd need not be asked.
std::string not_healthy_by_objects(const Observation& seen);

/// The member that leads, as all of them say; null if they do not. Points into `seen`.
const MemberSeen* leader_of(const Observation& seen);

}  // namespace etcdop::defrag
