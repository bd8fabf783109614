// The rules about members: which member is added, promoted, removed, replaced or paused. Pure.
#pragma once
#include "operator/cluster/rule.h"

namespace etcdop::cluster {

/// Whether a learner has made no progress for the deadline, as far as this process has seen: no
/// answer, or an index behind the others' that does not move, and no snapshot that it receives.
bool is_stalled(const Observation& seen, const Seat& seat);

/// The healthy voter that leaves before its replacement votes; null: none. The replacement's Pod
/// has had no place for two minutes, because this voter has it: one node for each member, or an
/// exact quota. All other voters are healthy and have caught up.
const Seat* leaves_first(const Observation& seen, const Census& census);

Verdict release(const View&);
Verdict remove_leaving(const View&);
Verdict drop_joiner(const View&);
Verdict remove_foreign_member(const View&);
Verdict replace(const View&);
Verdict promote(const View&);
Verdict create(const View&);
Verdict add(const View&);
Verdict publish(const View&);
Verdict shrink(const View&);
Verdict pause(const View&);
Verdict wake(const View&);
Verdict found(const View&);
Verdict keep_version(const View&);

}  // namespace etcdop::cluster
