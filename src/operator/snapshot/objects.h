// The Job that takes a snapshot. Pure.
#pragma once
#include <cstdint>
#include <string>

#include "operator/snapshot/observation.h"

namespace etcdop::snapshot {

/// The manifest; the snapshot's cluster must have been seen. `image`: the operator's own.
Json job(const Observation& seen, std::int32_t attempt, const std::string& image);

}  // namespace etcdop::snapshot
