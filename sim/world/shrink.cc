#include "sim/world/shrink.h"

namespace etcdop::sim {

using namespace std::chrono_literals;

Run shrink(Run failing, const RunOutcome& how,
           const std::function<void(const RunOutcome&)>& tried) {
  failing.faults = how.faults;
  const auto still_fails = [&](const Run& smaller) {
    const RunOutcome outcome = run(smaller);
    tried(outcome);
    return outcome.violation && outcome.violation->invariant == how.violation->invariant;
  };
  for (const Fault fault : how.faults.list()) {
    Run smaller = failing;
    smaller.faults->set(fault, false);
    if (still_fails(smaller)) failing = smaller;
  }
  while (failing.trouble > 10s) {
    Run smaller = failing;
    smaller.trouble = failing.trouble / 2;
    if (!still_fails(smaller)) break;
    failing = smaller;
  }
  return failing;
}

}  // namespace etcdop::sim
