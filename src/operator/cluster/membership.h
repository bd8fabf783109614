// The rules about members: which member is added, promoted, removed, replaced or paused. Pure.
#pragma once
#include "operator/cluster/rule.h"

namespace etcdop::cluster {

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

}  // namespace etcdop::cluster
