// Reduces a failing world to the smallest one that still fails.
#pragma once
#include <functional>

#include "sim/world/run.h"

namespace etcdop::sim {

/// Leaves out one fault after the other, then shortens the trouble, while the same invariant is
/// violated. `tried` is called with each attempt.
Run shrink(Run failing, const RunOutcome& how, const std::function<void(const RunOutcome&)>& tried);

}  // namespace etcdop::sim
