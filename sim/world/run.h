// One seed, from the beginning to a verdict.
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
  std::optional<Faults> faults;  ///< Replaces the seed's faults.
  bool keep_trace = false;
  /// How long faults happen.
  Duration trouble = std::chrono::seconds(240);
};

struct RunOutcome {
  std::uint64_t seed = 0;
  Faults faults;
  std::optional<Checker::Violation> violation;
  std::uint64_t hash = 0, events = 0, writes = 0, operations = 0;
  Duration lasted{};
  std::vector<Trace::Line> trace;  ///< This and the next two only if the trace was kept.
  std::vector<Trace::State> states;
  std::string flight;  ///< Lines for `./dev replay`.
};

/// A few clusters live through the seed's faults, then everything heals: no invariant may be
/// violated on the way, and everything must be as wanted in the end.
RunOutcome run(const Run&);

}  // namespace etcdop::sim
