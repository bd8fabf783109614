// Whether a cluster tolerates that one of its members does not answer for a while. Pure.
#pragma once
#include <string>

#include "operator/defrag/observation.h"

namespace etcdop::defrag {

/// Why no member may be defragmented now, in words that stay the same as long as the reason does;
/// empty: one may. While one of n is busy, the other n-1 must work. So all members answer, all know
/// the same leader and have caught up, none joins or leaves, and no data is damaged. A full
/// database (NOSPACE) does not count: defragmentation is for that.
std::string not_healthy(const Observation& seen);

/// The part that the API objects alone tell: etcd need not be asked.
std::string not_healthy_by_objects(const Observation& seen);

/// The leader that all members name; null: they do not agree. Points into `seen`.
const MemberSeen* leader_of(const Observation& seen);

}  // namespace etcdop::defrag
