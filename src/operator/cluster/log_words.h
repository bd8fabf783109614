// The log messages of the Go operator, kept because users' searches and alerts look for them. Pure.
#pragma once
#include <string_view>

#include "base/result.h"
#include "operator/cluster/decision.h"
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// The message for a planned step or a wait; empty: the Go operator had none.
std::string_view words_before(const Observation&, const Plan&);

/// The message for a step's outcome; empty: the Go operator had none.
std::string_view words_after(const Step&, const Result<Done>&);

}  // namespace etcdop::cluster
