// One seed, from its beginning to a verdict.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/world/checker.h"
#include "sim/world/faults.h"
#include "sim/world/trace.h"

namespace etcdop::sim {

struct Run {
  std::uint64_t seed = 1;
  std::optional<Faults> faults;  ///< Instead of those that the seed draws.
  bool keep_trace = false;
  /// How long things go wrong.
  Duration trouble = std::chrono::seconds(240);
};

struct RunOutcome {
  std::uint64_t seed = 0;
  Faults faults;
  std::optional<Checker::Violation> violation;
  std::uint64_t hash = 0, events = 0, writes = 0, operations = 0;
  Duration lasted{};
  std::vector<Trace::Line> trace;  ///< These three only if the trace was kept.
  std::vector<Trace::State> states;
  std::string flight;  ///< Lines for `./dev replay`.
};

/// A few clusters live through the seed's faults, then everything heals: nothing may be violated on
/// the way, and all must be as wanted in the end.
RunOutcome run(const Run&);

}  // namespace etcdop::sim
