// From a world that failed to the smallest one that still does.
#pragma once
#include <functional>

#include "sim/world/run.h"

namespace etcdop::sim {

/// Leaves out one fault after the other, then shortens the trouble, as long as the same invariant
/// falls. `tried` hears of each attempt.
Run shrink(Run failing, const RunOutcome& how, const std::function<void(const RunOutcome&)>& tried);

}  // namespace etcdop::sim
