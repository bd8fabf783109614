#include "sim/scheduler.h"

#include <algorithm>

namespace etcdop::sim {

void Scheduler::run() { run_until(Instant::max()); }

void Scheduler::run_until(Instant end) {
  while (next_due() != Instant::max() && next_due() <= end) {
    now_ = std::max(now_, next_due());
    step();
  }
  if (end != Instant::max()) now_ = std::max(now_, end);
}

}  // namespace etcdop::sim
