// A run as a web page: the states of all actors over time, the faults, and its trace.
#pragma once
#include <string>

#include "sim/world/run.h"

namespace etcdop::sim {

/// One self-contained HTML file. The outcome must have its trace.
std::string page(const RunOutcome&);

}  // namespace etcdop::sim
