// The words that the log of the operator before this one had for what happens: people's searches
// and alerts look for them. Pure.
#pragma once
#include <string_view>

#include "base/result.h"
#include "operator/cluster/decision.h"
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// For what a pass has planned, or waits for; empty: there were none.
std::string_view words_before(const Observation&, const Plan&);

/// For what came of a step; empty: there were none.
std::string_view words_after(const Step&, const Result<Done>&);

}  // namespace etcdop::cluster
