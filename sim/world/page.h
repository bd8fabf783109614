// A run as a page to look at: who was what over time, what was done to the world, and its trace.
#pragma once
#include <string>

#include "sim/world/run.h"

namespace etcdop::sim {

/// One HTML file that needs nothing else. The outcome must have its trace.
std::string page(const RunOutcome&);

}  // namespace etcdop::sim
